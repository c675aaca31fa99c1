/** What the server shall write when this client is gone, however it goes. */

import { toWire, toWirePriority, toWireUpdate, withPriority } from './values.js';

export class OnDisconnect {
  #data;
  #keys;

  /**
   * @param {import('./data.js').Data} data
   * @param {readonly string[]} keys
   */
  constructor(data, keys) {
    this.#data = data;
    this.#keys = keys;
  }

  /** Set the place then; resolves when the server has taken note. */
  async set(value) {
    await this.#data.setLast(this.#keys, toWire(value, this.#keys));
  }

  /** Set the place and its priority then. */
  async setWithPriority(value, priority) {
    const wire = toWire(value, this.#keys);
    const checked = toWirePriority(priority, this.#keys);
    await this.#data.setLast(this.#keys, withPriority(wire, checked));
  }

  /** Remove the place then. */
  async remove() {
    await this.set(null);
  }

  /** Write several places below this one then. */
  async update(values) {
    await this.#data.updateLast(this.#keys, toWireUpdate(values, this.#keys));
  }

  /** Do nothing then, of all that was asked for this place and below. */
  async cancel() {
    await this.#data.cancelLast(this.#keys);
  }
}
