/**
 * One transaction: the application's function, what it was given and what it made of that.
 *
 * The function gets plain data and returns what shall be there instead; undefined is "leave it".
 * A priority that it does not name stays as it was.
 */

import { estimate } from './estimates.js';
import { PRIORITY, formatPath } from './keys.js';
import { isEqual, toPlain } from './tree.js';
import { toWire, withPriority } from './values.js';

/** @typedef {import('./tree.js').Node | null} Content */

export class Transaction {
  /** How often it was sent. */
  tries = 0;
  /** Whether the server has yet to answer. */
  isSent = false;
  /** @type {import('./errors.js').TreeError | null} why it must not be tried again */
  problem = null;
  /** @type {number | null} the pending write that shows what it came to */
  writeId = null;
  /** @type {Content} what the function was given */
  input = null;
  /** @type {Content} what it probably comes to */
  output = null;
  /** What it made, as the wire has it. */
  wire = null;
  #update;
  #hasRun = false;

  /**
   * @param {readonly string[]} keys
   * @param {(value: any) => unknown} update
   * @param {boolean} isVisible whether what it comes to is shown before the server has it
   */
  constructor(keys, update, isVisible) {
    this.keys = keys;
    this.path = formatPath(keys);
    this.isVisible = isVisible;
    this.#update = update;
  }

  /** The name of what is asked, for an error's sentence. */
  get asked() {
    return `transaction ${this.path}`;
  }

  /** Tell whether the function has seen this. */
  hasSeen(input) {
    return this.#hasRun && isEqual(this.input, input);
  }

  /** Run the function again, whatever it has seen. */
  forget() {
    this.#hasRun = false;
  }

  /**
   * Run the function.
   *
   * @param {Content} input
   * @param {number} now the server's time, as far as we know it
   * @returns {boolean} false if it wants nothing to be written
   */
  run(input, now) {
    const value = this.#update(toPlain(input));
    if (value === undefined) return false;
    const wire = toWire(value, this.keys);
    const namesPriority = Object.hasOwn(Object(value), PRIORITY);
    this.wire = namesPriority ? wire : withPriority(wire, input?.priority ?? null);
    this.input = input;
    this.output = estimate(this.wire, input, now);
    this.#hasRun = true;
    return true;
  }
}
