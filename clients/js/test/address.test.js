import assert from 'node:assert/strict';
import { test } from 'node:test';

import { parseAddress, socketUrl } from '../address.js';

test('a database URL leads to its socket', () => {
  const cases = [
    ['http://localhost:9000', undefined, 'ws://localhost:9000/.ws?v=5'],
    ['https://db.example.org/', undefined, 'wss://db.example.org/.ws?v=5'],
    ['ws://127.0.0.1:9000?ns=abc', undefined, 'ws://127.0.0.1:9000/.ws?v=5&ns=abc'],
    ['wss://h?ns=abc', 'other', 'wss://h/.ws?v=5&ns=other'],
    ['http://[::1]:9000', 'a b', 'ws://[::1]:9000/.ws?v=5&ns=a+b'],
    [new URL('http://h:1'), '', 'ws://h:1/.ws?v=5'],
  ];
  for (const [url, namespace, expected] of cases) {
    assert.equal(socketUrl(parseAddress(url, namespace), null), expected);
  }
});

test('a reconnect names the session before', () => {
  assert.equal(socketUrl(parseAddress('http://h:1', 'n'), 's1'), 'ws://h:1/.ws?v=5&ls=s1&ns=n');
});

test('what is no database URL is refused', () => {
  for (const url of ['localhost:9000', '/x', 'ftp://h', 'http://h/rooms', undefined]) {
    assert.throws(() => parseAddress(url, undefined), { code: 'INVALID_ARGUMENT' });
  }
});
