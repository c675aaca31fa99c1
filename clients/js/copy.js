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

import { nodeHash } from './hash.js';
import { afterChange, isComplete } from './pending.js';
import { nodeAt, startsEqual, withNodeAt } from './tree.js';

/** @typedef {import('./tree.js').Node | null} Root */
/** @typedef {{root: Root, kind: string, hash: string}} Claim what we say that we have */

// What the copy is.
const UNKNOWN = 'unknown'; // no data came, ever
const WHOLE = 'whole';
const WINDOW = 'window';
const NOTHING = 'nothing'; // the window is empty, and the server has not shown how it tells

export class Copy {
  /** @type {Root} kept when the connection is lost: the listeners have heard of it */
  root = null;
  #keys;
  #selection;
  #kind = UNKNOWN;
  #isSynced = false;

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
    return this.#isSynced;
  }

  /** What it tells of the place, old as it may be: see pending.js. */
  get known() {
    const isWindow = this.#kind === WINDOW || this.#kind === NOTHING;
    return { root: this.root, isKnown: this.#kind !== UNKNOWN, isWindow };
  }

  /**
   * Return what it tells of a place below; undefined if nothing.
   *
   * @param {readonly string[]} below
   * @returns {Root | undefined}
   */
  nodeAt(below) {
    const { root, isKnown, isWindow } = this.known;
    if (!isKnown || (isWindow && (below.length === 0 || nodeAt(root, [below[0]]) === null))) {
      return undefined;
    }
    return nodeAt(root, below);
  }

  /** The connection is gone: what we have may grow old. */
  lose() {
    this.#isSynced = false;
  }

  /** What came without a tag was perhaps told to another listen, which has ended since. */
  distrust() {
    if (this.#kind !== WINDOW) this.#isSynced = false;
  }

  /**
   * Say what we have, so that the server need not send it again.
   *
   * @returns {Claim}
   */
  claim() {
    const { isFiltering } = this.#selection;
    // Of the whole of a place, the server of a filtered listen would know no hash.
    const isComparable = this.#kind === WINDOW || (this.#kind === WHOLE && !isFiltering);
    if (!isComparable || this.root === null) {
      return { root: null, kind: isFiltering ? NOTHING : WHOLE, hash: '' };
    }
    return { root: this.root, kind: this.#kind, hash: nodeHash(this.root) };
  }

  /**
   * The server has what we said we have; or it gave us data, and this adds nothing.
   *
   * @param {Claim} claim
   */
  confirm({ root, kind }) {
    if (this.#isSynced) return;
    this.root = root;
    this.#kind = kind;
    this.#isSynced = true;
  }

  /**
   * Take a push without a tag.
   *
   * @param {[string[], Root][]} changes where something is now what, in order
   * @param {(keys: string[]) => boolean} isForOthers whether another listen accounts for a change
   */
  takeUntagged(changes, isForOthers) {
    if (this.#isSynced && this.#kind === WINDOW) return;
    for (const [keys, node] of changes) {
      const shared = Math.min(keys.length, this.#keys.length);
      if (!startsEqual(keys, this.#keys, shared)) continue;
      if (shared === keys.length) {
        this.#take([], nodeAt(node, this.#keys.slice(shared)), WHOLE);
      } else if (this.#isSynced && (this.#kind === WHOLE || !isForOthers(keys))) {
        this.#take(keys.slice(shared), node, WHOLE);
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

  /**
   * Take what the server will do without telling us, since we are not connected.
   *
   * @param {[readonly string[], Root][]} changes
   */
  presume(changes) {
    let { known } = this;
    for (const change of changes) known = afterChange(known, this.#keys, change);
    this.root = known.root;
    if (known.isKnown && !known.isWindow) this.#kind = WHOLE;
  }

  #takeOwn(below, node) {
    if (below.length === 0) {
      this.#take([], node, WINDOW);
    } else if (this.#isSynced) {
      if (this.#kind === WHOLE) this.root = this.#selection.windowOf(this.root);
      this.#kind = WINDOW;
      if (isComplete(this.root, below)) this.#take(below, node, WINDOW);
    }
  }

  #take(below, node, kind) {
    this.root = withNodeAt(this.root, below, node);
    this.#kind = kind;
    this.#isSynced = true;
  }
}
