/**
 * The words of Firebase's realtime protocol, version 5: text frames and the messages in them.
 *
 * A message is a JSON text. One of more than 16,384 UTF-16 units travels as a frame holding the
 * number of its pieces, then the pieces:
 *
 *     message   {"t":"d",......and so on......}}}
 *     frames    3 | {"t":"d",... | ...and so on... | ...}}}
 */

import { TreeError } from './errors.js';

export const KEEP_ALIVE = '0';
export const PING = '{"t":"c","d":{"t":"p","d":{}}}';

const MAX_FRAME_UNITS = 16384;
const COUNT = /^[0-9]{1,6}$/;

/**
 * Cut a message into the frames that carry it.
 *
 * @param {string} message
 * @returns {string[]}
 */
export function splitFrames(message) {
  if (message.length <= MAX_FRAME_UNITS) return [message];
  const pieces = [];
  for (let start = 0; start < message.length;) {
    const end = pieceEnd(message, start);
    pieces.push(message.slice(start, end));
    start = end;
  }
  return [String(pieces.length), ...pieces];
}

/** Joins the frames of one connection to messages. */
export class FrameReader {
  #missing = 0;
  #pieces = [];

  /**
   * Take one frame; return the message it completes, or null.
   *
   * @param {string} frame
   * @returns {string | null}
   */
  push(frame) {
    if (this.#missing === 0) {
      if (!COUNT.test(frame)) return frame;
      this.#missing = Number(frame);
      return null;
    }
    this.#pieces.push(frame);
    this.#missing -= 1;
    if (this.#missing > 0) return null;
    const message = this.#pieces.join('');
    this.#pieces = [];
    return message;
  }
}

/**
 * Write a request.
 *
 * @param {number} number
 * @param {string} action
 * @param {string} body JSON text
 */
export function formatRequest(number, action, body) {
  return `{"t":"d","d":{"r":${number},"a":"${action}","b":${body}}}`;
}

/**
 * Read a message of the server.
 *
 * @param {string} text
 * @returns {{kind: 'control', type: string, data: any}
 *   | {kind: 'answer', number: number, status: string, data: any}
 *   | {kind: 'push', action: string, body: any}}
 */
export function parseMessage(text) {
  const envelope = parseJson(text);
  const content = envelope?.d;
  if (envelope?.t === 'c' && typeof content?.t === 'string') {
    return { kind: 'control', type: content.t, data: content.d };
  }
  if (envelope?.t === 'd' && typeof content?.r === 'number') {
    const { s: status, d: data } = content.b ?? {};
    return { kind: 'answer', number: content.r, status: String(status), data };
  }
  if (envelope?.t === 'd' && typeof content?.a === 'string') {
    return { kind: 'push', action: content.a, body: content.b ?? {} };
  }
  throw new TreeError('PROTOCOL_ERROR', `the server sent an unknown message: ${head(text)}`);
}

function pieceEnd(message, start) {
  const end = start + MAX_FRAME_UNITS;
  if (end >= message.length) return message.length;
  const last = message.charCodeAt(end - 1);
  // A piece that ended between the halves of a pair would not be valid UTF-8.
  return last >= 0xd800 && last <= 0xdbff ? end - 1 : end;
}

function parseJson(text) {
  try {
    return JSON.parse(text);
  } catch {
    throw new TreeError('PROTOCOL_ERROR', `the server sent text that is not JSON: ${head(text)}`);
  }
}

function head(text) {
  return text.length > 80 ? `${text.slice(0, 80)}...` : text;
}
