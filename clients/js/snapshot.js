/** What a place held at one moment. A snapshot never changes. */

import { parsePath } from './keys.js';
import { PRIORITY } from './query_order.js';
import { nodeAt, toPlain } from './tree.js';

export class Snapshot {
  #node;
  #findRef;
  #order;

  /**
   * @param {import('./tree.js').Node | null} node
   * @param {string | null} key
   * @param {() => import('./reference.js').Reference} findRef
   * @param {import('./query_order.js').Order} [order] of the children
   */
  constructor(node, key, findRef, order = PRIORITY) {
    this.#node = node;
    this.#order = order;
    this.#findRef = findRef; // made when asked for: most of a long list's children never are
    this.key = key;
  }

  /** The place this was read from. */
  get ref() {
    return this.#findRef();
  }

  /** The number of children. */
  get size() {
    return this.#node?.children?.size ?? 0;
  }

  get priority() {
    return this.#node?.priority ?? null;
  }

  exists() {
    return this.#node !== null;
  }

  /** Return the data as plain JSON values; null when there is nothing. */
  val() {
    return toPlain(this.#node);
  }

  /** @param {string} path relative to this place */
  child(path) {
    const keys = parsePath(path);
    const key = keys.at(-1) ?? this.key;
    return new Snapshot(nodeAt(this.#node, keys), key, () => this.ref.child(path));
  }

  /**
   * Call back for each child in the query's order; true from the callback ends it.
   *
   * @param {(child: Snapshot) => unknown} callback
   * @returns {boolean} whether a callback ended it
   */
  forEach(callback) {
    for (const child of this) if (callback(child) === true) return true;
    return false;
  }

  /** The children in the query's order; without a query by priority, then by key. */
  *[Symbol.iterator]() {
    for (const key of this.#node?.keysBy(this.#order) ?? []) {
      yield new Snapshot(this.#node.children.get(key), key, () => this.ref.child(key));
    }
  }
}
