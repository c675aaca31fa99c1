/**
 * One application's session with one database: the link, sign-in, and the data on it.
 *
 * On each new connection, in this order: sign in (and wait for the answer), listen again, send the
 * writes that wait. Signing in first means that no write is judged before the server knows whose
 * it is.
 */

import { guard } from './callbacks.js';
import { Data } from './data.js';
import { TreeError, refusal } from './errors.js';
import { Link } from './link.js';

/** @typedef {string | null | (() => string | null | Promise<string | null>)} Token */

export class Session {
  #link;
  #token;
  #onAuthError;
  #stateCallbacks = new Set();
  #greeted = null;

  /**
   * @param {{scheme: string, host: string, namespace: string}} address
   * @param {{token?: Token, WebSocket?: any, onAuthError: (error: TreeError) => void}} options
   * @param {import('./machine.js').Machine} machine
   */
  constructor(address, options, machine) {
    this.data = new Data(machine);
    this.#token = options.token ?? null;
    this.#onAuthError = options.onAuthError;
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

  async #hello({ time }) {
    this.data.setTime(time);
    const greeted = {};
    this.#greeted = greeted;
    if (this.#token !== null) {
      const proceed = await this.#signInFirst();
      // Lost, or lost and greeted anew, while we waited: the next greeting does it all again.
      if (!proceed || this.#greeted !== greeted) return;
    }
    this.data.attach((message) => this.#link.send(message));
    this.#link.online();
    this.data.setConnected();
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
      this.data.askOnce(send, action, body, (status, data) => {
        if (status === 'ok') resolve();
        else reject(refusal('sign in', status, data));
      });
    });
  }

  #message(message) {
    if (message.kind === 'answer') this.data.answer(message);
    else if (message.action === 'ac') this.#revoked(message.body);
    // A server in development says why it is about to deny something; nobody else is told.
    else if (message.action === 'sd') console.warn(`treedb: ${message.body.msg}`);
    else this.data.push(message.action, message.body);
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
    this.data.detach();
  }

  #state(state) {
    if (state.state === 'closed') this.data.close();
    for (const { callback } of [...this.#stateCallbacks]) guard(() => callback(state));
  }
}

async function fetchToken(token) {
  const fetched = typeof token === 'function' ? await token() : token;
  if (fetched === null || typeof fetched === 'string') return fetched;
  throw new TreeError('INVALID_ARGUMENT', `a token is a string or null, found ${typeof fetched}`);
}
