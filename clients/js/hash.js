/**
 * The hash by which the client and the server tell that they hold the same data.
 *
 * It is the SHA-1 of a text: of a leaf its type and content, of an object the keys and hashes of
 * its children in order of priority, each after the node's own priority if it has one.
 *
 *     {foo: {bar: "baz"}}    h1 = hash of  string:baz
 *                            h2 = hash of  :bar:h1
 *                            the node's is that of  :foo:h2
 */

import { PRIORITY } from './query_order.js';
import { sha1 } from './sha1.js';

const hashes = new WeakMap(); // nodes never change, and parts of a tree live on in the next one
const double = new DataView(new ArrayBuffer(8));

/**
 * Return the hash of a node; "" where nothing is.
 *
 * @param {import('./tree.js').Node | null} node
 */
export function nodeHash(node) {
  if (node === null) return '';
  let hash = hashes.get(node);
  if (hash === undefined) {
    hash = sha1(textOf(node));
    hashes.set(node, hash);
  }
  return hash;
}

/** Return the bits of a number as 16 hexadecimal digits. */
export function doubleHex(number) {
  double.setFloat64(0, number);
  return double.getBigUint64(0).toString(16).padStart(16, '0');
}

function textOf(node) {
  const priority = node.priority === null ? '' : `priority:${leafText(node.priority)}:`;
  if (node.children === null) return priority + leafText(node.leaf);
  const keys = node.keysBy(PRIORITY);
  return priority + keys.map((key) => `:${key}:${nodeHash(node.children.get(key))}`).join('');
}

function leafText(leaf) {
  return `${typeof leaf}:${typeof leaf === 'number' ? doubleHex(leaf) : leaf}`;
}
