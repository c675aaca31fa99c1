/** A WebSocket class whose other end is the test. */

import { FrameReader } from '../wire.js';

/** @returns {{FakeSocket: any, sockets: any[]}} the class, and what was made of it, oldest first */
export function fakeSockets() {
  const sockets = [];
  class FakeSocket {
    frames = [];
    isClosed = false;
    #reader = new FrameReader();
    #messages = [];

    constructor(url) {
      this.url = new URL(url);
      sockets.push(this);
    }

    send(frame) {
      if (this.isClosed) throw new Error('the application sent on a closed socket');
      this.frames.push(frame);
      const message = this.#reader.push(frame);
      if (message !== null) this.#messages.push(JSON.parse(message));
    }

    close() {
      this.isClosed = true;
    }

    /** Return what was sent since the last call: requests as [number, action, body]. */
    taken() {
      const taken = this.#messages.map(({ t, d }) => (t === 'c' ? d : [d.r, d.a, d.b]));
      this.#messages = [];
      return taken;
    }

    greet(session = 'one', time = 1_700_000_000_000) {
      this.control('h', { ts: time, v: '5', h: 'elsewhere:1', s: session });
    }

    control(type, data) {
      this.deliver({ t: 'c', d: { t: type, d: data } });
    }

    answer(number, status = 'ok', data = '') {
      this.deliver({ t: 'd', d: { r: number, b: { s: status, d: data } } });
    }

    push(action, body) {
      this.deliver({ t: 'd', d: { a: action, b: body } });
    }

    deliver(message) {
      this.onmessage?.({ data: JSON.stringify(message) });
    }

    drop(code = 1006) {
      this.onclose?.({ code, reason: '' });
    }
  }
  return { FakeSocket, sockets };
}
