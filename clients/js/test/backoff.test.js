import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Backoff } from '../backoff.js';

test('each failure makes the wait longer, up to five minutes', () => {
  const backoff = new Backoff(() => 1);
  const delays = Array.from({ length: 40 }, () => {
    backoff.attempted(0);
    return Math.round(backoff.next(0));
  });
  assert.deepEqual(delays.slice(0, 4), [1000, 1300, 1690, 2197]);
  assert.equal(delays.at(-1), 300_000);
});

test('chance spreads the clients between nothing and the whole delay', () => {
  for (const [chance, delay] of [
    [0, 0],
    [0.5, 500],
    [1, 1000],
  ]) {
    const backoff = new Backoff(() => chance);
    backoff.attempted(0);
    assert.equal(backoff.next(0), delay);
  }
});

test('time spent on the attempt counts', () => {
  const backoff = new Backoff(() => 1);
  backoff.attempted(0);
  assert.equal(backoff.next(400), 600);
  backoff.attempted(2000);
  assert.equal(backoff.next(60_000), 0);
});

test('half a minute of connection makes up for past failures, less does not', () => {
  for (const [lasted, delay] of [
    [30_001, 1000],
    [29_999, 1690],
  ]) {
    const backoff = new Backoff(() => 1);
    backoff.next(0);
    backoff.next(0);
    backoff.connected(0);
    backoff.attempted(lasted);
    assert.equal(Math.round(backoff.next(lasted)), delay);
  }
});

test('a reset starts anew', () => {
  const backoff = new Backoff(() => 1);
  for (let count = 0; count < 10; count += 1) backoff.next(0);
  backoff.reset();
  backoff.attempted(0);
  assert.equal(backoff.next(0), 1000);
});
