/** What can be read and listened to: a place, or a selection of its children. */

import { QueryConstraint } from './constraints.js';
import { TreeError } from './errors.js';
import { formatPath } from './keys.js';
import { Snapshot } from './snapshot.js';

let narrow;

export class Query {
  #data;
  #keys;
  #selection;
  #ref;

  static {
    narrow = (base, constraints) => {
      const selection = QueryConstraint.combine(base.#selection, constraints);
      return new Query(base.#data, base.#keys, selection, base.ref);
    };
  }

  /**
   * @param {import('./data.js').Data} data
   * @param {readonly string[]} keys
   * @param {import('./selection.js').Selection} selection
   * @param {import('./reference.js').Reference | null} [ref] null if this is the place itself
   */
  constructor(data, keys, selection, ref = null) {
    this.#data = data;
    this.#keys = keys;
    this.#selection = selection;
    this.#ref = ref;
  }

  /** The place itself. */
  get ref() {
    return this.#ref ?? this;
  }

  /** Read once; sees every write this client made before. */
  async get() {
    return this.#snapshot(await this.#data.get(this.#keys, this.#selection));
  }

  /**
   * Call back with what is here, now and after each change.
   *
   * @param {(snapshot: Snapshot) => void} callback never called before this returns
   * @param {(error: TreeError) => void} [onError] called once if the server refuses or revokes
   * @returns {() => void} ends it
   */
  onValue(callback, onError = warn) {
    const onNews = (window) => callback(this.#snapshot(window));
    return this.#listen('value', callback, onNews, onError);
  }

  /**
   * Call back with each child that is here, in order, then with each that is added.
   *
   * @param {(child: Snapshot, previousKey: string | null) => void} callback the key is that of
   *   the child before it; null for the first
   * @param {(error: TreeError) => void} [onError]
   * @returns {() => void} ends it
   */
  onChildAdded(callback, onError = warn) {
    return this.#listenToChildren('child_added', callback, onError);
  }

  /** Call back with each child whose data or priority changed; else as onChildAdded. */
  onChildChanged(callback, onError = warn) {
    return this.#listenToChildren('child_changed', callback, onError);
  }

  /** Call back with each child that what it is ordered by changed; else as onChildAdded. */
  onChildMoved(callback, onError = warn) {
    return this.#listenToChildren('child_moved', callback, onError);
  }

  /** Call back with each child that is here no longer, as it was; else as onChildAdded. */
  onChildRemoved(callback, onError = warn) {
    return this.#listenToChildren('child_removed', callback, onError);
  }

  /**
   * End what listens to this very query; on a place, what listens to its queries as well.
   *
   * @param {string} [event] of this event alone: "value", "child_added", ...
   * @param {Function} [callback] this one alone
   */
  off(event, callback) {
    if (event !== undefined && !NAMES.has(event)) {
      const problem = `off takes one of ${[...NAMES.keys()].join(', ')}, found ${String(event)}`;
      throw new TreeError('INVALID_ARGUMENT', problem);
    }
    this.#data.unlisten(this.#keys, this.#selection, { event, callback });
  }

  /**
   * Keep a copy of what is here up to date, with or without listeners.
   *
   * @param {boolean} isOn false ends it
   */
  keepSynced(isOn) {
    this.#data.keepSynced(this.#keys, this.#selection, isOn);
  }

  #listenToChildren(event, callback, onError) {
    const onNews = ({ key, node, previousKey }) => {
      const child = new Snapshot(node, key, () => this.ref.child(key));
      // What is gone has no place among the others.
      if (event === 'child_removed') callback(child);
      else callback(child, previousKey);
    };
    return this.#listen(event, callback, onNews, onError);
  }

  #listen(event, callback, onNews, onError) {
    if (typeof callback !== 'function') {
      const asked = `${NAMES.get(event)} ${formatPath(this.#keys)}`;
      throw new TreeError('INVALID_ARGUMENT', `${asked}: takes a function`);
    }
    const registration = { event, callback, onNews, onError };
    return this.#data.listen(this.#keys, this.#selection, registration);
  }

  #snapshot(window) {
    const { order } = this.#selection;
    return new Snapshot(window, this.#keys.at(-1) ?? null, () => this.ref, order);
  }
}

const NAMES = new Map([
  ['value', 'onValue'],
  ['child_added', 'onChildAdded'],
  ['child_changed', 'onChildChanged'],
  ['child_moved', 'onChildMoved'],
  ['child_removed', 'onChildRemoved'],
]);

/**
 * Ask for a selection of a place's children.
 *
 * @param {Query} base a place, or a query that is to be narrowed
 * @param {...QueryConstraint} constraints in any order
 * @returns {Query} another query; `base` stays as it is
 */
export function query(base, ...constraints) {
  if (!(base instanceof Query)) {
    throw new TreeError('INVALID_ARGUMENT', 'query takes a place first, as in query(ref, ...)');
  }
  return narrow(base, constraints);
}

function warn(error) {
  console.warn(`treedb: ${error.message}`);
}
