import assert from 'node:assert/strict';
import { test } from 'node:test';

import { FrameReader, formatRequest, parseMessage, splitFrames } from '../wire.js';

const read = (frames) => {
  const reader = new FrameReader();
  return frames.map((frame) => reader.push(frame)).filter((message) => message !== null);
};

test('a short message is one frame', () => {
  assert.deepEqual(splitFrames('x'.repeat(16384)), ['x'.repeat(16384)]);
});

test('a long message is announced and cut', () => {
  const lengths = splitFrames('x'.repeat(40051)).map((frame) => frame.length);
  assert.deepEqual(lengths, [1, 16384, 16384, 7283]);
  assert.equal(splitFrames('x'.repeat(16385))[0], '2');
});

test('no piece ends inside a surrogate pair', () => {
  for (let shift = 0; shift < 4; shift += 1) {
    const message = 'x'.repeat(shift) + '😀'.repeat(30000);
    const [count, ...pieces] = splitFrames(message);
    assert.equal(Number(count), pieces.length);
    assert.equal(pieces.join(''), message);
    for (const piece of pieces) {
      assert.ok(piece.length <= 16384);
      assert.doesNotMatch(piece, /\p{Surrogate}/u);
    }
  }
});

test('what was cut is joined again, in any mixture', () => {
  const messages = ['{}', 'x'.repeat(20000), '{"a":1}', '9'.repeat(50000), '😀'.repeat(20000)];
  const frames = messages.flatMap((message) => ['0', ...splitFrames(message)]);
  assert.deepEqual(read(frames), messages);
});

test('a piece that looks like a count is a piece', () => {
  assert.deepEqual(read(['2', '12', '34', '{}']), ['1234', '{}']);
});

test('a keep-alive is no message', () => {
  assert.deepEqual(read(['0', '0', '{}', '0']), ['{}']);
});

test('a request is written in its envelope', () => {
  const text = formatRequest(7, 'p', '{"p":"/a","d":1}');
  assert.deepEqual(JSON.parse(text), { t: 'd', d: { r: 7, a: 'p', b: { p: '/a', d: 1 } } });
});

test('messages are told apart', () => {
  const cases = [
    ['{"t":"c","d":{"t":"h","d":{"s":"x"}}}', { kind: 'control', type: 'h', data: { s: 'x' } }],
    [
      '{"t":"d","d":{"r":3,"b":{"s":"ok","d":""}}}',
      { kind: 'answer', number: 3, status: 'ok', data: '' },
    ],
    [
      '{"t":"d","d":{"a":"d","b":{"p":"a","d":1}}}',
      { kind: 'push', action: 'd', body: { p: 'a', d: 1 } },
    ],
  ];
  for (const [text, message] of cases) assert.deepEqual(parseMessage(text), message);
});

test('what is no message of the protocol is refused', () => {
  for (const text of [
    '',
    '{',
    '[]',
    'null',
    '7',
    '{"t":"x","d":{}}',
    '{"t":"d","d":{}}',
    '{"t":"c"}',
  ]) {
    assert.throws(() => parseMessage(text), { code: 'PROTOCOL_ERROR' }, text);
  }
});
