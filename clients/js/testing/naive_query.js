/**
 * Queries the plain way, on export-form JSON: sort everything, cut. The oracle for selection.js,
 * and what the fake server answers with. It shares no code with the client but the order of keys.
 */

import { compareKeys } from '../keys.js';

const RANKS = ['null', 'false', 'true', 'number', 'string', 'object'];

/**
 * Return the keys of the children that a query chooses, in its order.
 *
 * @param {any} data what is at the place, in export form
 * @param {Record<string, any>} wire the query, as the protocol sends it
 * @returns {string[]}
 */
export function naiveKeys(data, wire) {
  const index = wire.i ?? '.priority';
  const start = wire.sp === undefined ? null : [wire.sp, wire.sn ?? startKey(wire.sin ?? true)];
  const end = wire.ep === undefined ? null : [wire.ep, wire.en ?? endKey(wire.ein ?? true)];
  const placed = childrenOf(data).map(([key, child]) => [indexValue(child, index), key]);
  placed.sort((a, b) => compare(a, b, index));
  const chosen = placed
    .filter((position) => start === null || isAfter(compare(position, start, index), wire.sin))
    .filter((position) => end === null || isAfter(-compare(position, end, index), wire.ein))
    .map(([, key]) => key);
  if (wire.l === undefined) return chosen;
  const keepsFirst = (wire.vf ?? (start === null ? 'r' : 'l')) === 'l';
  return keepsFirst ? chosen.slice(0, wire.l) : chosen.slice(-wire.l);
}

/** Return the window on a place, in export form; null if nothing is chosen. */
export function naiveWindow(data, wire) {
  if (!['sp', 'ep', 'l'].some((field) => Object.hasOwn(wire, field))) return data;
  const keys = naiveKeys(data, wire);
  return keys.length === 0 ? null : Object.fromEntries(keys.map((key) => [key, data[key]]));
}

function isAfter(side, isInclusive = true) {
  return side > 0 || (side === 0 && isInclusive);
}

const startKey = (isInclusive) => (isInclusive ? '[MIN_NAME]' : '[MAX_NAME]');
const endKey = (isInclusive) => (isInclusive ? '[MAX_NAME]' : '[MIN_NAME]');

function childrenOf(data) {
  if (typeof data !== 'object' || data === null || '.value' in data) return [];
  return Object.entries(data).filter(([key]) => !key.startsWith('.'));
}

function indexValue(child, index) {
  if (index === '.key') return null;
  if (index === '.priority') return child['.priority'] ?? null;
  let found = child;
  if (index !== '.value') {
    for (const key of index.split('/')) if (key !== '') found = found?.[key] ?? null;
  }
  return found?.['.value'] ?? found;
}

function compare([leftValue, leftKey], [rightValue, rightKey], index) {
  if (index === '.key') return compareWithSentinels(leftKey, rightValue ?? rightKey);
  return compareValues(leftValue, rightValue) || compareWithSentinels(leftKey, rightKey);
}

function compareValues(a, b) {
  const [left, right] = [rank(a), rank(b)];
  if (left !== right) return left - right;
  if (RANKS[left] === 'number') return a - b;
  return RANKS[left] !== 'string' || a === b ? 0 : a < b ? -1 : 1;
}

function rank(value) {
  return RANKS.indexOf(value === null || typeof value === 'boolean' ? String(value) : typeof value);
}

function compareWithSentinels(a, b) {
  if (/^\[MIN/.test(b)) return 1;
  return /^\[MAX/.test(b) ? -1 : compareKeys(a, b);
}
