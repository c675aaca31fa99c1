/**
 * What is asked of a place's children: an order, a range of it, and how many at one end.
 *
 * The answer is a *window*: an object of the children chosen, whole, without a priority of its own.
 * A leaf has no children, so nothing of it is chosen. A selection that only orders chooses nothing:
 * its window is the place as it is.
 */

import { PRIORITY } from './query_order.js';
import { Node } from './tree.js';

/**
 * @typedef {object} Bound one end of a range
 * @property {null | boolean | number | string} value in the order of keys, the key
 * @property {string | null} key parts the children of that value; null for all of them
 * @property {boolean} isInclusive
 * @property {string} [type] the function that made it
 */

// How the wire spells the keys before and behind every other.
const BEFORE_KEYS = '[MIN_NAME]';
const BEHIND_KEYS = '[MAX_NAME]';
const WIRE_FIELDS = Object.freeze(['sp', 'sn', 'sin', 'ep', 'en', 'ein', 'l', 'vf', 'i']);

export class Selection {
  /**
   * @param {object} [chosen]
   * @param {import('./query_order.js').Order} [chosen.order]
   * @param {boolean} [chosen.isOrdered] whether the order was asked for
   * @param {Bound | null} [chosen.start]
   * @param {Bound | null} [chosen.end]
   * @param {number | null} [chosen.limit]
   * @param {boolean} [chosen.keepsLast] which end the limit is for
   */
  constructor(chosen = {}) {
    this.order = chosen.order ?? PRIORITY;
    this.isOrdered = chosen.isOrdered ?? false;
    this.start = chosen.start ?? null;
    this.end = chosen.end ?? null;
    this.limit = chosen.limit ?? null;
    this.keepsLast = chosen.keepsLast ?? false;
    /** Equal for selections that the wire does not tell apart. */
    this.id = JSON.stringify(this.toWire());
    Object.freeze(this);
  }

  /** Tell whether children are chosen; else the window is the place as it is. */
  get isFiltering() {
    return this.start !== null || this.end !== null || this.limit !== null;
  }

  /** Return another selection, the same but for what is given. */
  with(chosen) {
    return new Selection({ ...this, ...chosen });
  }

  /** Return the query object, exactly as Firebase's own client writes it. */
  toWire() {
    const { order, start, end, limit, keepsLast } = this;
    return {
      ...(start !== null && { sp: start.value, ...this.#keyToWire('sn', start, BEHIND_KEYS) }),
      ...(start !== null && { sin: start.isInclusive }),
      ...(end !== null && { ep: end.value, ...this.#keyToWire('en', end, BEFORE_KEYS) }),
      ...(end !== null && { ein: end.isInclusive }),
      ...(limit !== null && { l: limit, vf: keepsLast ? 'r' : 'l' }),
      ...(order !== PRIORITY && { i: order.name }),
    };
  }

  /**
   * Return the window on a place.
   *
   * @param {Node | null} node what is at the place
   * @returns {Node | null}
   */
  windowOf(node) {
    if (!this.isFiltering || node === null) return node;
    const keys = node.keysBy(this.order);
    const chosen = this.#cut(keys.filter((key) => this.#admits(key, node.children.get(key))));
    if (chosen.length === 0) return null;
    if (chosen.length === keys.length && node.priority === null) return node;
    return new Node(null, new Map(chosen.map((key) => [key, node.children.get(key)])), null);
  }

  #admits(key, child) {
    return this.#isFromStart(key, child) && this.#isToEnd(key, child);
  }

  #isFromStart(key, child) {
    if (this.start === null) return true;
    const side = this.order.compareToBound(key, child, this.start);
    return side > 0 || (side === 0 && this.start.isInclusive);
  }

  #isToEnd(key, child) {
    if (this.end === null) return true;
    const side = this.order.compareToBound(key, child, this.end);
    return side < 0 || (side === 0 && this.end.isInclusive);
  }

  #cut(keys) {
    if (this.limit === null) return keys;
    return this.keepsLast ? keys.slice(-this.limit) : keys.slice(0, this.limit);
  }

  #keyToWire(field, { key, isInclusive }, beyond) {
    if (key !== null) return { [field]: key };
    // In the order of keys the bound itself is the key.
    return isInclusive || this.order.name === '.key' ? {} : { [field]: beyond };
  }
}

/** The whole place, its children in Firebase's default order. */
export const EVERYTHING = new Selection();

/**
 * Return the id of the selection that a query object of the wire stands for.
 *
 * @param {Record<string, unknown>} wire
 */
export function idOfWire(wire) {
  const fields = WIRE_FIELDS.filter((field) => Object.hasOwn(wire, field));
  return JSON.stringify(Object.fromEntries(fields.map((field) => [field, wire[field]])));
}
