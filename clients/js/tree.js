/**
 * The client's copy of a place: immutable nodes, and pure functions from one tree to the next.
 *
 * An empty place is null; everything else is a Node, either a leaf or children. A change copies
 * the nodes along its path and shares the rest, so a snapshot stays what it was; a change that
 * changes nothing returns the very same node, so "did it change?" is one comparison.
 */

import { PRIORITY, sortKeys } from './keys.js';

const ARRAY_INDEX = /^(0|[1-9][0-9]*)$/;

export class Node {
  #keys = null;
  #orderName = null;
  #orderedKeys = null;

  /**
   * @param {string | number | boolean | null} leaf null for a node with children
   * @param {Map<string, Node> | null} children null for a leaf
   * @param {string | number | null} priority
   */
  constructor(leaf, children, priority) {
    this.leaf = leaf;
    this.children = children;
    this.priority = priority;
  }

  /** Return the child's keys in Firebase's order. */
  keys() {
    this.#keys ??= this.children === null ? [] : sortKeys([...this.children.keys()]);
    return this.#keys;
  }

  /**
   * Return the children's keys in an order; the latest one asked for is remembered.
   *
   * @param {import('./query_order.js').Order} order
   */
  keysBy(order) {
    if (this.#orderName !== order.name) {
      this.#orderedKeys = order.sortedKeys(this);
      this.#orderName = order.name;
    }
    return this.#orderedKeys;
  }
}

/**
 * Read a value of the wire (export form; arrays are taken too).
 *
 * @param {unknown} value
 * @returns {Node | null}
 */
export function parseNode(value) {
  if (value === null || value === undefined) return null;
  if (typeof value !== 'object') return new Node(value, null, null);
  const priority = value[PRIORITY] ?? null;
  if ('.value' in value) return withPriority(parseNode(value['.value']), priority);
  const children = new Map();
  for (const key of Object.keys(value)) {
    const child = key.startsWith('.') ? null : parseNode(value[key]);
    if (child !== null) children.set(key, child);
  }
  return children.size === 0 ? null : new Node(null, children, priority);
}

/**
 * Find the node at a path below.
 *
 * @param {Node | null} node
 * @param {readonly string[]} keys
 * @returns {Node | null}
 */
export function nodeAt(node, keys) {
  let found = node;
  for (const key of keys) {
    if (key === PRIORITY) return parseNode(found?.priority);
    found = found?.children?.get(key) ?? null;
  }
  return found;
}

/**
 * Return the tree with another node at a path below.
 *
 * A leaf that gets a child becomes an object and keeps its priority; an object that loses its last
 * child disappears, priority and all; removing a missing child of a leaf leaves the leaf.
 *
 * @param {Node | null} node
 * @param {readonly string[]} keys may end in ".priority"
 * @param {Node | null} replacement
 * @param {Set<Node>} [owned] nodes that were made for this tree and that nobody else has seen: they
 *   are changed in place, and what is made is added. It makes many changes in a row cheap
 * @returns {Node | null}
 */
export function withNodeAt(node, keys, replacement, owned) {
  if (keys.length === 0) return isEqual(node, replacement) ? node : replacement;
  const [key, ...rest] = keys;
  if (key === PRIORITY) return withPriority(node, replacement?.leaf ?? null);
  const before = node?.children?.get(key) ?? null;
  const after = withNodeAt(before, rest, replacement, owned);
  if (after === before) return node;
  const isOwned = owned?.has(node) ?? false;
  const children = isOwned ? node.children : new Map(node?.children ?? []);
  if (after === null) children.delete(key);
  else children.set(key, after);
  if (children.size === 0) return null;
  if (isOwned) return node;
  const changed = new Node(null, children, node?.priority ?? null);
  owned?.add(changed);
  return changed;
}

/**
 * Tell whether two trees hold the same data and priorities.
 *
 * @param {Node | null} a
 * @param {Node | null} b
 * @returns {boolean}
 */
export function isEqual(a, b) {
  if (a === b) return true;
  if (a === null || b === null || a.leaf !== b.leaf || a.priority !== b.priority) return false;
  if (a.children === null || b.children === null) return a.children === b.children;
  if (a.children.size !== b.children.size) return false;
  for (const [key, child] of a.children) {
    if (!isEqual(child, b.children.get(key) ?? null)) return false;
  }
  return true;
}

/** Return the node with another priority; nothing has none. */
export function withPriority(node, priority) {
  if (node === null || node.priority === priority) return node;
  return new Node(node.leaf, node.children, priority);
}

/** Tell whether two paths have the same first keys. */
export function startsEqual(a, b, count) {
  if (a.length < count || b.length < count) return false;
  for (let index = 0; index < count; index += 1) if (a[index] !== b[index]) return false;
  return true;
}

/**
 * Return what `val()` shows: no priorities, and arrays where Firebase prints arrays, which is when
 * every key is an index and more than half of the slots are filled; holes are null.
 *
 * @param {Node | null} node
 * @returns {unknown}
 */
export function toPlain(node) {
  if (node === null) return null;
  if (node.children === null) return node.leaf;
  const length = arrayLength(node);
  return length === null ? plainObject(node) : plainArray(node, length);
}

function arrayLength(node) {
  let largest = -1;
  for (const key of node.children.keys()) {
    if (!ARRAY_INDEX.test(key)) return null;
    largest = Math.max(largest, Number(key));
  }
  return largest < 2 * node.children.size ? largest + 1 : null;
}

function plainArray(node, length) {
  return Array.from({ length }, (_, index) => toPlain(node.children.get(String(index)) ?? null));
}

function plainObject(node) {
  const plain = {};
  for (const key of node.keys()) {
    const value = toPlain(node.children.get(key));
    if (key === '__proto__') {
      // Assigning would set the prototype; data may have any name.
      const property = { value, enumerable: true, configurable: true, writable: true };
      Object.defineProperty(plain, key, property);
    } else {
      plain[key] = value;
    }
  }
  return plain;
}
