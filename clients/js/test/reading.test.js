import assert from 'node:assert/strict';
import { test } from 'node:test';

import * as reading from '../reading.js';

const SILENT = new Set(['off', 'keepSynced']);

test('each function calls the method of its name, with what it was given', () => {
  for (const [name, call] of Object.entries(reading)) {
    const calls = [];
    const query = { [name]: (...given) => (calls.push(given), 'returned') };
    const given = ['first', 'second'].slice(0, call.length - 1);
    const returned = call(query, ...given);
    assert.deepEqual(calls, [given], name);
    assert.equal(returned, SILENT.has(name) ? undefined : 'returned', name);
  }
});
