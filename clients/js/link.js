/**
 * Keeps one connection to the server alive: dials, waits, dials again.
 *
 *     connecting --greeting--> online --lost--> waiting --delay over, page awake--> connecting
 *
 * goOffline() leads to "offline" from anywhere and goOnline() back; "closed" is for good.
 */

import { socketUrl } from './address.js';
import { Backoff } from './backoff.js';
import { Connection } from './connection.js';
import { TreeError } from './errors.js';
import { findSocketClass } from './socket_class.js';

const MAX_MOVES = 5; // servers that send us round in a circle get no more before we take a rest

/**
 * @typedef {object} LinkState
 * @property {'connecting' | 'online' | 'waiting' | 'offline' | 'closed'} state
 * @property {number | null} retryAt when the next attempt is due, in milliseconds, while waiting
 * @property {TreeError | null} error why there is no connection, if something went wrong
 *
 * @typedef {object} LinkEvents
 * @property {(hello: {time: number, session: string}) => void} onHello the server may be spoken to
 * @property {(message: object) => void} onMessage
 * @property {() => void} onLost what was sent and not answered may or may not have arrived
 * @property {(state: LinkState) => void} onState
 */

export class Link {
  #address;
  #givenClass;
  #machine;
  #events;
  #backoff;
  #state = { state: 'offline', retryAt: null, error: null };
  #SocketClass = null;
  #connection = null;
  #session = null;
  #timer = null;
  #moves = 0;
  #unwatch = () => {};

  /**
   * @param {{scheme: string, host: string, namespace: string}} address
   * @param {(new (url: string) => WebSocket) | undefined} givenClass
   * @param {import('./machine.js').Machine} machine
   * @param {LinkEvents} events
   */
  constructor(address, givenClass, machine, events) {
    this.#address = address;
    this.#givenClass = givenClass;
    this.#machine = machine;
    this.#events = events;
    this.#backoff = new Backoff(machine.random);
  }

  get state() {
    return this.#state;
  }

  /** Connect, and keep connected until goOffline() or close(). */
  goOnline() {
    if (this.#state.state !== 'offline') return;
    this.#unwatch = this.#machine.watchNetwork({
      onAwake: () => this.#awake(),
      onOffline: () => this.#lost(new TreeError('DISCONNECTED', 'the machine is offline')),
    });
    this.#backoff.reset();
    this.#dial(this.#address, null);
  }

  goOffline() {
    if (this.#state.state !== 'closed') this.#leave('offline', null);
  }

  /** @param {TreeError | null} error why, if it was not asked for */
  close(error = null) {
    if (this.#state.state !== 'closed') this.#leave('closed', error);
  }

  /** Send one message; only between onHello and onLost. */
  send(message) {
    this.#connection.send(message);
  }

  /** Tell that the session is in place: sign-in done, listens and writes sent again. */
  online() {
    this.#enter('online', null, null);
  }

  /** Give this connection up and try again later. */
  retry(error) {
    this.#lost(error);
  }

  async #dial(address, error) {
    this.#enter('connecting', null, error);
    const entered = this.#state;
    try {
      this.#SocketClass ??= await findSocketClass(this.#givenClass);
      if (this.#state !== entered) return; // went offline while the class was being loaded
      this.#backoff.attempted(this.#machine.now());
      this.#connection = this.#connect(socketUrl(address, this.#session));
    } catch (problem) {
      // A browser refuses some addresses outright, such as ws: from a page of https:.
      this.#lost(new TreeError('DISCONNECTED', `cannot open a socket: ${problem.message}`));
    }
  }

  #connect(url) {
    return new Connection(this.#SocketClass, url, this.#machine, {
      onHello: (hello) => this.#hello(hello),
      onMessage: (message) => this.#events.onMessage(message),
      onEnd: (end) => this.#ended(end),
    });
  }

  #hello(hello) {
    this.#backoff.connected(this.#machine.now());
    this.#session = hello.session === '' ? null : hello.session;
    this.#events.onHello(hello);
  }

  #ended({ error, host, isFinal }) {
    if (isFinal) this.close(error);
    else if (typeof host === 'string') this.#move(host, error);
    else this.#lost(error);
  }

  #move(host, error) {
    this.#moves += 1;
    if (this.#moves > MAX_MOVES) {
      this.#lost(error);
      return;
    }
    this.#disconnect();
    // Only this once: the next time we begin where the application told us to.
    this.#dial({ ...this.#address, host }, error);
  }

  #lost(error) {
    if (this.#state.state !== 'connecting' && this.#state.state !== 'online') return;
    this.#disconnect();
    this.#moves = 0;
    const delay = this.#backoff.next(this.#machine.now());
    this.#timer = this.#machine.setTimer(() => this.#dial(this.#address, error), delay);
    this.#enter('waiting', this.#machine.now() + delay, error);
  }

  #awake() {
    if (this.#state.state === 'waiting') {
      this.#machine.clearTimer(this.#timer);
      this.#backoff.reset();
      this.#dial(this.#address, this.#state.error);
    } else {
      // After a sleep the connection may be dead without anybody having noticed.
      this.#connection?.check();
    }
  }

  #leave(state, error) {
    this.#machine.clearTimer(this.#timer);
    this.#unwatch();
    this.#disconnect();
    this.#enter(state, null, error);
  }

  #disconnect() {
    const connection = this.#connection;
    this.#connection = null;
    connection?.close();
    if (connection !== null) this.#events.onLost();
  }

  #enter(state, retryAt, error) {
    this.#state = Object.freeze({ state, retryAt, error });
    this.#events.onState(this.#state);
  }
}
