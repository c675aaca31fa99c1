/** Chance that can be had again: the same seed makes the same choices. */

/** The seed of this run; SEED=... in the environment repeats one. */
export const SEED = Number(process.env.SEED ?? Math.floor(Math.random() * 1e9));

export class Chance {
  #state;

  /** @param {number} seed */
  constructor(seed) {
    this.#state = seed >>> 0;
  }

  /** Return a number from 0 to 1, by the generator mulberry32. */
  next() {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** Return a whole number from 0 to count - 1. */
  below(count) {
    return Math.floor(this.next() * count);
  }

  pick(choices) {
    return choices[this.below(choices.length)];
  }

  /** Tell yes, once in so many times. */
  onceIn(count) {
    return this.below(count) === 0;
  }
}
