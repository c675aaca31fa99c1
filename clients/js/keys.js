/** Keys and paths: what may be a name, how names are ordered, how a path is written. */

import { TreeError } from './errors.js';

export const MAX_DEPTH = 32;
export const PRIORITY = '.priority';
export const INFO = '.info';

const MAX_KEY_BYTES = 768;
const FORBIDDEN = /[.#$[\]/\u0000-\u001f\u007f]/;
const INTEGER_KEY = /^-?0*[0-9]{1,10}$/;
const LONE_SURROGATE = /\p{Surrogate}/u; // with the u flag a whole pair is one other character

/**
 * Split a path into its checked keys; "a/b", "/a/b/" and "//a//b" name the same place.
 *
 * @param {string} path
 * @param {{allowPriority?: boolean}} [options] with allowPriority the last key may be ".priority"
 * @returns {readonly string[]}
 */
export function parsePath(path, { allowPriority = false } = {}) {
  if (typeof path !== 'string') {
    throw new TreeError('INVALID_PATH', `a path is a string, found ${typeof path}`);
  }
  const keys = splitPath(path);
  const names = allowPriority && keys.at(-1) === PRIORITY ? keys.slice(0, -1) : keys;
  for (const key of names) checkKey(key, path);
  checkDepth(names);
  return Object.freeze(keys);
}

/**
 * Split the path of a place; unlike other paths it may lead to what the client knows of itself,
 * as in ".info/connected".
 *
 * @param {string} path
 * @param {readonly string[]} [above] the place that the path is relative to
 * @returns {readonly string[]}
 */
export function parsePlace(path, above = []) {
  const isInfo = above.length === 0 && /^\/*\.info(\/|$)/.test(path);
  const below = isInfo ? [INFO, ...parsePath(path.replace(INFO, ''))] : parsePath(path);
  const keys = Object.freeze([...above, ...below]);
  checkDepth(keys);
  return keys;
}

/** Refuse places that only the client writes. */
export function checkWritable(keys) {
  if (keys[0] !== INFO) return;
  const problem = 'the client tells about itself there; nothing can be written';
  throw new TreeError('INVALID_PATH', `${formatPath(keys)}: ${problem}`);
}

/** @param {readonly string[]} keys */
export function checkDepth(keys) {
  if (keys.length <= MAX_DEPTH) return;
  const problem = `the path has ${keys.length} levels, at most ${MAX_DEPTH} are allowed`;
  throw new TreeError('INVALID_PATH', `${problem}: ${formatPath(keys.slice(0, 3))}/...`);
}

/** Split a path of the wire into its keys, whatever they are. */
export function splitPath(path) {
  return path.split('/').filter((key) => key !== '');
}

/** @param {readonly string[]} keys */
export function formatPath(keys) {
  return `/${keys.join('/')}`;
}

/**
 * Refuse what cannot be a key.
 *
 * @param {string} key
 * @param {string} [where] the path or value it was found in
 */
export function checkKey(key, where = '') {
  const problem = keyProblem(key);
  if (problem === null) return;
  const place = where === '' ? '' : ` in ${where}`;
  throw new TreeError('INVALID_PATH', `the key ${JSON.stringify(shorten(key))}${place} ${problem}`);
}

/**
 * Tell what is wrong with a key, as the end of a sentence; null when it is legal.
 *
 * @param {string} key
 * @returns {string | null}
 */
export function keyProblem(key) {
  if (key === '') return 'is empty';
  const bad = FORBIDDEN.exec(key);
  if (bad !== null) {
    const found = JSON.stringify(bad[0]);
    return `holds ${found}; a key has none of . # $ [ ] / and no control characters`;
  }
  if (hasLoneSurrogate(key)) return 'holds half of a surrogate pair';
  const bytes = key.length * 3 > MAX_KEY_BYTES ? new TextEncoder().encode(key).length : 0;
  if (bytes > MAX_KEY_BYTES) return `has ${bytes} bytes, at most ${MAX_KEY_BYTES} are allowed`;
  return null;
}

/** @param {string} text */
export function hasLoneSurrogate(text) {
  return LONE_SURROGATE.test(text);
}

/**
 * Compare two keys: integers first, by value, shorter text first among equals; then all others by
 * UTF-16 code unit. (Firebase, "How data is ordered".)
 *
 * @param {string} a
 * @param {string} b
 * @returns {number} negative, zero or positive
 */
export function compareKeys(a, b) {
  if (a === b) return 0;
  const left = integerOf(a);
  const right = integerOf(b);
  if (left !== null && right !== null) {
    // "00" and "-0" have one value and one length: the minus comes later.
    return left - right || a.length - b.length || (a.startsWith('-') ? 1 : -1);
  }
  if (left !== null) return -1;
  if (right !== null) return 1;
  return a < b ? -1 : 1;
}

/**
 * Sort keys in place, in Firebase's order; returns the same array.
 *
 * @param {string[]} keys
 */
export function sortKeys(keys) {
  for (let index = 1; index < keys.length; index += 1) {
    if (compareKeys(keys[index - 1], keys[index]) > 0) return keys.sort(compareKeys);
  }
  return keys;
}

function integerOf(key) {
  const first = key.charCodeAt(0);
  if (first > 0x39 || !INTEGER_KEY.test(key)) return null;
  const value = Number(key);
  return value >= -2147483648 && value <= 2147483647 ? value : null;
}

function shorten(key) {
  return key.length > 40 ? `${key.slice(0, 40)}...` : key;
}
