/**
 * One selection of a place, as its callbacks hear of it.
 *
 * All callbacks of a view have heard the same, so what changed is found out once for all of them.
 * One that joins later hears how things stand first, alone.
 */

import { changesBetween } from './changes.js';
import { isEqual } from './tree.js';

/** @typedef {import('./tree.js').Node | null} Window */

/**
 * @typedef {object} Registration
 * @property {'value' | import('./changes.js').Change['event']} event
 * @property {(news: any) => void} onNews takes the Window for "value", else the Change
 * @property {(error: import('./errors.js').TreeError) => void} onError
 * @property {Function} [callback] the application's function, by which it may end it
 * @property {boolean} [isOurs] the application has not made it, and does not end it
 */

export class View {
  #selection;
  #queue;
  /** @type {Window} what the callbacks have heard */
  #window = null;
  #isKnown = false;
  /** @type {Map<Registration, boolean>} whether it has heard of the window */
  #registrations = new Map();

  /**
   * @param {import('./selection.js').Selection} selection
   * @param {import('./event_queue.js').EventQueue} queue
   */
  constructor(selection, queue) {
    this.#selection = selection;
    this.#queue = queue;
  }

  get isEmpty() {
    return this.#registrations.size === 0;
  }

  /**
   * Add a callback; it is never called before this returns.
   *
   * @param {Registration} registration
   */
  add(registration) {
    this.#registrations.set(registration, false);
    queueMicrotask(() => {
      if (!this.#isKnown || this.#registrations.get(registration) !== false) return;
      this.#registrations.set(registration, true);
      this.#tell([registration], null);
      this.#queue.flush();
    });
  }

  /** @returns {boolean} whether it was there */
  remove(registration) {
    return this.#registrations.delete(registration);
  }

  /** End the callbacks for one event, or one function's; all, if neither is named. */
  off(event, callback) {
    for (const registration of [...this.#registrations.keys()]) {
      if (registration.isOurs) continue;
      if (event !== undefined && registration.event !== event) continue;
      if (callback !== undefined && registration.callback !== callback) continue;
      this.#registrations.delete(registration);
    }
  }

  /**
   * Take another state of the place, and tell of it if anything is different.
   *
   * @param {import('./tree.js').Node | null} root
   */
  update(root) {
    const before = this.#window;
    const wasKnown = this.#isKnown;
    this.#window = this.#selection.windowOf(root);
    this.#isKnown = true;
    const concerned = this.#whoHas(true);
    const newcomers = wasKnown ? [] : this.#whoHas(false);
    for (const registration of newcomers) this.#registrations.set(registration, true);
    if (!isEqual(before, this.#window)) this.#tell(concerned, before);
    this.#tell(newcomers, null);
    this.#queue.flush();
  }

  /** Nothing is known of the place any more; who has heard of it before keeps that. */
  lose() {
    this.#isKnown = false;
  }

  /** Tell every callback that there will be no more, and why. */
  fail(error) {
    const registrations = [...this.#registrations.keys()];
    this.#registrations.clear();
    for (const { onError } of registrations) this.#queue.add(() => onError(error));
    this.#queue.flush();
  }

  #whoHas(heard) {
    return [...this.#registrations.keys()].filter(
      (registration) => this.#registrations.get(registration) === heard,
    );
  }

  /** Each change to all who want it, before the next one; the window as a whole comes last. */
  #tell(registrations, before) {
    const window = this.#window;
    if (registrations.some(({ event }) => event !== 'value')) {
      for (const change of changesBetween(before, window, this.#selection.order)) {
        this.#call(registrations, change.event, change);
      }
    }
    this.#call(registrations, 'value', window);
  }

  #call(registrations, event, news) {
    for (const registration of registrations) {
      if (registration.event !== event) continue;
      this.#queue.add(() => {
        // A callback may have ended another one.
        if (this.#registrations.has(registration)) registration.onNews(news);
      });
    }
  }
}
