/** treedb's client for browsers and Node. */

export type Leaf = string | number | boolean;

/** What val() returns. */
export type Value = null | Leaf | Value[] | { [key: string]: Value };

/** What the server puts in place of a placeholder. */
export type ServerValue = { readonly '.sv': 'timestamp' | { readonly increment: number } };

/** What may be written; null and what is empty removes. */
export type Writable =
  null | Leaf | ServerValue | readonly Writable[] | { readonly [key: string]: Writable };

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
  ref(path?: string): Reference;
  /** Disconnect and stay so; writes wait, listens keep what they have. */
  goOffline(): void;
  goOnline(): void;
  /** Disconnect for good: what waits is rejected, listens end. */
  close(): void;
  /** Act as somebody else from now on; null is nobody. */
  signIn(token: Token): Promise<void>;
  /** Call back with the state of the connection, now and after each change. */
  onConnection(callback: (state: ConnectionState) => void): Unsubscribe;
}

export class Reference {
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
  /** Make a child with a new key that sorts after all earlier ones, and write the value to it. */
  push(value?: Writable): PushedReference;
  remove(): Promise<void>;
  /** Read once; sees every write this client made before. */
  get(): Promise<Snapshot>;
  /** Call back with what is here, now and after each change; never before this returns. */
  onValue(
    callback: (snapshot: Snapshot) => void,
    onError?: (error: TreeError) => void,
  ): Unsubscribe;
  /** End every onValue of this very place. */
  off(): void;
  toString(): string;
}

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
  /** Call back for each child in the order of keys; true from the callback ends it. */
  forEach(callback: (child: Snapshot) => unknown): boolean;
  [Symbol.iterator](): Iterator<Snapshot>;
}

/** The one kind of error this client raises. */
export class TreeError extends Error {
  constructor(code: string, message: string);
  /** "PERMISSION_DENIED", "INVALID_DATA", ... */
  readonly code: string;
}
