/**
 * Events on their way to the application's callbacks: first in, first out.
 *
 * A callback may write, and that makes events at once. Those who have not heard of the change that
 * the callback was called for hear of it first, so that nobody hears of two changes in the wrong
 * order; and when the callback's write returns, everybody has heard of both.
 */

import { guard } from './callbacks.js';

export class EventQueue {
  #calls = [];
  #holds = 0;

  /** @param {() => void} call */
  add(call) {
    this.#calls.push(call);
  }

  /** Deliver all there is, unless more is to come. */
  flush() {
    if (this.#holds > 0) return;
    for (let call = this.#calls.shift(); call !== undefined; call = this.#calls.shift()) {
      guard(call);
    }
  }

  /**
   * Deliver what the work adds once it is done, not in between.
   *
   * @param {() => void} work
   */
  together(work) {
    this.#holds += 1;
    try {
      work();
    } finally {
      this.#holds -= 1;
    }
    this.flush();
  }
}
