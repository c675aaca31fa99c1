/** How long to wait before dialling again: longer after each failure, and never all at once. */

const FIRST_DELAY_MS = 1000;
const GROWTH = 1.3;
const MAX_DELAY_MS = 5 * 60 * 1000;
const STEADY_AFTER_MS = 30 * 1000;

export class Backoff {
  #random;
  #delayMs = FIRST_DELAY_MS;
  #attemptedAt = -Infinity;
  #connectedAt = null;

  /** @param {() => number} random from 0 to 1: it keeps clients from coming back together */
  constructor(random) {
    this.#random = random;
  }

  /** Note that dialling begins. */
  attempted(now) {
    this.#attemptedAt = now;
  }

  /** Note that the server greeted us. */
  connected(now) {
    this.#connectedAt = now;
  }

  /** Forget past failures: the next delay is a short one. */
  reset() {
    this.#delayMs = FIRST_DELAY_MS;
    this.#attemptedAt = -Infinity;
  }

  /**
   * Return how many milliseconds to wait, now that a connection was lost or refused.
   *
   * @param {number} now
   */
  next(now) {
    if (this.#connectedAt !== null && now - this.#connectedAt > STEADY_AFTER_MS) {
      this.#delayMs = FIRST_DELAY_MS;
    }
    this.#connectedAt = null;
    const spent = Math.max(0, now - this.#attemptedAt); // a clock may go back
    const left = Math.max(0, this.#delayMs - spent);
    this.#delayMs = Math.min(MAX_DELAY_MS, this.#delayMs * GROWTH);
    return this.#random() * left;
  }
}
