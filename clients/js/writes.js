/** Writes: shown at once, sent when there is a connection, taken back when the server refuses. */

import { estimate } from './estimates.js';
import { formatPath, splitPath } from './keys.js';
import { inMergeOrder } from './pending.js';

export class Writes {
  #requests;
  #pending;
  #places;
  #transactions;
  #now;

  /**
   * @param {object} parts
   * @param {import('./requests.js').Requests} parts.requests
   * @param {import('./pending.js').PendingWrites} parts.pending
   * @param {import('./places.js').Places} parts.places
   * @param {import('./transactions.js').Transactions} parts.transactions
   * @param {() => number} parts.now the server's time, as far as we know it
   */
  constructor({ requests, pending, places, transactions, now }) {
    this.#requests = requests;
    this.#pending = pending;
    this.#places = places;
    this.#transactions = transactions;
    this.#now = now;
  }

  /**
   * Set a place; null removes it.
   *
   * @param {readonly string[]} keys may end in ".priority"
   * @param {unknown} wire
   * @returns {Promise<unknown>}
   */
  set(keys, wire) {
    const path = formatPath(keys);
    return this.#write('p', { p: path, d: wire }, `set ${path}`, [[keys, wire]]);
  }

  /**
   * Write several places below one, all or none.
   *
   * @param {readonly string[]} keys
   * @param {Record<string, unknown>} values relative path to wire form
   * @returns {Promise<unknown>}
   */
  update(keys, values) {
    const path = formatPath(keys);
    const parts = Object.entries(values);
    const written = parts.map(([below, wire]) => [[...keys, ...splitPath(below)], wire]);
    return this.#write('m', { p: path, d: values }, `update ${path}`, written);
  }

  /** Sent first and shown then: what a callback asks for may depend on the write. */
  #write(action, body, asked, written) {
    const paths = written.map(([keys]) => keys);
    const now = this.#now();
    const changes = written.map(([keys, wire]) => [
      keys,
      estimate(wire, this.#places.nodeAt(keys), now),
    ]);
    let id = null;
    const answered = this.#requests.ask(action, body, asked, () => {
      this.#pending.remove(id);
      this.#places.show(paths);
    });
    id = this.#pending.add(inMergeOrder(changes));
    this.#places.together(() => {
      this.#transactions.overwrite(paths);
      this.#places.show(paths);
    });
    return answered;
  }
}
