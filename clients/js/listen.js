/**
 * One listen of the wire, and the views that live on it.
 *
 * A listen to a whole place carries a view for each order that is asked for, since orders alone
 * are not told to the server. A listen with a filter carries one view.
 */

import { Copy } from './copy.js';
import { formatPath } from './keys.js';
import { EVERYTHING } from './selection.js';
import { View } from './view.js';

/**
 * @typedef {object} Context what the listens of a database share
 * @property {import('./pending.js').PendingWrites} pending
 * @property {import('./event_queue.js').EventQueue} queue
 */

export class Listen {
  /** Whether the server has yet to answer it. */
  isPending = false;
  #context;
  #hasWarned = false;
  /** @type {Map<string, View>} */
  #views = new Map();

  /**
   * @param {readonly string[]} keys
   * @param {import('./selection.js').Selection} selection
   * @param {number} tag unique in the connection
   * @param {Context} context
   */
  constructor(keys, selection, tag, context) {
    this.keys = keys;
    this.path = formatPath(keys);
    this.isFiltering = selection.isFiltering;
    this.selection = this.isFiltering ? selection : EVERYTHING;
    this.id = idOf(keys, selection);
    this.tag = this.isFiltering ? tag : null;
    this.copy = new Copy(keys, this.selection);
    this.#context = context;
  }

  /** Tell whether nobody listens any more. */
  get isEmpty() {
    return this.#views.size === 0;
  }

  /** What the listen is, for the error's sentence. */
  get description() {
    const filter = this.isFiltering ? ` with ${this.selection.id}` : '';
    return `listen to ${this.path}${filter}`;
  }

  /** How requests name it. */
  get name() {
    if (!this.isFiltering) return { p: this.path };
    return { p: this.path, q: this.selection.toWire(), t: this.tag };
  }

  /**
   * Add a callback for a selection that this listen serves.
   *
   * @param {import('./selection.js').Selection} selection
   * @param {import('./view.js').Registration} registration
   */
  add(selection, registration) {
    let view = this.#views.get(selection.id);
    if (view === undefined) {
      view = new View(selection, this.#context.queue);
      this.#views.set(selection.id, view);
      const { root, isKnown } = this.#shown();
      if (isKnown) view.update(root);
    }
    view.add(registration);
  }

  /** @returns {boolean} whether it was there */
  remove(selection, registration) {
    const view = this.#views.get(selection.id);
    const wasThere = view?.remove(registration) ?? false;
    this.#dropEmpty();
    return wasThere;
  }

  /**
   * End callbacks.
   *
   * @param {{event?: string, callback?: Function}} which all, if neither is named
   * @param {string} [selectionId] of one selection alone
   */
  off({ event, callback }, selectionId) {
    for (const [id, view] of this.#views) {
      if (selectionId === undefined || selectionId === id) view.off(event, callback);
    }
    this.#dropEmpty();
  }

  /** Tell the views what there is to see now. */
  update() {
    const { root, isKnown } = this.#shown();
    for (const view of [...this.#views.values()]) {
      if (isKnown) view.update(root);
      else view.lose();
    }
  }

  /** Tell every callback that there will be no more, and why. */
  fail(error) {
    const views = [...this.#views.values()];
    this.#views.clear();
    for (const view of views) view.fail(error);
  }

  /** Forget every callback. */
  close() {
    this.#views.clear();
  }

  /** Say, once, what an answer warns of. */
  warn(warnings) {
    if (this.#hasWarned || !warnings.includes('no_index')) return;
    this.#hasWarned = true;
    const declaration = `".indexOn": ${JSON.stringify(this.selection.order.name)}`;
    console.warn(
      `treedb: the query at ${this.path} has no index: the server reads all that is there. ` +
        `Add ${declaration} at ${this.path} to the rules.`,
    );
  }

  /** The copy, and our own writes on top. */
  #shown() {
    return this.#context.pending.over(this.keys, this.copy.known);
  }

  #dropEmpty() {
    for (const [id, view] of this.#views) if (view.isEmpty) this.#views.delete(id);
  }
}

/**
 * Return the name of the listen that serves a selection of a place.
 *
 * @param {readonly string[]} keys
 * @param {import('./selection.js').Selection} selection
 */
export function idOf(keys, selection) {
  return wireId(formatPath(keys), selection.isFiltering ? selection.id : '');
}

/** @param {string} path @param {string} queryId empty for the whole place */
export function wireId(path, queryId) {
  return `${path}\n${queryId}`; // no path has a line break
}
