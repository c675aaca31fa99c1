import assert from 'node:assert/strict';
import { test } from 'node:test';

import * as reading from '../reading.js';

test('each function calls the method of its name, with what it was given', () => {
  for (const [name, call] of Object.entries(reading)) {
    const calls = [];
    const query = { [name]: (...given) => (calls.push(given), 'returned') };
    const returned = call(query, 'first', 'second');
    const expected = name === 'get' ? [] : ['first', 'second'];
    assert.deepEqual(calls, [expected], name);
    assert.equal(returned, name === 'off' ? undefined : 'returned', name);
  }
});
