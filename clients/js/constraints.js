/** The parts a query is made of, as Firebase's SDK names them: orders, bounds and limits. */

import { TreeError } from './errors.js';
import { checkKey, hasLoneSurrogate, parsePath } from './keys.js';
import { KEY, PRIORITY, VALUE, byChild } from './query_order.js';

const MAX_LIMIT = 2147483647;
const ORDERS_BY_NAME = new Map([
  ['key', 'orderByKey()'],
  ['value', 'orderByValue()'],
  ['priority', 'orderByPriority()'],
]);

/** One part of a query; to be given to query(). */
export class QueryConstraint {
  #chosen;

  /**
   * @param {string} type the name of the function that made it
   * @param {object} chosen what it decides of a Selection
   */
  constructor(type, chosen) {
    this.type = type;
    this.#chosen = Object.freeze(chosen);
    Object.freeze(this);
  }

  /**
   * Put constraints together, in any order, with what a query has already.
   *
   * @param {import('./selection.js').Selection} selection
   * @param {unknown[]} constraints
   * @returns {import('./selection.js').Selection}
   */
  static combine(selection, constraints) {
    const chosen = {};
    for (const constraint of constraints) {
      if (!(constraint instanceof QueryConstraint)) {
        throw invalid('query takes what orderByChild(), limitToLast() and so on return');
      }
      constraint.#checkAgainst({ ...selection, ...chosen });
      Object.assign(chosen, constraint.#chosen);
    }
    const combined = selection.with(chosen);
    checkBounds(combined);
    return combined;
  }

  #checkAgainst({ isOrdered, start, end, limit }) {
    const adds = (part) => Object.hasOwn(this.#chosen, part);
    const problem =
      (adds('order') && isOrdered && 'an order already; it can have one orderBy...()') ||
      (adds('start') && start !== null && `a start already, from ${start.type}()`) ||
      (adds('end') && end !== null && `an end already, from ${end.type}()`) ||
      (adds('limit') && limit !== null && 'a limit already, of its first or its last children');
    if (problem) throw invalid(`${this.type}: the query has ${problem}`);
  }
}

/** Order by what lies at a path below each child, as in "height" or "size/height". */
export function orderByChild(path) {
  const named = /^[.$](\w+)$/.exec(path);
  if (named !== null && ORDERS_BY_NAME.has(named[1])) {
    throw invalid(`orderByChild: ${path} is no child; use ${ORDERS_BY_NAME.get(named[1])}`);
  }
  const keys = parsePath(path);
  if (keys.length === 0) {
    throw invalid('orderByChild: the path is empty; to order by the children use orderByValue()');
  }
  return ordering('orderByChild', byChild(keys));
}

export function orderByKey() {
  return ordering('orderByKey', KEY);
}

export function orderByPriority() {
  return ordering('orderByPriority', PRIORITY);
}

export function orderByValue() {
  return ordering('orderByValue', VALUE);
}

/** Begin with this value, and among the children that have it with this key. */
export function startAt(value = null, key = null) {
  return new QueryConstraint('startAt', { start: bound('startAt', value, key, true) });
}

/** Begin behind this value, or among the children that have it behind this key. */
export function startAfter(value, key = null) {
  return new QueryConstraint('startAfter', { start: bound('startAfter', value, key, false) });
}

/** End with this value, and among the children that have it with this key. */
export function endAt(value = null, key = null) {
  return new QueryConstraint('endAt', { end: bound('endAt', value, key, true) });
}

/** End before this value, or among the children that have it before this key. */
export function endBefore(value, key = null) {
  return new QueryConstraint('endBefore', { end: bound('endBefore', value, key, false) });
}

/** Choose the children that have this value; with a key at most that one. */
export function equalTo(value, key = null) {
  const both = bound('equalTo', value, key, true);
  return new QueryConstraint('equalTo', { start: both, end: both });
}

/** Choose at most so many, from the front. */
export function limitToFirst(limit) {
  checkLimit('limitToFirst', limit);
  return new QueryConstraint('limitToFirst', { limit, keepsLast: false });
}

/** Choose at most so many, from the back. */
export function limitToLast(limit) {
  checkLimit('limitToLast', limit);
  return new QueryConstraint('limitToLast', { limit, keepsLast: true });
}

function ordering(type, order) {
  return new QueryConstraint(type, { order, isOrdered: true });
}

function bound(type, value, key, isInclusive) {
  if (!isLeaf(value)) {
    throw invalid(`${type} takes null, a boolean, a number or a text, found ${describe(value)}`);
  }
  if (key !== null) {
    if (typeof key !== 'string') throw invalid(`${type}: a key is a text, found ${describe(key)}`);
    checkKey(key, type);
  }
  return Object.freeze({ value, key, isInclusive, type });
}

function isLeaf(value) {
  if (typeof value === 'string') return !hasLoneSurrogate(value);
  return value === null || typeof value === 'boolean' || Number.isFinite(value);
}

function checkLimit(type, limit) {
  if (Number.isInteger(limit) && limit > 0 && limit <= MAX_LIMIT) return;
  throw invalid(`${type} takes a whole number from 1 to ${MAX_LIMIT}, found ${describe(limit)}`);
}

/** Refuse bounds that nothing in the query's order compares with. */
function checkBounds({ order, start, end }) {
  for (const { value, key, type } of [start, end].filter((each) => each !== null)) {
    const found = describe(value);
    if (order === KEY && typeof value !== 'string') {
      throw invalid(`${type}: a query ordered by key takes a text, found ${found}`);
    }
    if (order === KEY && key !== null) {
      throw invalid(`${type}: a query ordered by key takes one key, and no second one`);
    }
    if (order === PRIORITY && typeof value === 'boolean') {
      const allowed = 'null, a number or a text';
      throw invalid(`${type}: a query ordered by priority takes ${allowed}, found ${found}`);
    }
  }
}

function describe(value) {
  if (typeof value === 'string') {
    return hasLoneSurrogate(value) ? 'half of a surrogate pair' : JSON.stringify(value);
  }
  if (value === null || typeof value !== 'object') return String(value);
  return Array.isArray(value) ? 'an array' : 'an object';
}

function invalid(message) {
  return new TreeError('INVALID_ARGUMENT', message);
}
