/**
 * The places that are listened to: one wire listen and one copy of the data for each place and
 * filter, however many callbacks there are.
 *
 * Between a lost connection and the next data the callbacks keep what they have heard.
 */

import { startsEqual } from './copy.js';
import { refusal } from './errors.js';
import { PRIORITY, formatPath } from './keys.js';
import { Listen, idOf, wireId } from './listen.js';
import { EVERYTHING, idOfWire } from './selection.js';
import { parseNode } from './tree.js';

export class Places {
  /** @type {Map<string, Listen>} */
  #listens = new Map();
  #requests;
  #send = null;
  #lastTag = 0;

  /** @param {import('./requests.js').Requests} requests */
  constructor(requests) {
    this.#requests = requests;
  }

  /**
   * Listen to a selection of a place; the callbacks are never called before this returns.
   *
   * @param {readonly string[]} keys
   * @param {import('./selection.js').Selection} selection
   * @param {import('./view.js').Registration} registration
   * @returns {() => void} ends it
   */
  listen(keys, selection, registration) {
    const listen = this.#listens.get(idOf(keys, selection)) ?? this.#open(keys, selection);
    listen.add(selection, registration);
    return () => {
      if (listen.remove(selection, registration) && listen.isEmpty) this.#forget(listen);
    };
  }

  /**
   * End callbacks for a selection of a place; for the whole place in the default order that is all
   * callbacks of the place, whatever they select of it.
   *
   * @param {readonly string[]} keys
   * @param {import('./selection.js').Selection} selection
   * @param {{event?: string, callback?: Function}} which of them; all, if neither is named
   */
  unlisten(keys, selection, which) {
    const path = formatPath(keys);
    const selectionId = selection.id === EVERYTHING.id ? undefined : selection.id;
    for (const listen of [...this.#listens.values()].filter((each) => each.path === path)) {
      listen.off(which, selectionId);
      if (listen.isEmpty) this.#forget(listen);
    }
  }

  /**
   * Listen to every place again, on a new connection.
   *
   * @param {(message: string) => void} send
   */
  attach(send) {
    this.#send = send;
    for (const listen of this.#listens.values()) this.#sendListen(listen);
  }

  /** The connection is gone: what we have may grow old. */
  detach() {
    this.#send = null;
    for (const listen of this.#listens.values()) {
      listen.copy.lose();
      listen.isPending = false;
    }
  }

  /** Forget every place. */
  close() {
    this.detach();
    for (const listen of this.#listens.values()) listen.close();
    this.#listens.clear();
  }

  /**
   * Take a push: "d" says what a place is now, "m" what some places below it are, "c" revokes.
   *
   * @param {string} action
   * @param {{p?: string, d?: any, q?: object[], t?: number}} body
   */
  push(action, body) {
    const keys = splitPath(body.p ?? '');
    if (action === 'd') {
      this.#apply([[keys, parseNode(body.d)]], body.t);
    } else if (action === 'm') {
      const below = Object.entries(body.d ?? {});
      const changes = below.map(([path, value]) => [
        [...keys, ...splitPath(path)],
        parseNode(value),
      ]);
      this.#apply(changes.sort(byRank), body.t);
    } else if (action === 'c') {
      this.#revoke(formatPath(keys), body.q);
    }
  }

  #open(keys, selection) {
    this.#lastTag += 1;
    const listen = new Listen(keys, selection, this.#lastTag);
    this.#listens.set(listen.id, listen);
    if (this.#send !== null) this.#sendListen(listen);
    return listen;
  }

  #forget(listen) {
    // Another listen may have taken its place since this one was cancelled.
    if (this.#listens.get(listen.id) !== listen) return;
    this.#listens.delete(listen.id);
    if (this.#send === null) return;
    this.#requests.askOnce(this.#send, 'n', listen.name, () => this.#distrustPending());
  }

  #sendListen(listen) {
    listen.isPending = true;
    this.#requests.askOnce(this.#send, 'q', { ...listen.name, h: '' }, (status, data) => {
      listen.isPending = false;
      if (this.#listens.get(listen.id) !== listen) return;
      if (status === 'ok') this.#confirm(listen, data);
      else this.#cancel(listen, refusal(listen.description, status, data));
    });
  }

  #confirm(listen, data) {
    if (Array.isArray(data?.w)) listen.warn(data.w);
    if (listen.copy.isSynced) return;
    // No data before the ok: the server has what we said we have, which is nothing.
    listen.copy.confirm();
    listen.update();
  }

  /**
   * A listen has ended. What it told about a place whose own listen is still to be answered may be
   * out of date by then: without data before its `ok`, that place is empty.
   */
  #distrustPending() {
    for (const listen of this.#listens.values()) if (listen.isPending) listen.copy.distrust();
  }

  #apply(changes, tag) {
    for (const listen of [...this.#listens.values()]) {
      const { copy } = listen;
      const { root, isSynced } = copy;
      if (tag === undefined) copy.takeUntagged(changes, (keys) => this.#isHeardElsewhere(keys));
      else if (tag === listen.tag) copy.takeTagged(changes);
      if (copy.isSynced && (copy.root !== root || !isSynced)) listen.update();
    }
  }

  /** Tell whether a listen to a whole place accounts for a push without a tag. */
  #isHeardElsewhere(keys) {
    for (const { isFiltering, keys: place } of this.#listens.values()) {
      const shared = Math.min(keys.length, place.length);
      if (!isFiltering && startsEqual(keys, place, shared)) return true;
    }
    return false;
  }

  #revoke(path, queries) {
    const ids = queries === undefined ? [''] : queries.map(idOfWire);
    for (const id of ids) {
      const listen = this.#listens.get(wireId(path, id));
      if (listen !== undefined) this.#cancel(listen, refusal(listen.description, ...REVOKED));
    }
  }

  #cancel(listen, error) {
    this.#listens.delete(listen.id);
    this.#distrustPending();
    listen.fail(error);
  }
}

const REVOKED = ['permission_denied', 'this place may no longer be read'];

/**
 * A merge is one change, without states in between: values come first, then removals, which thus
 * empty only what is empty in the end, and then priorities, which a node must exist to have.
 */
function byRank(a, b) {
  return rankOf(a) - rankOf(b);
}

function rankOf([keys, node]) {
  if (keys.at(-1) === PRIORITY) return 2;
  return node === null ? 1 : 0;
}

function splitPath(path) {
  return path.split('/').filter((key) => key !== '');
}
