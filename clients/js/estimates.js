/** What a write will probably come to: placeholders filled in as the server would do it now. */

import { Node, parseNode, withPriority } from './tree.js';

/**
 * Read a value that is to be written, its placeholders filled in.
 *
 * @param {unknown} wire
 * @param {Node | null} present what is there now, as far as we know
 * @param {number} now the server's time, as far as we know it
 * @returns {Node | null}
 */
export function estimate(wire, present, now) {
  if (typeof wire !== 'object' || wire === null) return parseNode(wire);
  if (Object.hasOwn(wire, '.sv')) {
    return parseNode(filled(wire['.sv'], present?.leaf ?? null, now));
  }
  const priority = priorityOf(wire['.priority'] ?? null, present, now);
  if (Object.hasOwn(wire, '.value')) {
    return withPriority(estimate(wire['.value'], present, now), priority);
  }
  const children = new Map();
  for (const key of Object.keys(wire)) {
    if (key.startsWith('.')) continue;
    const child = estimate(wire[key], present?.children?.get(key) ?? null, now);
    if (child !== null) children.set(key, child);
  }
  return children.size === 0 ? null : new Node(null, children, priority);
}

function priorityOf(wire, present, now) {
  if (typeof wire !== 'object' || wire === null) return wire;
  return filled(wire['.sv'], present?.priority ?? null, now);
}

function filled(placeholder, present, now) {
  if (placeholder === 'timestamp') return now;
  return typeof present === 'number' ? present + placeholder.increment : placeholder.increment;
}
