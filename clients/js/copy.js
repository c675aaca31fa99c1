/**
 * What one listen has told of its place.
 *
 * A listen to a whole place is told by pushes without a tag, which it shares with all others of
 * the connection. A listen with a filter is told in one of two ways, and the server chooses:
 *
 *     tagged     the copy is the window, as the server cuts it; pushes without a tag are for others
 *     untagged   the copy is the whole place, and we cut the window ourselves
 *
 * The first data tell which it is. Where the server says `ok` without data, there is nothing, and
 * both remain possible: what comes without a tag may then be news for us, or news for somebody
 * whose place overlaps with ours. What replaces our whole place is right for us in either case; of
 * anything smaller we cannot know what stands beside it, so it is ours only if nobody else is here.
 */

import { PRIORITY } from './keys.js';
import { nodeAt, withNodeAt } from './tree.js';

/** @typedef {import('./tree.js').Node | null} Root */

// What the copy is, once data came on this connection; before that it is UNSYNCED.
const UNSYNCED = 'unsynced';
const WHOLE = 'whole';
const WINDOW = 'window';
const NOTHING = 'nothing'; // the window is empty, and the server has not shown how it tells

export class Copy {
  /** @type {Root} kept while unsynced: the listeners have heard of it */
  root = null;
  #keys;
  #selection;
  #kind = UNSYNCED;

  /**
   * @param {readonly string[]} keys the place
   * @param {import('./selection.js').Selection} selection
   */
  constructor(keys, selection) {
    this.#keys = keys;
    this.#selection = selection;
  }

  /** Tell whether the copy follows the server: data came on this connection. */
  get isSynced() {
    return this.#kind !== UNSYNCED;
  }

  /** The connection is gone: what we have may grow old. */
  lose() {
    this.#kind = UNSYNCED;
  }

  /** What came without a tag was perhaps told to another listen, which has ended since. */
  distrust() {
    if (this.#kind !== WINDOW) this.#kind = UNSYNCED;
  }

  /** The server has no data for us; or it gave them, and this adds nothing. */
  confirm() {
    if (this.isSynced) return;
    this.root = null;
    this.#kind = this.#selection.isFiltering ? NOTHING : WHOLE;
  }

  /**
   * Take a push without a tag.
   *
   * @param {[string[], Root][]} changes where something is now what, in order
   * @param {(keys: string[]) => boolean} isForOthers whether another listen accounts for a change
   */
  takeUntagged(changes, isForOthers) {
    if (this.#kind === WINDOW) return;
    for (const [keys, node] of changes) {
      const shared = Math.min(keys.length, this.#keys.length);
      if (!startsEqual(keys, this.#keys, shared)) continue;
      if (shared === keys.length) {
        this.root = withNodeAt(this.root, [], nodeAt(node, this.#keys.slice(shared)));
        this.#kind = WHOLE;
      } else if (this.#kind === WHOLE || (this.#kind === NOTHING && !isForOthers(keys))) {
        this.root = withNodeAt(this.root, keys.slice(shared), node);
        this.#kind = WHOLE;
      }
    }
  }

  /**
   * Take a push with our tag.
   *
   * @param {[string[], Root][]} changes
   */
  takeTagged(changes) {
    for (const [keys, node] of changes) {
      if (!startsEqual(keys, this.#keys, this.#keys.length)) continue;
      this.#takeOwn(keys.slice(this.#keys.length), node);
    }
  }

  #takeOwn(below, node) {
    if (below.length === 0) {
      this.root = withNodeAt(this.root, [], node);
      this.#kind = WINDOW;
    } else if (this.isSynced) {
      if (this.#kind === WHOLE) this.root = this.#selection.windowOf(this.root);
      this.#kind = WINDOW;
      if (this.#isComplete(below)) this.root = withNodeAt(this.root, below, node);
    }
  }

  /** A part of a child that is not in the window would pass for the whole child. */
  #isComplete([key, ...rest]) {
    if (key === PRIORITY) return false; // a window has none
    return rest.length === 0 || nodeAt(this.root, [key]) !== null;
  }
}

/** Tell whether two paths have the same first keys. */
export function startsEqual(a, b, count) {
  if (a.length < count || b.length < count) return false;
  for (let index = 0; index < count; index += 1) if (a[index] !== b[index]) return false;
  return true;
}
