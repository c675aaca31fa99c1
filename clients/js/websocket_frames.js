/** The bytes of RFC 6455 frames, a client's side: ours go out masked, the server's come bare. */

export const TEXT = 0x1;
export const BINARY = 0x2;
export const CLOSE = 0x8;
export const PING = 0x9;
export const PONG = 0xa;

const CONTINUATION = 0x0;
const FIN = 0x80;
const RESERVED = 0x70;
const MASKED = 0x80;
const MAX_CONTROL_BYTES = 125;

/** What a peer did against RFC 6455; `closeCode` is what to tell it. */
export class FrameError extends Error {
  constructor(closeCode, message) {
    super(message);
    this.closeCode = closeCode;
  }
}

/**
 * Write one whole frame.
 *
 * @param {number} opcode
 * @param {Buffer} payload
 * @param {Buffer} mask four random bytes
 * @returns {Buffer}
 */
export function encodeFrame(opcode, payload, mask) {
  const head = encodeHead(opcode, payload.length);
  const frame = Buffer.allocUnsafe(head.length + 4 + payload.length);
  head.copy(frame);
  mask.copy(frame, head.length);
  const start = head.length + 4;
  for (let index = 0; index < payload.length; index += 1) {
    frame[start + index] = payload[index] ^ mask[index & 3];
  }
  return frame;
}

function encodeHead(opcode, length) {
  if (length < 126) return Buffer.from([FIN | opcode, MASKED | length]);
  if (length < 65536) {
    const head = Buffer.from([FIN | opcode, MASKED | 126, 0, 0]);
    head.writeUInt16BE(length, 2);
    return head;
  }
  const head = Buffer.alloc(10);
  head[0] = FIN | opcode;
  head[1] = MASKED | 127;
  head.writeBigUInt64BE(BigInt(length), 2);
  return head;
}

/** Takes bytes as they come and gives whole messages: data frames joined, control frames alone. */
export class MessageParser {
  #chunks = [];
  #size = 0;
  #maxBytes;
  #fragments = [];
  #fragmentBytes = 0;
  #fragmentOpcode = null;

  /** @param {number} maxBytes of one message */
  constructor(maxBytes) {
    this.#maxBytes = maxBytes;
  }

  /**
   * Take bytes; yield the messages they complete. Throws FrameError.
   *
   * @param {Buffer} bytes
   * @returns {Generator<{opcode: number, payload: Buffer}>}
   */
  *push(bytes) {
    this.#chunks.push(bytes);
    this.#size += bytes.length;
    for (let frame = this.#takeFrame(); frame !== null; frame = this.#takeFrame()) {
      const message = this.#join(frame);
      if (message !== null) yield message;
    }
  }

  #takeFrame() {
    const head = this.#readHead();
    if (head === null || this.#size < head.bytes + head.length) return null;
    const all = this.#flatten();
    const end = head.bytes + head.length;
    this.#chunks = [all.subarray(end)];
    this.#size = all.length - end;
    return { opcode: head.opcode, isLast: head.isLast, payload: all.subarray(head.bytes, end) };
  }

  /** Read the head without joining the chunks: a long frame may still have many to come. */
  #readHead() {
    if (this.#size < 2) return null;
    const start = this.#first(2);
    const opcode = start[0] & 0xf;
    const short = start[1] & 0x7f;
    checkHead(start, opcode, short);
    const bytes = short < 126 ? 2 : short === 126 ? 4 : 10;
    if (this.#size < bytes) return null;
    const length = short < 126 ? short : this.#longLength(bytes);
    if (length + this.#fragmentBytes > this.#maxBytes) {
      throw new FrameError(1009, `a message of more than ${this.#maxBytes} bytes`);
    }
    return { opcode, isLast: (start[0] & FIN) !== 0, bytes, length };
  }

  #longLength(bytes) {
    const head = this.#first(bytes);
    return bytes === 4 ? head.readUInt16BE(2) : Number(head.readBigUInt64BE(2));
  }

  #first(count) {
    return this.#chunks[0].length >= count ? this.#chunks[0] : this.#flatten();
  }

  #flatten() {
    if (this.#chunks.length > 1) this.#chunks = [Buffer.concat(this.#chunks)];
    return this.#chunks[0];
  }

  #join({ opcode, isLast, payload }) {
    if (opcode >= CLOSE) return { opcode, payload };
    if ((opcode === CONTINUATION) !== (this.#fragmentOpcode !== null)) {
      throw new FrameError(1002, 'the fragments of a message are out of order');
    }
    this.#fragmentOpcode ??= opcode;
    this.#fragments.push(payload);
    this.#fragmentBytes += payload.length;
    if (!isLast) return null;
    const message = { opcode: this.#fragmentOpcode, payload: joined(this.#fragments) };
    this.#fragments = [];
    this.#fragmentBytes = 0;
    this.#fragmentOpcode = null;
    return message;
  }
}

function checkHead(start, opcode, short) {
  if ((start[0] & RESERVED) !== 0) throw new FrameError(1002, 'a reserved bit is set');
  if ((start[1] & MASKED) !== 0) throw new FrameError(1002, 'a server does not mask its frames');
  if (![CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG].includes(opcode)) {
    throw new FrameError(1002, `there is no opcode ${opcode}`);
  }
  const isControl = opcode >= CLOSE;
  if (isControl && (short > MAX_CONTROL_BYTES || (start[0] & FIN) === 0)) {
    throw new FrameError(1002, 'a control frame is short and in one piece');
  }
}

function joined(fragments) {
  return fragments.length === 1 ? fragments[0] : Buffer.concat(fragments);
}
