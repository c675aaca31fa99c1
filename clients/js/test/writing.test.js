import assert from 'node:assert/strict';
import { test } from 'node:test';

import * as writing from '../writing.js';

const METHODS = { runTransaction: 'transaction' };
const SILENT = new Set(['goOffline', 'goOnline']);

test('each function calls the method of its name, with what it was given', () => {
  for (const [name, call] of Object.entries(writing)) {
    const calls = [];
    const ref = { [METHODS[name] ?? name]: (...given) => (calls.push(given), 'returned') };
    const given = ['first', 'second'].slice(0, call.length - 1);
    const returned = call(ref, ...given);
    assert.deepEqual(calls, [given], name);
    assert.equal(returned, SILENT.has(name) ? undefined : 'returned', name);
  }
});
