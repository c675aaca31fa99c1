/**
 * Keeps a quiet connection open and finds out when it is dead.
 *
 * After 45 s without traffic either way a keep-alive frame goes out, so that nothing between the
 * two ends forgets the connection. A browser never sees the server's own pings: when nothing has
 * come in for two such periods, or when somebody asks, a ping goes out that must be answered.
 */

import { KEEP_ALIVE, PING } from './wire.js';

const QUIET_MS = 45 * 1000;
const DOUBT_MS = 2 * QUIET_MS;
const ANSWER_MS = 10 * 1000;

export class Heartbeat {
  #machine;
  #send;
  #onDead;
  #receivedAt;
  #quietTimer = null;
  #answerTimer = null;

  /**
   * @param {import('./machine.js').Machine} machine
   * @param {(frame: string) => void} send
   * @param {() => void} onDead called when a ping was not answered in 10 s
   */
  constructor(machine, send, onDead) {
    this.#machine = machine;
    this.#send = send;
    this.#onDead = onDead;
    this.#receivedAt = machine.now();
  }

  /** Stop every timer; nothing is sent any more. */
  stop() {
    this.#machine.clearTimer(this.#quietTimer);
    this.#machine.clearTimer(this.#answerTimer);
  }

  /** Note that something went out. */
  sent() {
    this.#restartQuiet();
  }

  /** Note that something came in: the server lives. */
  received() {
    this.#receivedAt = this.#machine.now();
    this.#machine.clearTimer(this.#answerTimer);
    this.#answerTimer = null;
    this.#restartQuiet();
  }

  /** Find out now whether the server still answers. */
  check() {
    if (this.#answerTimer !== null) return;
    this.#answerTimer = this.#machine.setTimer(this.#onDead, ANSWER_MS);
    this.#send(PING);
  }

  #restartQuiet() {
    this.#machine.clearTimer(this.#quietTimer);
    this.#quietTimer = this.#machine.setTimer(() => this.#quiet(), QUIET_MS);
  }

  #quiet() {
    this.#restartQuiet();
    if (this.#machine.now() - this.#receivedAt >= DOUBT_MS) this.check();
    else this.#send(KEEP_ALIVE);
  }
}
