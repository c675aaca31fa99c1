/** One database of a server, as an application sees it. */

import { parseAddress } from './address.js';
import { TreeError } from './errors.js';
import { parsePlace } from './keys.js';
import { SYSTEM } from './machine.js';
import { Reference } from './reference.js';
import { Session } from './session.js';

/**
 * Connect to a database; returns at once, requests wait for the connection.
 *
 * @param {string | URL} url as in "https://db.example.org" or "http://localhost:9000?ns=demo"
 * @param {object} [options]
 * @param {string} [options.namespace] which of the server's databases
 * @param {import('./session.js').Token} [options.token] who asks: a token, or a function that
 *   fetches one and is called for each connection
 * @param {(error: TreeError) => void} [options.onAuthError] hears of tokens that are refused
 * @param {new (url: string) => WebSocket} [options.WebSocket] instead of the platform's
 * @returns {Database}
 */
export function connect(url, options = {}) {
  return openDatabase(url, options, SYSTEM);
}

/**
 * Connect, with the clock, chance and network news of one's own.
 *
 * @param {string | URL} url
 * @param {object} options as for connect
 * @param {import('./machine.js').Machine} machine
 */
export function openDatabase(url, options, machine) {
  const address = parseAddress(url, options.namespace);
  const session = new Session(address, { onAuthError: warn, ...options }, machine);
  session.goOnline();
  return new Database(session);
}

export class Database {
  #session;

  /** @param {Session} session */
  constructor(session) {
    this.#session = session;
  }

  /** Milliseconds to add to Date.now() to get the server's time. */
  get serverTimeOffset() {
    return this.#session.data.timeOffset;
  }

  /** @param {string} [path] as in "/rooms/one" or ".info/connected"; the root when left out */
  ref(path = '/') {
    return new Reference(this, this.#session.data, parsePlace(path));
  }

  /** Disconnect and stay so; writes show and wait, listens keep what they have. */
  goOffline() {
    this.#session.goOffline();
  }

  goOnline() {
    this.#session.goOnline();
  }

  /** Disconnect for good: what waits is rejected, listens end. */
  close() {
    this.#session.close();
  }

  /**
   * Act as somebody else from now on.
   *
   * @param {import('./session.js').Token} token null is nobody
   */
  async signIn(token) {
    await this.#session.signIn(token);
  }

  /**
   * Call back with the state of the connection, now and after each change.
   *
   * @param {(state: import('./link.js').LinkState) => void} callback
   * @returns {() => void} ends it
   */
  onConnection(callback) {
    if (typeof callback !== 'function') {
      throw new TreeError('INVALID_ARGUMENT', 'onConnection takes a function');
    }
    return this.#session.onState(callback);
  }
}

function warn(error) {
  console.warn(`treedb: ${error.message}`);
}
