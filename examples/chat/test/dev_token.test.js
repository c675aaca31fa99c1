import assert from 'node:assert/strict';
import { test } from 'node:test';

import { devToken } from '../dev_token.js';

const read = (part) => JSON.parse(Buffer.from(part, 'base64url').toString());

test('a token says who is here, and that nobody signed it', () => {
  const [header, claims, signature] = devToken({ uid: 'u1', name: 'Zoë 🥾?>' }).split('.');
  assert.deepEqual(read(header), { alg: 'none', type: 'JWT' });
  assert.deepEqual(read(claims), { sub: 'u1', user_id: 'u1', name: 'Zoë 🥾?>' });
  assert.equal(signature, '');
});

test('who has not said their name has none in it', () => {
  const [, claims] = devToken({ uid: 'u1', name: null }).split('.');
  assert.deepEqual(read(claims), { sub: 'u1', user_id: 'u1' });
});

test('every part is base64url', () => {
  for (let length = 1; length < 10; length += 1) {
    assert.match(devToken({ uid: 'u1', name: '?ÿ>'.repeat(length) }), /^[-\w]+\.[-\w]+\.$/);
  }
});
