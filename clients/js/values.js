/** Values on their way out: checked, copied and put into the form the wire carries. */

import { TreeError } from './errors.js';
import { MAX_DEPTH, checkKey, formatPath, hasLoneSurrogate, parsePath } from './keys.js';

const SERVER_VALUE = '.sv';
const DOT_KEYS = new Set(['.value', '.priority', SERVER_VALUE]);

/** Return a placeholder that the server replaces by its time, in milliseconds, when it writes. */
export function serverTimestamp() {
  return Object.freeze({ [SERVER_VALUE]: 'timestamp' });
}

/**
 * Return a placeholder that the server replaces by the number at that place plus `delta`.
 *
 * @param {number} delta
 */
export function increment(delta) {
  if (typeof delta !== 'number' || !Number.isFinite(delta)) {
    throw new TreeError('INVALID_ARGUMENT', `increment takes a finite number, found ${delta}`);
  }
  return Object.freeze({ [SERVER_VALUE]: Object.freeze({ increment: delta }) });
}

/**
 * Copy a value into wire form: arrays become objects with integer keys, nulls inside vanish.
 *
 * @param {unknown} value null, a boolean, a number, a string, an array or a plain object of these
 * @param {readonly string[]} place where it is to be written; for the depth and for messages
 * @returns {unknown} a tree of primitives and prototype-less objects
 */
export function toWire(value, place) {
  if (value === null || typeof value === 'boolean') return value;
  if (typeof value === 'number') return checkNumber(value, place);
  if (typeof value === 'string') return checkText(value, place);
  if (typeof value !== 'object') throw invalid(place, `${typeof value} is no JSON value`);
  if (Array.isArray(value) || isPlain(value)) return copyObject(value, place);
  const name = value.constructor?.name ?? 'an object';
  throw invalid(place, `a ${name} is no JSON value; write a plain object, a number or a text`);
}

/**
 * Copy the values of an update into wire form.
 *
 * @param {unknown} values relative path to value; the last key of a path may be ".priority"
 * @param {readonly string[]} place
 * @returns {Record<string, unknown>}
 */
export function toWireUpdate(values, place) {
  if (typeof values !== 'object' || values === null || Array.isArray(values)) {
    const problem = `update ${formatPath(place)}: takes an object of values`;
    throw new TreeError('INVALID_ARGUMENT', problem);
  }
  const wire = Object.create(null);
  for (const [path, value] of Object.entries(values)) {
    const keys = parsePath(path, { allowPriority: true });
    wire[keys.join('/')] = toWire(value, [...place, ...keys]);
  }
  return wire;
}

/**
 * Check a priority and copy it into wire form.
 *
 * @param {unknown} priority null, a number, a string, or a placeholder for one
 * @param {readonly string[]} place
 */
export function toWirePriority(priority, place) {
  if (priority === null || typeof priority === 'number' || typeof priority === 'string') {
    return toWire(priority, place);
  }
  if (Object.hasOwn(Object(priority), SERVER_VALUE)) {
    return { [SERVER_VALUE]: checkServerValue(priority[SERVER_VALUE], place) };
  }
  throw invalid(place, `a priority is null, a number or a text, found ${typeof priority}`);
}

/**
 * Give a value in wire form a priority, in place of the one it has.
 *
 * @param {unknown} wire
 * @param {unknown} priority in wire form
 */
export function withPriority(wire, priority) {
  if (wire === null || priority === null) return wire;
  const isLeaf = typeof wire !== 'object' || Object.hasOwn(wire, SERVER_VALUE);
  return Object.assign(Object.create(null), isLeaf ? { '.value': wire } : wire, {
    '.priority': priority,
  });
}

function copyObject(value, place) {
  // Without a prototype "__proto__" is a key like any other.
  const copy = Object.create(null);
  for (const key of Object.keys(value)) {
    const child = DOT_KEYS.has(key)
      ? copyDotMember(key, value[key], place)
      : copyChild(key, value[key], place);
    if (child !== null) copy[key] = child;
  }
  return copy;
}

function copyChild(key, child, place) {
  checkKey(key, `the value for ${formatPath(place)}`);
  // The limit of depth also ends the walk round an object that holds itself.
  if (place.length >= MAX_DEPTH && child !== null) {
    const start = formatPath(place.slice(0, 3));
    throw invalid([], `${start}/... goes deeper than ${MAX_DEPTH} levels`);
  }
  return toWire(child, [...place, key]);
}

function copyDotMember(key, child, place) {
  if (key === SERVER_VALUE) return checkServerValue(child, place);
  if (typeof child !== 'object' || child === null) return toWire(child, place);
  if (!Object.hasOwn(child, SERVER_VALUE)) {
    throw invalid(place, `${key} holds a ${typeof child} but takes a text, a number or a boolean`);
  }
  return { [SERVER_VALUE]: checkServerValue(child[SERVER_VALUE], place) };
}

function checkServerValue(content, place) {
  if (content === 'timestamp') return content;
  if (Number.isFinite(content?.increment)) return { increment: content.increment };
  throw invalid(place, '.sv takes "timestamp" or {increment: number}');
}

function isPlain(value) {
  const prototype = Object.getPrototypeOf(value);
  // Another window's or context's Object.prototype counts too: nothing stands above it.
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function checkNumber(value, place) {
  if (!Number.isFinite(value)) throw invalid(place, `${value} is no JSON number`);
  return value === 0 ? 0 : value; // the database knows no -0
}

function checkText(value, place) {
  if (hasLoneSurrogate(value)) throw invalid(place, 'the text holds half of a surrogate pair');
  return value;
}

function invalid(place, problem) {
  return new TreeError('INVALID_DATA', `the value for ${formatPath(place)}: ${problem}`);
}
