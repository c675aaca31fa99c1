/**
 * One application's session with one database: link, requests, listens and sign-in put together.
 *
 * On each new connection, in this order: sign in (and wait for the answer), listen again, send the
 * writes that wait. Signing in first means that no write is judged before the server knows whose
 * it is.
 */

import { guard } from './callbacks.js';
import { TreeError, refusal } from './errors.js';
import { formatPath } from './keys.js';
import { Link } from './link.js';
import { Places } from './places.js';
import { PushIds } from './push_id.js';
import { Requests } from './requests.js';
import { EVERYTHING } from './selection.js';
import { parseNode } from './tree.js';

/** @typedef {string | null | (() => string | null | Promise<string | null>)} Token */

export class Session {
  #machine;
  #link;
  #requests = new Requests();
  #places = new Places(this.#requests);
  #pushIds;
  #token;
  #onAuthError;
  #stateCallbacks = new Set();
  #greeted = null;

  /** Milliseconds to add to this machine's clock to get the server's. */
  timeOffset = 0;

  /**
   * @param {{scheme: string, host: string, namespace: string}} address
   * @param {{token?: Token, WebSocket?: any, onAuthError: (error: TreeError) => void}} options
   * @param {import('./machine.js').Machine} machine
   */
  constructor(address, options, machine) {
    this.#machine = machine;
    this.#token = options.token ?? null;
    this.#onAuthError = options.onAuthError;
    this.#pushIds = new PushIds(machine.randomDigits);
    this.#link = new Link(address, options.WebSocket, machine, {
      onHello: (hello) => this.#hello(hello),
      onMessage: (message) => this.#message(message),
      onLost: () => this.#lost(),
      onState: (state) => this.#state(state),
    });
  }

  goOnline() {
    this.#link.goOnline();
  }

  goOffline() {
    this.#link.goOffline();
  }

  close() {
    this.#link.close();
  }

  /** Make a key that sorts by time, by the server's clock as far as we know it. */
  pushId() {
    return this.#pushIds.next(Math.round(this.#machine.now() + this.timeOffset));
  }

  /**
   * Set a place; null removes it.
   *
   * @param {readonly string[]} keys
   * @param {unknown} value in wire form
   */
  async set(keys, value) {
    const path = formatPath(keys);
    await this.#ask('p', { p: path, d: value }, `set ${path}`);
  }

  /**
   * Write several places below one, all or none.
   *
   * @param {readonly string[]} keys
   * @param {Record<string, unknown>} values relative path to wire form
   */
  async update(keys, values) {
    const path = formatPath(keys);
    await this.#ask('m', { p: path, d: values }, `update ${path}`);
  }

  /** Read a selection of a place once; sees every write made before. */
  async get(keys, selection = EVERYTHING) {
    const path = formatPath(keys);
    const value = await this.#ask('g', { p: path, q: selection.toWire() }, `get ${path}`);
    return selection.windowOf(parseNode(value));
  }

  listen(keys, selection, registration) {
    this.#checkOpen(`listen to ${formatPath(keys)}`);
    return this.#places.listen(keys, selection, registration);
  }

  unlisten(keys, selection, which) {
    this.#places.unlisten(keys, selection, which);
  }

  /**
   * Act as somebody else from now on; null is nobody.
   *
   * @param {Token} token
   */
  async signIn(token) {
    this.#token = token;
    const greeted = this.#greeted;
    if (greeted === null) return; // the next connection begins with it
    const credential = await fetchToken(token);
    if (this.#greeted === greeted && this.#token === token) await this.#present(credential);
  }

  /** @param {(state: import('./link.js').LinkState) => void} callback */
  onState(callback) {
    const registration = { callback };
    this.#stateCallbacks.add(registration);
    queueMicrotask(() => {
      if (this.#stateCallbacks.has(registration)) guard(() => callback(this.#link.state));
    });
    return () => this.#stateCallbacks.delete(registration);
  }

  #ask(action, body, asked) {
    this.#checkOpen(asked);
    return this.#requests.ask(action, body, asked);
  }

  #checkOpen(asked) {
    if (this.#link.state.state === 'closed') {
      throw new TreeError('CLOSED', `${asked}: the database is closed`);
    }
  }

  async #hello({ time }) {
    this.timeOffset = time - this.#machine.now();
    const greeted = {};
    this.#greeted = greeted;
    if (this.#token !== null) {
      const proceed = await this.#signInFirst();
      // Lost, or lost and greeted anew, while we waited: the next greeting does it all again.
      if (!proceed || this.#greeted !== greeted) return;
    }
    const send = (message) => this.#link.send(message);
    this.#places.attach(send);
    this.#requests.attach(send);
    this.#link.online();
  }

  /** Sign in on a fresh connection; returns false when the connection should be given up. */
  async #signInFirst() {
    const greeted = this.#greeted;
    const given = this.#token;
    try {
      const credential = await fetchToken(given);
      if (this.#greeted !== greeted) return false;
      if (this.#token !== given) return this.#signInFirst(); // somebody else meanwhile
      if (credential !== null) await this.#present(credential);
      return true;
    } catch (error) {
      guard(() => this.#onAuthError(error));
      if (typeof given !== 'function') {
        this.#token = null; // it will not get better: go on as nobody, the rules decide
        return true;
      }
      if (this.#greeted === greeted) this.#link.retry(error);
      return false;
    }
  }

  #present(credential) {
    return new Promise((resolve, reject) => {
      const [action, body] = credential === null ? ['unauth', {}] : ['auth', { cred: credential }];
      const send = (message) => this.#link.send(message);
      this.#requests.askOnce(send, action, body, (status, data) => {
        if (status === 'ok') resolve();
        else reject(refusal('sign in', status, data));
      });
    });
  }

  #message(message) {
    if (message.kind === 'answer') this.#requests.answer(message);
    else if (message.action === 'ac') this.#revoked(message.body);
    // A server in development says why it is about to deny something; nobody else is told.
    else if (message.action === 'sd') console.warn(`treedb: ${message.body.msg}`);
    else this.#places.push(message.action, message.body);
  }

  /** The server no longer honours our token: come back with a fresh one, or with none. */
  #revoked({ s: status = 'expired_token', d: reason }) {
    const error = refusal('sign in', status, reason);
    guard(() => this.#onAuthError(error));
    if (typeof this.#token !== 'function') this.#token = null;
    this.#link.retry(error);
  }

  #lost() {
    this.#greeted = null;
    this.#requests.detach();
    this.#places.detach();
  }

  #state(state) {
    if (state.state === 'closed') {
      this.#requests.close();
      this.#places.close();
    }
    for (const { callback } of [...this.#stateCallbacks]) guard(() => callback(state));
  }
}

async function fetchToken(token) {
  const fetched = typeof token === 'function' ? await token() : token;
  if (fetched === null || typeof fetched === 'string') return fetched;
  throw new TreeError('INVALID_ARGUMENT', `a token is a string or null, found ${typeof fetched}`);
}
