/**
 * The places that are listened to: one wire listen and one copy of the data for each place and
 * filter, however many callbacks there are.
 *
 * Between a lost connection and the next data the callbacks keep what they have heard.
 */

import { refusal } from './errors.js';
import { EventQueue } from './event_queue.js';
import { formatPath, splitPath } from './keys.js';
import { Listen, idOf, wireId } from './listen.js';
import { inMergeOrder, overlaps } from './pending.js';
import { EVERYTHING, idOfWire } from './selection.js';
import { parseNode, startsEqual } from './tree.js';

export class Places {
  /** @type {Map<string, Listen>} */
  #listens = new Map();
  #requests;
  #pending;
  #queue = new EventQueue();
  #send = null;
  #lastTag = 0;

  /**
   * @param {Pick<import('./requests.js').Requests, 'askOnce'>} requests
   * @param {import('./pending.js').PendingWrites} pending
   */
  constructor(requests, pending) {
    this.#requests = requests;
    this.#pending = pending;
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
   * Return what is known of a place, by any listen and by our own writes.
   *
   * @param {readonly string[]} keys
   * @param {import('./pending.js').Choice} [choice] which writes count
   * @returns {import('./tree.js').Node | null} null also if nothing is known
   */
  nodeAt(keys, choice) {
    const { root, isKnown } = this.#pending.over(keys, this.#knownAt(keys), choice);
    return isKnown ? root : null;
  }

  /**
   * Tell the callbacks what our own writes, or their end, have changed.
   *
   * @param {readonly (readonly string[])[]} paths what they concern
   */
  show(paths) {
    this.together(() => {
      for (const listen of [...this.#listens.values()]) {
        if (paths.some((keys) => overlaps(keys, listen.keys))) listen.update();
      }
    });
  }

  /**
   * Take what the server will do now that we are not connected.
   *
   * @param {import('./pending.js').Change[]} changes
   */
  presume(changes) {
    for (const { copy } of this.#listens.values()) copy.presume(changes);
    this.show(changes.map(([keys]) => keys));
  }

  /** Call the callbacks once the work is done, not in between. */
  together(work) {
    this.#queue.together(work);
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
      this.#apply(inMergeOrder(changes), body.t);
    } else if (action === 'c') {
      this.#revoke(formatPath(keys), body.q);
    }
  }

  #open(keys, selection) {
    this.#lastTag += 1;
    const context = { pending: this.#pending, queue: this.#queue };
    const listen = new Listen(keys, selection, this.#lastTag, context);
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
    const claim = listen.copy.claim();
    this.#requests.askOnce(this.#send, 'q', { ...listen.name, h: claim.hash }, (status, data) => {
      listen.isPending = false;
      if (this.#listens.get(listen.id) !== listen) return;
      if (status === 'ok') this.#confirm(listen, claim, data);
      else this.#cancel(listen, refusal(listen.description, status, data));
    });
  }

  #confirm(listen, claim, data) {
    if (Array.isArray(data?.w)) listen.warn(data.w);
    if (listen.copy.isSynced) return;
    // No data before the ok: the server has what we said we have.
    listen.copy.confirm(claim);
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
    this.together(() => {
      for (const listen of [...this.#listens.values()]) {
        const { copy } = listen;
        const { root, isSynced } = copy;
        if (tag === undefined) copy.takeUntagged(changes, (keys) => this.#isHeardElsewhere(keys));
        else if (tag === listen.tag) copy.takeTagged(changes);
        if (copy.isSynced && (copy.root !== root || !isSynced)) listen.update();
      }
    });
  }

  /** What the listens have told of a place; rather one that is up to date. */
  #knownAt(keys) {
    const found = { root: null, isKnown: false, isWindow: false };
    for (const { keys: place, copy } of this.#listens.values()) {
      if (!startsEqual(keys, place, place.length) || (found.isKnown && !copy.isSynced)) continue;
      const root = copy.nodeAt(keys.slice(place.length));
      if (root !== undefined) Object.assign(found, { root, isKnown: true });
    }
    return found;
  }

  /** Tell whether a listen to a whole place accounts for a push without a tag. */
  #isHeardElsewhere(keys) {
    return [...this.#listens.values()].some(
      ({ isFiltering, keys: place }) => !isFiltering && overlaps(keys, place),
    );
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
