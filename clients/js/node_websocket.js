/**
 * A WebSocket client for Node versions without one of their own: as much of the browser's class
 * as this package uses (onopen, onmessage, onclose, onerror, send, close), text messages only.
 */

import { createHash, randomBytes } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';

import {
  CLOSE,
  FrameError,
  MessageParser,
  PING,
  PONG,
  TEXT,
  encodeFrame,
} from './websocket_frames.js';

const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;
const CLOSE_MS = 5000;
const ACCEPT_SUFFIX = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'; // RFC 6455, section 1.3
const ABNORMAL = 1006; // RFC 6455, section 7.4.1: no close frame came

export class NodeWebSocket {
  onopen = null;
  onmessage = null;
  onclose = null;
  onerror = null;
  #parser = new MessageParser(MAX_MESSAGE_BYTES);
  #decoder = new TextDecoder('utf-8', { fatal: true });
  #request;
  #socket = null;
  #isClosing = false;
  #isOver = false;
  #closeTimer = null;
  #ending = { code: ABNORMAL, reason: '' };

  /** @param {string} url of the scheme ws: or wss: */
  constructor(url) {
    const target = new URL(url);
    const isSecure = target.protocol === 'wss:';
    target.protocol = isSecure ? 'https:' : 'http:';
    const key = randomBytes(16).toString('base64');
    const headers = {
      Connection: 'Upgrade',
      Upgrade: 'websocket',
      'Sec-WebSocket-Version': '13',
      'Sec-WebSocket-Key': key,
    };
    const send = isSecure ? httpsRequest : httpRequest;
    this.#request = send(target, { headers });
    this.#request.on('upgrade', (response, socket, head) => {
      this.#upgraded(response, socket, head, key);
    });
    this.#request.on('response', (response) => {
      this.#fail(new Error(`the server answered ${response.statusCode} instead of upgrading`));
    });
    this.#request.on('error', (error) => this.#fail(error));
    this.#request.end();
  }

  /** @param {string} text */
  send(text) {
    if (this.#socket !== null && !this.#isClosing) this.#write(TEXT, Buffer.from(text));
  }

  close(code = 1000, reason = '') {
    if (this.#isClosing || this.#isOver) return;
    this.#isClosing = true;
    if (this.#socket === null) {
      this.#fail(new Error('closed before it was open'));
      return;
    }
    this.#write(CLOSE, closePayload(code, reason));
    // A server that does not answer must not keep the process alive.
    this.#closeTimer = setTimeout(() => this.#over(), CLOSE_MS);
    this.#closeTimer.unref();
  }

  #upgraded(response, socket, head, key) {
    const expected = createHash('sha1')
      .update(key + ACCEPT_SUFFIX)
      .digest('base64');
    this.#socket = socket;
    if (response.headers['sec-websocket-accept'] !== expected) {
      this.#fail(new Error('the server did not accept the WebSocket handshake'));
      return;
    }
    socket.setNoDelay(true);
    socket.setTimeout(0);
    socket.on('data', (bytes) => this.#receive(bytes));
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => this.#over());
    this.onopen?.({});
    if (head.length > 0) this.#receive(head);
  }

  #receive(bytes) {
    try {
      for (const { opcode, payload } of this.#parser.push(bytes)) {
        if (this.#isOver) return;
        this.#handle(opcode, payload);
      }
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      this.#ending = { code: error.closeCode, reason: error.message };
      this.#write(CLOSE, closePayload(error.closeCode, error.message));
      this.#over();
    }
  }

  #handle(opcode, payload) {
    if (opcode === TEXT) this.#message(payload);
    else if (opcode === PING) this.#write(PONG, payload);
    else if (opcode === CLOSE) this.#closed(payload);
    else if (opcode !== PONG) throw new FrameError(1003, 'binary messages are not expected');
  }

  #message(payload) {
    let data;
    try {
      data = this.#decoder.decode(payload);
    } catch {
      throw new FrameError(1007, 'a text message is not UTF-8');
    }
    if (!this.#isClosing) this.onmessage?.({ data });
  }

  #closed(payload) {
    const code = payload.length >= 2 ? payload.readUInt16BE(0) : 1005;
    this.#ending = { code, reason: payload.subarray(2).toString() };
    if (!this.#isClosing) this.#write(CLOSE, payload.subarray(0, 2));
    this.#over();
  }

  #write(opcode, payload) {
    this.#socket.write(encodeFrame(opcode, payload, randomBytes(4)));
  }

  #fail(error) {
    if (this.#isOver) return;
    this.#ending = { code: ABNORMAL, reason: error.message };
    this.onerror?.({ error, message: error.message });
    this.#over();
  }

  #over() {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#closeTimer);
    this.#request.destroy();
    this.#socket?.destroySoon();
    this.onclose?.(this.#ending);
  }
}

function closePayload(code, reason) {
  const text = Buffer.from(reason).subarray(0, 123);
  const payload = Buffer.alloc(2 + text.length);
  payload.writeUInt16BE(code, 0);
  text.copy(payload, 2);
  return payload;
}
