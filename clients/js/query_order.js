/**
 * What children may be ordered by: their keys, their values, their priorities, or the value of
 * something below each of them. Children that are equal in it are ordered by their keys.
 *
 * Nothing < false < true < numbers < text < objects; numbers by size, text by UTF-16 unit, all
 * objects are equal. (Firebase, "How query data is ordered".)
 */

import { compareKeys } from './keys.js';
import { nodeAt } from './tree.js';

const OBJECT = Symbol('object');

/** @typedef {null | boolean | number | string | typeof OBJECT} OrderValue */

export class Order {
  #valueOf;

  /**
   * @param {string} name as the wire has it: ".key", ".value", ".priority" or a child's path
   * @param {(child: import('./tree.js').Node) => OrderValue} valueOf what orders a child
   */
  constructor(name, valueOf) {
    this.name = name;
    this.#valueOf = valueOf;
    Object.freeze(this);
  }

  /** Tell whether a child, when it was changed, also took another place among the others. */
  isMoved(before, after) {
    return compareValues(this.#valueOf(before), this.#valueOf(after)) !== 0;
  }

  /**
   * Return the keys of a node's children in this order.
   *
   * @param {import('./tree.js').Node} node
   * @returns {readonly string[]}
   */
  sortedKeys(node) {
    const keys = node.keys();
    if (this === KEY) return keys;
    const placed = keys.map((key) => ({ key, value: this.#valueOf(node.children.get(key)) }));
    if (isSorted(placed)) return keys;
    // Sorting is stable, so equal ones stay in the order of keys.
    return placed.sort((a, b) => compareValues(a.value, b.value)).map(({ key }) => key);
  }

  /**
   * Compare a child with a bound.
   *
   * @param {string} key the child's
   * @param {import('./tree.js').Node} child
   * @param {import('./selection.js').Bound} bound
   * @returns {number} negative, zero or positive; zero for every child that the bound names
   */
  compareToBound(key, child, bound) {
    if (this === KEY) return compareKeys(key, bound.value);
    const byValue = compareValues(this.#valueOf(child), bound.value);
    return byValue === 0 && bound.key !== null ? compareKeys(key, bound.key) : byValue;
  }
}

export const KEY = new Order('.key', () => null);
export const VALUE = new Order('.value', leafOf);
export const PRIORITY = new Order('.priority', (child) => child.priority);

/**
 * Return the order by what lies at a path below each child.
 *
 * @param {readonly string[]} keys
 */
export function byChild(keys) {
  return new Order(keys.join('/'), (child) => leafOf(nodeAt(child, keys)));
}

function leafOf(node) {
  if (node === null) return null;
  return node.children === null ? node.leaf : OBJECT;
}

function compareValues(a, b) {
  if (a === b) return 0;
  // Text by UTF-16 unit and false before true are JavaScript's own order.
  if (typeof a === typeof b) return a < b ? -1 : 1;
  return rankOf(a) - rankOf(b);
}

function rankOf(value) {
  if (value === null) return 0;
  return RANKS[typeof value];
}

const RANKS = Object.freeze({ boolean: 1, number: 2, string: 3, symbol: 4 });

function isSorted(placed) {
  for (let index = 1; index < placed.length; index += 1) {
    if (compareValues(placed[index - 1].value, placed[index].value) > 0) return false;
  }
  return true;
}
