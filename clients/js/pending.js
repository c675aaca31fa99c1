/**
 * Writes of our own that the server has not answered yet, laid over what it has told us.
 *
 * The copies of the server's data stay as the server has them. What the application sees is a copy
 * with these writes on top, in the order they were made. The server pushes what a write came to
 * before it says yes to it, so taking the write away then changes nothing on the screen; after a
 * no, what was there before shows again.
 *
 *     copy {a: 1}    pending: set /a = 2     shown {a: 2}
 *     copy {a: 2}    pending: set /a = 2     shown {a: 2}     the push
 *     copy {a: 2}                            shown {a: 2}     the yes
 *
 * A write is kept as what it will probably come to. To reckon an increment anew after each push
 * would count it twice, in the push and on top of it.
 */

import { PRIORITY } from './keys.js';
import { nodeAt, startsEqual, withNodeAt } from './tree.js';

/**
 * @typedef {[readonly string[], import('./tree.js').Node | null]} Change where, and what then
 *
 * @typedef {object} Known what is known of a place
 * @property {import('./tree.js').Node | null} root
 * @property {boolean} isKnown else the root tells nothing
 * @property {boolean} isWindow whether there may be more children than those of the root
 *
 * @typedef {object} Choice
 * @property {ReadonlySet<number>} [without] the ids of writes to leave out
 * @property {boolean} [includesHidden] whether to count writes that are not to be shown
 */

export class PendingWrites {
  /** @type {Map<number, {changes: readonly Change[], isVisible: boolean}>} in their order */
  #writes = new Map();
  #lastId = 0;

  /**
   * Add a write behind all others.
   *
   * @param {readonly Change[]} changes what it comes to, in order
   * @param {boolean} [isVisible] whether it is to be shown
   * @returns {number} its id
   */
  add(changes, isVisible = true) {
    this.#lastId += 1;
    this.#writes.set(this.#lastId, { changes, isVisible });
    return this.#lastId;
  }

  /** Put other changes in a write's place. */
  replace(id, changes) {
    const { isVisible } = this.#writes.get(id);
    this.#writes.set(id, { changes, isVisible });
  }

  remove(id) {
    this.#writes.delete(id);
  }

  /**
   * Return what is known of a place, our writes included.
   *
   * @param {readonly string[]} place
   * @param {Known} known what the server has told
   * @param {Choice} [choice]
   * @returns {Known}
   */
  over(place, known, { without, includesHidden = false } = {}) {
    if (this.#writes.size === 0) return known;
    const owned = new Set();
    let result = known;
    for (const [id, { changes, isVisible }] of this.#writes) {
      if (without?.has(id) || !(isVisible || includesHidden)) continue;
      for (const change of changes) result = afterChange(result, place, change, owned);
    }
    return result;
  }
}

/**
 * Return what is known of a place after a change.
 *
 * @param {Known} known
 * @param {readonly string[]} place
 * @param {Change} change at, above, below or beside the place
 * @param {Set<object>} [owned] nodes that nobody else has, see withNodeAt
 * @returns {Known}
 */
export function afterChange(known, place, [keys, node], owned = new Set()) {
  const shared = Math.min(keys.length, place.length);
  if (!startsEqual(keys, place, shared)) return known;
  if (shared === keys.length) {
    return { root: nodeAt(node, place.slice(shared)), isKnown: true, isWindow: false };
  }
  const below = keys.slice(shared);
  if (!known.isKnown || (known.isWindow && !isComplete(known.root, below))) return known;
  return { ...known, root: withNodeAt(known.root, below, node, owned) };
}

/** A part of a child that is not in the window would pass for the whole child. */
export function isComplete(window, [key, ...rest]) {
  if (key === PRIORITY) return false; // a window has none
  return rest.length === 0 || nodeAt(window, [key]) !== null;
}

/** Tell whether one of two places is the other or above it. */
export function overlaps(a, b) {
  return startsEqual(a, b, Math.min(a.length, b.length));
}

/**
 * Sort the changes of one write or push, in place: it has no states in between. Values come first,
 * then removals, which thus empty only what is empty in the end, and then priorities, which a node
 * must exist to have.
 *
 * @param {Change[]} changes
 */
export function inMergeOrder(changes) {
  return changes.sort((a, b) => rankOf(a) - rankOf(b));
}

function rankOf([keys, node]) {
  if (keys.at(-1) === PRIORITY) return 2;
  return node === null ? 1 : 0;
}
