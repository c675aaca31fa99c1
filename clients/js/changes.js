/**
 * What happened to the children between two states of a place, as child events.
 *
 * Removals come first. Then come the children in their order, each with the key of the one before
 * it, so that whoever replays the changes on a list of his own ends with the same list: when a
 * child is put behind another, that one is already where it stays.
 *
 *     before  a b c      removed  b
 *     after   c d a      added    d  behind c, which stands where it stood
 *                        moved    a  behind d
 *                        changed  a
 */

import { isEqual } from './tree.js';

/**
 * @typedef {object} Change
 * @property {'child_removed' | 'child_added' | 'child_moved' | 'child_changed'} event
 * @property {string} key
 * @property {import('./tree.js').Node} node the child; of a removed one what it was
 * @property {string | null} previousKey the key of the child before it; null for the first
 */

/**
 * Tell what happened to the children.
 *
 * A child is moved when the value it is ordered by is another one, even where it stays in its
 * place, and it is then changed as well.
 *
 * @param {import('./tree.js').Node | null} before
 * @param {import('./tree.js').Node | null} after
 * @param {import('./query_order.js').Order} order
 * @returns {Change[]}
 */
export function changesBetween(before, after, order) {
  return [...removals(before, after, order), ...arrivals(before, after, order)];
}

function* removals(before, after, order) {
  for (const key of before?.keysBy(order) ?? []) {
    if (childOf(after, key) !== null) continue;
    yield { event: 'child_removed', key, node: childOf(before, key), previousKey: null };
  }
}

function* arrivals(before, after, order) {
  let previousKey = null;
  for (const key of after?.keysBy(order) ?? []) {
    const old = childOf(before, key);
    const node = childOf(after, key);
    for (const event of eventsOf(old, node, order)) yield { event, key, node, previousKey };
    previousKey = key;
  }
}

function eventsOf(old, node, order) {
  if (old === null) return ['child_added'];
  if (isEqual(old, node)) return [];
  return order.isMoved(old, node) ? ['child_moved', 'child_changed'] : ['child_changed'];
}

function childOf(node, key) {
  return node?.children?.get(key) ?? null;
}
