/** One socket from dialling to its end: greeting, frames, control messages, signs of life. */

import { TreeError } from './errors.js';
import { Heartbeat } from './heartbeat.js';
import { FrameReader, parseMessage, splitFrames } from './wire.js';

const HELLO_MS = 30 * 1000;

/**
 * @typedef {object} ConnectionEvents
 * @property {(hello: {time: number, session: string}) => void} onHello
 * @property {(message: object) => void} onMessage an answer or a push
 * @property {(end: End) => void} onEnd called once, unless close() was
 *
 * @typedef {object} End
 * @property {TreeError} error
 * @property {string} [host] the server asked us to go there
 * @property {boolean} [isFinal] the server asked us never to come back
 */

export class Connection {
  #socket;
  #events;
  #machine;
  #heartbeat;
  #reader = new FrameReader();
  #helloTimer;
  #isReady = false;

  /**
   * Dial.
   *
   * @param {new (url: string) => WebSocket} WebSocket
   * @param {string} url
   * @param {import('./machine.js').Machine} machine
   * @param {ConnectionEvents} events
   */
  constructor(WebSocket, url, machine, events) {
    this.#events = events;
    this.#machine = machine;
    this.#socket = new WebSocket(url);
    const onDead = () => this.#end('the server no longer answers');
    this.#heartbeat = new Heartbeat(machine, (frame) => this.#sendFrame(frame), onDead);
    const onSlow = () => this.#end(`the server sent no greeting within ${HELLO_MS / 1000} s`);
    this.#helloTimer = machine.setTimer(onSlow, HELLO_MS);
    this.#socket.onmessage = (event) => this.#receive(event.data);
    this.#socket.onclose = (event) => this.#end(describeClose(event, this.#isReady));
    this.#socket.onerror = () => {}; // a close event with the same news follows
  }

  /** Send one message, in as many frames as it takes. */
  send(message) {
    for (const frame of splitFrames(message)) this.#socket.send(frame);
    this.#heartbeat.sent();
  }

  /** Find out whether the server still answers; if not, the connection ends. */
  check() {
    if (this.#isReady) this.#heartbeat.check();
  }

  /** Close without further events. */
  close() {
    this.#machine.clearTimer(this.#helloTimer);
    this.#heartbeat.stop();
    const socket = this.#socket;
    socket.onmessage = null;
    socket.onclose = null;
    // Closing a socket that is still dialling reports an error; nobody is left to hear of it.
    socket.onerror = () => {};
    socket.close();
  }

  #sendFrame(frame) {
    this.#socket.send(frame);
    this.#heartbeat.sent();
  }

  #receive(frame) {
    this.#heartbeat.received();
    let message;
    try {
      message = this.#read(frame);
    } catch (error) {
      if (!(error instanceof TreeError)) throw error;
      this.#end(error.message);
      return;
    }
    if (message === null) return;
    if (message.kind === 'control') this.#control(message.type, message.data);
    else this.#events.onMessage(message);
  }

  #read(frame) {
    if (typeof frame !== 'string') {
      throw new TreeError('PROTOCOL_ERROR', 'the server sent a binary frame');
    }
    const text = this.#reader.push(frame);
    return text === null ? null : parseMessage(text);
  }

  #control(type, data) {
    const handler = Connection.#CONTROL.get(type);
    handler?.(this, data); // what the protocol may add one day is none of our business
  }

  #hello(data) {
    this.#machine.clearTimer(this.#helloTimer);
    this.#isReady = true;
    const time = typeof data?.ts === 'number' ? data.ts : this.#machine.now();
    this.#events.onHello({ time, session: String(data?.s ?? '') });
  }

  #end(problem, more = {}) {
    this.close();
    this.#events.onEnd({ error: new TreeError('DISCONNECTED', problem), ...more });
  }

  static #CONTROL = new Map([
    ['h', (connection, data) => connection.#hello(data)],
    ['r', (connection, host) => connection.#end(`the server sent us to ${host}`, { host })],
    ['s', (connection, why) => connection.#end(`shut down: ${why}`, { isFinal: true })],
    ['e', (_, text) => console.warn(`treedb: the server reports: ${text}`)],
  ]);
}

function describeClose(event, wasReady) {
  const what = wasReady ? 'the connection was closed' : 'the server cannot be reached';
  const reason = event?.reason ? `: ${event.reason}` : '';
  const code = event?.code ? ` (code ${event.code}${reason})` : '';
  return what + code;
}
