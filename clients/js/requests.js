/**
 * Requests and their answers, across reconnects.
 *
 * A lasting request (a write, a read) waits while there is no connection, is sent in the order it
 * was made, and is sent again if the connection was lost before its answer. Hence a write may
 * happen twice: the protocol has no name for a write by which a server could tell.
 */

import { TreeError, refusal } from './errors.js';
import { formatRequest } from './wire.js';

const MAX_BODY_BYTES = 16 * 1024 * 1024 - 64; // what a server takes in one message, less the head

/**
 * @typedef {object} Request
 * @property {string} action
 * @property {string} body JSON text
 * @property {(status: string, data: unknown) => void} onAnswer
 */

export class Requests {
  #lasting = new Set();
  #unanswered = new Map();
  #lastNumber = 0;
  #send = null;

  /**
   * Make a lasting request.
   *
   * @param {string} action
   * @param {object} body
   * @param {string} asked what is asked, for the error's sentence
   * @param {(isGranted: boolean) => void} [onAnswered] called with the answer, before the next
   *   message is looked at; the promise settles later
   * @returns {Promise<unknown>} the answer's data; rejected with a TreeError when refused
   * @throws {TreeError} at once, if it is too big to be sent
   */
  ask(action, body, asked, onAnswered = () => {}) {
    // Written out at once: the caller may change its value while the request waits.
    const text = JSON.stringify(body);
    checkSize(text, asked);
    return new Promise((resolve, reject) => {
      const onAnswer = (status, data) => {
        this.#lasting.delete(request);
        onAnswered(status === 'ok');
        if (status === 'ok') resolve(data);
        else reject(refusal(asked, status, data));
      };
      const request = { action, body: text, onAnswer, reject };
      this.#lasting.add(request);
      if (this.#send !== null) this.#sendRequest(this.#send, request);
    });
  }

  /**
   * Make a request that concerns this connection alone and is forgotten with it.
   *
   * @param {(message: string) => void} send
   * @param {string} action
   * @param {object} body
   * @param {(status: string, data: unknown) => void} onAnswer
   */
  askOnce(send, action, body, onAnswer) {
    this.#sendRequest(send, { action, body: JSON.stringify(body), onAnswer });
  }

  /**
   * Send what waits, and from now on send at once.
   *
   * @param {(message: string) => void} send
   */
  attach(send) {
    this.#send = send;
    for (const request of this.#lasting) this.#sendRequest(send, request);
  }

  /** Keep lasting requests for the next connection; forget the others. */
  detach() {
    this.#send = null;
    this.#unanswered.clear();
  }

  /** Take an answer. */
  answer({ number, status, data }) {
    const request = this.#unanswered.get(number);
    this.#unanswered.delete(number);
    request?.onAnswer(status, data);
  }

  /** Reject everything that waits. */
  close() {
    this.detach();
    for (const { reject } of this.#lasting) {
      reject(new TreeError('CLOSED', 'the database was closed before the server answered'));
    }
    this.#lasting.clear();
  }

  #sendRequest(send, request) {
    this.#lastNumber += 1;
    this.#unanswered.set(this.#lastNumber, request);
    send(formatRequest(this.#lastNumber, request.action, request.body));
  }
}

/** Refuse what the server would not take. */
export function checkSize(text, asked) {
  // A text has at most three bytes for each unit: only a long one needs to be measured.
  if (text.length * 3 <= MAX_BODY_BYTES) return;
  const bytes = new TextEncoder().encode(text).length;
  if (bytes <= MAX_BODY_BYTES) return;
  // The server would close the connection, and we would send it again, for ever.
  const sentence = `${asked}: has ${bytes} bytes, at most ${MAX_BODY_BYTES} fit in one request`;
  throw new TreeError('TOO_BIG', sentence);
}
