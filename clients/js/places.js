/**
 * The places that are listened to: one wire listen and one copy of the data each, however many
 * callbacks there are.
 *
 * A place is *synced* when its copy follows the server: the initial data came on this connection.
 * It is *known* once it was ever synced; between a lost connection and the next initial data the
 * callbacks keep what they have heard. While its listen is unanswered it is *pending*.
 */

import { guard } from './callbacks.js';
import { refusal } from './errors.js';
import { formatPath } from './keys.js';
import { nodeAt, parseNode, withNodeAt } from './tree.js';

const UNHEARD = Symbol('unheard');

/**
 * @typedef {object} Registration
 * @property {(node: import('./tree.js').Node | null) => void} onNode
 * @property {(error: import('./errors.js').TreeError) => void} onError
 * @property {unknown} heard the node last given to it
 */

class Place {
  root = null;
  isKnown = false;
  isSynced = false;
  isPending = false;
  /** @type {Set<Registration>} */
  registrations = new Set();

  constructor(keys) {
    this.keys = keys;
    this.path = formatPath(keys);
  }
}

export class Places {
  #places = new Map();
  #requests;
  #send = null;

  /** @param {import('./requests.js').Requests} requests */
  constructor(requests) {
    this.#requests = requests;
  }

  /**
   * Listen to a place; the callbacks are never called before this returns.
   *
   * @param {readonly string[]} keys
   * @param {(node: import('./tree.js').Node | null) => void} onNode
   * @param {(error: Error) => void} onError called once, if the server refuses or revokes
   * @returns {() => void} ends it
   */
  listen(keys, onNode, onError) {
    const place = this.#places.get(formatPath(keys)) ?? this.#open(keys);
    const registration = { onNode, onError, heard: UNHEARD };
    place.registrations.add(registration);
    queueMicrotask(() => deliver(place, registration));
    return () => {
      if (!place.registrations.delete(registration)) return;
      if (place.registrations.size === 0) this.#forget(place);
    };
  }

  /** End every listen at exactly this place. */
  unlisten(keys) {
    const place = this.#places.get(formatPath(keys));
    if (place === undefined) return;
    place.registrations.clear();
    this.#forget(place);
  }

  /**
   * Listen to every place again, on a new connection.
   *
   * @param {(message: string) => void} send
   */
  attach(send) {
    this.#send = send;
    for (const place of this.#places.values()) this.#sendListen(place);
  }

  /** The connection is gone: what we have may grow old. */
  detach() {
    this.#send = null;
    for (const place of this.#places.values()) {
      place.isSynced = false;
      place.isPending = false;
    }
  }

  /** Forget every place. */
  close() {
    this.detach();
    for (const place of this.#places.values()) place.registrations.clear();
    this.#places.clear();
  }

  /**
   * Take a push: "d" says what a place is now, "m" what some places below it are, "c" revokes.
   *
   * @param {string} action
   * @param {{p?: string, d?: any, q?: unknown}} body
   */
  push(action, body) {
    const keys = splitPath(body.p ?? '');
    if (action === 'd') {
      this.#apply([[keys, parseNode(body.d)]]);
    } else if (action === 'm') {
      const below = Object.entries(body.d ?? {});
      this.#apply(below.map(([path, value]) => [[...keys, ...splitPath(path)], parseNode(value)]));
    } else if (action === 'c' && body.q === undefined) {
      const place = this.#places.get(formatPath(keys));
      if (place !== undefined) this.#cancel(place, refusal(`listen to ${place.path}`, ...REVOKED));
    }
  }

  #open(keys) {
    const place = new Place(keys);
    this.#places.set(place.path, place);
    if (this.#send !== null) this.#sendListen(place);
    return place;
  }

  #forget(place) {
    // Another listen may have opened the place anew since this one was cancelled.
    if (this.#places.get(place.path) !== place) return;
    this.#places.delete(place.path);
    if (this.#send === null) return;
    this.#requests.askOnce(this.#send, 'n', { p: place.path }, () => this.#distrustPending());
  }

  #sendListen(place) {
    place.isPending = true;
    this.#requests.askOnce(this.#send, 'q', { p: place.path, h: '' }, (status, data) => {
      place.isPending = false;
      if (this.#places.get(place.path) !== place) return;
      if (status !== 'ok') this.#cancel(place, refusal(`listen to ${place.path}`, status, data));
      // No data before the ok: the server has what we said we have, which is nothing.
      else if (!place.isSynced) this.#update(place, null);
    });
  }

  /**
   * A listen has ended. What it told about a place whose own listen is still to be answered may be
   * out of date by then: without data before its `ok`, that place is empty.
   */
  #distrustPending() {
    for (const place of this.#places.values()) if (place.isPending) place.isSynced = false;
  }

  #apply(changes) {
    for (const place of this.#places.values()) {
      let { root, isSynced } = place;
      for (const [keys, node] of changes) {
        const shared = Math.min(keys.length, place.keys.length);
        if (!startsEqual(keys, place.keys, shared)) continue;
        if (shared === keys.length) {
          root = withNodeAt(root, [], nodeAt(node, place.keys.slice(shared)));
          isSynced = true;
        } else if (isSynced) {
          root = withNodeAt(root, keys.slice(shared), node);
        }
      }
      if (isSynced && (root !== place.root || !place.isSynced)) this.#update(place, root);
    }
  }

  #update(place, root) {
    place.root = root;
    place.isKnown = true;
    place.isSynced = true;
    for (const registration of [...place.registrations]) deliver(place, registration);
  }

  #cancel(place, error) {
    this.#places.delete(place.path);
    this.#distrustPending();
    const registrations = [...place.registrations];
    place.registrations.clear();
    for (const { onError } of registrations) guard(() => onError(error));
  }
}

const REVOKED = ['permission_denied', 'this place may no longer be read'];

function deliver(place, registration) {
  if (!place.isKnown || !place.registrations.has(registration)) return;
  if (registration.heard === place.root) return;
  registration.heard = place.root;
  guard(() => registration.onNode(place.root));
}

function splitPath(path) {
  return path.split('/').filter((key) => key !== '');
}

function startsEqual(a, b, count) {
  for (let index = 0; index < count; index += 1) if (a[index] !== b[index]) return false;
  return true;
}
