/** treedb's client for browsers and Node. */

export type Leaf = string | number | boolean;

/** What val() returns. */
export type Value = null | Leaf | Value[] | { [key: string]: Value };

/** What the server puts in place of a placeholder. */
export type ServerValue = { readonly '.sv': 'timestamp' | { readonly increment: number } };

/** What may be written; null and what is empty removes. */
export type Writable =
  null | Leaf | ServerValue | readonly Writable[] | { readonly [key: string]: Writable };

/** What children are ordered by without a query; null is none. */
export type WritablePriority = string | number | ServerValue | null;

/**
 * Takes what is here, null also while that is not known, and returns what shall be here instead;
 * undefined leaves it. It is called again when the server has something else.
 */
export type TransactionUpdate = (value: any) => Writable | undefined;

export interface TransactionOptions {
  /** Whether listeners hear of it before the server has it; they do, unless this is false. */
  applyLocally?: boolean;
}

export interface TransactionResult {
  /** Whether something was written: false if the function returned undefined. */
  readonly committed: boolean;
  /** What was written, or what the function wanted to leave. */
  readonly snapshot: Snapshot;
}

export type Unsubscribe = () => void;

/** Who asks: a token, or a function that fetches one and is called for each connection. */
export type Token = string | null | (() => string | null | Promise<string | null>);

export interface ConnectOptions {
  /** Which of the server's databases; the URL's `?ns=` when left out. */
  namespace?: string;
  token?: Token;
  /** Hears of tokens that are refused; when left out they are warned of on the console. */
  onAuthError?: (error: TreeError) => void;
  /** Instead of the platform's WebSocket class. */
  WebSocket?: new (url: string) => unknown;
}

export interface ConnectionState {
  readonly state: 'connecting' | 'online' | 'waiting' | 'offline' | 'closed';
  /** When the next attempt is due while waiting, in milliseconds since 1970. */
  readonly retryAt: number | null;
  /** Why there is no connection, if something went wrong. */
  readonly error: TreeError | null;
}

/** Connect to a database; returns at once, requests wait for the connection. */
export function connect(url: string | URL, options?: ConnectOptions): Database;

/** A placeholder for the server's time, in milliseconds, when it writes. */
export function serverTimestamp(): ServerValue;

/** A placeholder for the number at that place plus `delta`. */
export function increment(delta: number): ServerValue;

export class Database {
  private constructor();
  /** Milliseconds to add to Date.now() to get the server's time. */
  readonly serverTimeOffset: number;
  /** A place; ".info/connected" and ".info/serverTimeOffset" tell of the client itself. */
  ref(path?: string): Reference;
  /** Disconnect and stay so; writes show and wait, listens keep what they have. */
  goOffline(): void;
  /** Connect again, and stay connected. */
  goOnline(): void;
  /** Disconnect for good: what waits is rejected, listens end. */
  close(): void;
  /** Act as somebody else from now on; null is nobody. */
  signIn(token: Token): Promise<void>;
  /** Call back with the state of the connection, now and after each change. */
  onConnection(callback: (state: ConnectionState) => void): Unsubscribe;
}

export class Reference extends Query {
  protected constructor();
  readonly database: Database;
  /** The last part of the path; null at the root. */
  readonly key: string | null;
  readonly path: string;
  /** The place above; null at the root. */
  readonly parent: Reference | null;
  child(path: string): Reference;
  /** Replace everything here; null removes it. */
  set(value: Writable): Promise<void>;
  /** Write several places below this one, all or none; what is not named stays. */
  update(values: { readonly [path: string]: Writable }): Promise<void>;
  /** Replace everything here, and the priority. */
  setWithPriority(value: Writable, priority: WritablePriority): Promise<void>;
  /** Change the priority alone, of something that is there. */
  setPriority(priority: WritablePriority): Promise<void>;
  /** Make a child with a new key that sorts after all earlier ones, and write the value to it. */
  push(value?: Writable): PushedReference;
  /** Remove everything here. */
  remove(): Promise<void>;
  /** Replace what is here by what a function makes of it, whoever else writes at the same time. */
  transaction(update: TransactionUpdate, options?: TransactionOptions): Promise<TransactionResult>;
  /** What the server shall write here when this client is gone. */
  onDisconnect(): OnDisconnect;
  toString(): string;
}

/** What a query chooses by: what orderByChild(), limitToLast() and the like return. */
export interface QueryConstraint {
  readonly type:
    | 'endAt'
    | 'endBefore'
    | 'equalTo'
    | 'limitToFirst'
    | 'limitToLast'
    | 'orderByChild'
    | 'orderByKey'
    | 'orderByPriority'
    | 'orderByValue'
    | 'startAfter'
    | 'startAt';
}

/** Where a range begins or ends; in the order of keys, a key. */
export type BoundValue = string | number | boolean | null;

/** Ask for a selection of a place's children; constraints may come in any order. */
export function query(base: Query, ...constraints: QueryConstraint[]): Query;

/** Order by what lies at a path below each child, as in "height" or "size/height". */
export function orderByChild(path: string): QueryConstraint;
export function orderByKey(): QueryConstraint;
/** What a query does anyway. */
export function orderByPriority(): QueryConstraint;
export function orderByValue(): QueryConstraint;

/** Begin with this value, and among the children that have it with this key. */
export function startAt(value?: BoundValue, key?: string | null): QueryConstraint;
/** Begin behind this value, or among the children that have it behind this key. */
export function startAfter(value: BoundValue, key?: string | null): QueryConstraint;
/** End with this value, and among the children that have it with this key. */
export function endAt(value?: BoundValue, key?: string | null): QueryConstraint;
/** End before this value, or among the children that have it before this key. */
export function endBefore(value: BoundValue, key?: string | null): QueryConstraint;
/** Choose the children that have this value; with a key at most that one. */
export function equalTo(value: BoundValue, key?: string | null): QueryConstraint;

/** Choose at most so many, from the front. */
export function limitToFirst(limit: number): QueryConstraint;
/** Choose at most so many, from the back. */
export function limitToLast(limit: number): QueryConstraint;

export type EventName = 'value' | 'child_added' | 'child_changed' | 'child_moved' | 'child_removed';
export type ValueCallback = (snapshot: Snapshot) => void;
/** Takes the key of the child before this one in the query's order; null for the first. */
export type ChildCallback = (child: Snapshot, previousKey: string | null) => void;
/** Called once, if the server refuses or revokes. */
export type ErrorCallback = (error: TreeError) => void;

/** What can be read and listened to: a place, or a selection of its children. */
export class Query {
  protected constructor();
  /** The place itself. */
  readonly ref: Reference;
  /** Read once; sees every write this client made before. */
  get(): Promise<Snapshot>;
  /** Call back with what is here, now and after each change; never before this returns. */
  onValue(callback: ValueCallback, onError?: ErrorCallback): Unsubscribe;
  /** Call back with each child that is here, in order, then with each that is added. */
  onChildAdded(callback: ChildCallback, onError?: ErrorCallback): Unsubscribe;
  /** Call back with each child whose data or priority changed. */
  onChildChanged(callback: ChildCallback, onError?: ErrorCallback): Unsubscribe;
  /** Call back with each child for which changed what it is ordered by. */
  onChildMoved(callback: ChildCallback, onError?: ErrorCallback): Unsubscribe;
  /** Call back with each child that is here no longer, as it was. */
  onChildRemoved(callback: ValueCallback, onError?: ErrorCallback): Unsubscribe;
  /** End what listens to this very query; on a place, what listens to its queries as well. */
  off(event?: EventName, callback?: ValueCallback | ChildCallback): void;
  /** Keep a copy of what is here up to date, with or without listeners; false ends it. */
  keepSynced(isOn: boolean): void;
}

/** What the server shall write at a place when this client is gone, however it goes. */
export class OnDisconnect {
  private constructor();
  /** Set the place then; resolves when the server has taken note. */
  set(value: Writable): Promise<void>;
  /** Set the place and its priority then. */
  setWithPriority(value: Writable, priority: WritablePriority): Promise<void>;
  /** Write several places below this one then. */
  update(values: { readonly [path: string]: Writable }): Promise<void>;
  /** Remove the place then. */
  remove(): Promise<void>;
  /** Do nothing then, of all that was asked for this place and below. */
  cancel(): Promise<void>;
}

/** The same as the methods, as Firebase's SDK spells them. */
export function get(query: Query): Promise<Snapshot>;
export function onValue(
  query: Query,
  callback: ValueCallback,
  onError?: ErrorCallback,
): Unsubscribe;
export function onChildAdded(
  query: Query,
  callback: ChildCallback,
  onError?: ErrorCallback,
): Unsubscribe;
export function onChildChanged(
  query: Query,
  callback: ChildCallback,
  onError?: ErrorCallback,
): Unsubscribe;
export function onChildMoved(
  query: Query,
  callback: ChildCallback,
  onError?: ErrorCallback,
): Unsubscribe;
export function onChildRemoved(
  query: Query,
  callback: ValueCallback,
  onError?: ErrorCallback,
): Unsubscribe;
export function off(
  query: Query,
  event?: EventName,
  callback?: ValueCallback | ChildCallback,
): void;

/** The same as query.keepSynced(isOn). */
export function keepSynced(query: Query, isOn: boolean): void;

/** The same as ref.set(value). */
export function set(ref: Reference, value: Writable): Promise<void>;
/** The same as ref.setWithPriority(value, priority). */
export function setWithPriority(
  ref: Reference,
  value: Writable,
  priority: WritablePriority,
): Promise<void>;
/** The same as ref.setPriority(priority). */
export function setPriority(ref: Reference, priority: WritablePriority): Promise<void>;
/** The same as ref.update(values). */
export function update(
  ref: Reference,
  values: { readonly [path: string]: Writable },
): Promise<void>;
/** The same as ref.push(value). */
export function push(ref: Reference, value?: Writable): PushedReference;
/** The same as ref.remove(). */
export function remove(ref: Reference): Promise<void>;
/** The same as ref.transaction(update, options). */
export function runTransaction(
  ref: Reference,
  update: TransactionUpdate,
  options?: TransactionOptions,
): Promise<TransactionResult>;
/** The same as ref.onDisconnect(). */
export function onDisconnect(ref: Reference): OnDisconnect;
/** The same as database.goOffline(). */
export function goOffline(database: Database): void;
/** The same as database.goOnline(). */
export function goOnline(database: Database): void;

/** A reference at once, and a promise of the same place once it is written. */
export class PushedReference extends Reference implements PromiseLike<Reference> {
  private constructor();
  then<A = Reference, B = never>(
    onWritten?: ((reference: Reference) => A | PromiseLike<A>) | null,
    onRefused?: ((error: TreeError) => B | PromiseLike<B>) | null,
  ): Promise<A | B>;
  catch<B = never>(
    onRefused?: ((error: TreeError) => B | PromiseLike<B>) | null,
  ): Promise<Reference | B>;
  finally(onDone?: (() => void) | null): Promise<Reference>;
}

/** What a place held at one moment. */
export class Snapshot implements Iterable<Snapshot> {
  private constructor();
  readonly key: string | null;
  readonly ref: Reference;
  /** The number of children. */
  readonly size: number;
  readonly priority: string | number | null;
  exists(): boolean;
  /** The data as plain JSON values; null when there is nothing. */
  val(): Value;
  child(path: string): Snapshot;
  /**
   * Call back for each child in the query's order, without a query by priority and then by key;
   * true from the callback ends it.
   */
  forEach(callback: (child: Snapshot) => unknown): boolean;
  [Symbol.iterator](): Iterator<Snapshot>;
}

/** The one kind of error this client raises. */
export class TreeError extends Error {
  constructor(code: string, message: string);
  /** "PERMISSION_DENIED", "INVALID_DATA", ... */
  readonly code: string;
}
