import assert from 'node:assert/strict';
import { test } from 'node:test';

import { CLOSE, MessageParser, PING, TEXT, encodeFrame } from '../websocket_frames.js';

const MASK = Buffer.from([1, 2, 3, 4]);

/** Write a frame as a server does. */
const bare = (first, payload) => {
  const bytes = Buffer.from(payload);
  if (bytes.length < 126) return Buffer.concat([Buffer.from([first, bytes.length]), bytes]);
  const head = Buffer.from([first, 126, bytes.length >> 8, bytes.length & 255]);
  if (bytes.length < 65536) return Buffer.concat([head, bytes]);
  const long = Buffer.alloc(10);
  long[0] = first;
  long[1] = 127;
  long.writeBigUInt64BE(BigInt(bytes.length), 2);
  return Buffer.concat([long, bytes]);
};
const parse = (chunks, maxBytes = 1_000_000) => {
  const parser = new MessageParser(maxBytes);
  return chunks.flatMap((chunk) =>
    [...parser.push(chunk)].map(({ opcode, payload }) => [opcode, payload.toString()]),
  );
};

test('a frame is written masked (RFC 6455, section 5.7)', () => {
  const frame = encodeFrame(TEXT, Buffer.from('Hello'), Buffer.from([0x37, 0xfa, 0x21, 0x3d]));
  assert.equal(frame.toString('hex'), '818537fa213d7f9f4d5158');
});

test('each size has its form of length', () => {
  const cases = [
    [125, '81fd'],
    [126, '81fe007e'],
    [65535, '81feffff'],
    [65536, '81ff0000000000010000'],
  ];
  for (const [size, head] of cases) {
    const frame = encodeFrame(TEXT, Buffer.alloc(size), MASK);
    assert.equal(frame.subarray(0, head.length / 2).toString('hex'), head);
    assert.equal(frame.length, head.length / 2 + 4 + size);
  }
});

test('messages are read however the bytes are cut', () => {
  const long = 'é'.repeat(40_000);
  const stream = Buffer.concat([
    bare(0x81, 'one'),
    bare(0x01, 'two '),
    bare(0x89, 'ping'),
    bare(0x00, 'and '),
    bare(0x80, 'half'),
    bare(0x81, 'x'.repeat(300)),
    bare(0x81, long),
    bare(0x81, ''),
    bare(0x88, '\u0003\u00e8'),
  ]);
  const expected = [
    [TEXT, 'one'],
    [PING, 'ping'],
    [TEXT, 'two and half'],
    [TEXT, 'x'.repeat(300)],
    [TEXT, long],
    [TEXT, ''],
    [CLOSE, '\u0003\u00e8'],
  ];
  for (const size of [1, 2, 3, 7, 1000, 65536, stream.length]) {
    const chunks = [];
    for (let start = 0; start < stream.length; start += size) {
      chunks.push(stream.subarray(start, start + size));
    }
    assert.deepEqual(parse(chunks), expected, `chunks of ${size}`);
  }
});

test('what breaks the RFC is refused with its close code', () => {
  const cases = [
    ['a reserved bit', bare(0xc1, 'x'), 1002],
    ['an unknown opcode', bare(0x83, 'x'), 1002],
    ['a masked frame', encodeFrame(TEXT, Buffer.from('x'), MASK), 1002],
    ['a long ping', bare(0x89, 'x'.repeat(126)), 1002],
    ['a ping in pieces', bare(0x09, 'x'), 1002],
    ['a continuation of nothing', bare(0x80, 'x'), 1002],
    ['a message within a message', Buffer.concat([bare(0x01, 'x'), bare(0x81, 'y')]), 1002],
    ['a message too long', bare(0x81, 'x'.repeat(1001)), 1009],
    [
      'pieces too long',
      Buffer.concat([bare(0x01, 'x'.repeat(600)), bare(0x80, 'x'.repeat(600))]),
      1009,
    ],
    ['a length beyond all reason', Buffer.from('817fffffffffffffffff', 'hex'), 1009],
  ];
  for (const [name, bytes, closeCode] of cases) {
    assert.throws(() => parse([bytes], 1000), { closeCode }, name);
  }
});
