import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { SYSTEM } from '../machine.js';
import { PushIds } from '../push_id.js';

const CASES = JSON.parse(
  readFileSync(new URL('../../../tests/spec/push_ids.json', import.meta.url), 'utf8'),
);

test('ids are those of Firebase', () => {
  for (const { time, digits, ids } of CASES.cases) {
    const maker = new PushIds(() => [...digits]);
    assert.deepEqual(
      ids.map(() => maker.next(time)),
      ids,
    );
  }
});

test('ids increase, also when the clock goes back', () => {
  const maker = new PushIds(SYSTEM.randomDigits);
  const times = [1000, 1000, 999, 5, 1000, 1001, 1001, 1_700_000_000_000, 0];
  const ids = times.flatMap((time) => Array.from({ length: 200 }, () => maker.next(time)));
  assert.deepEqual(ids, [...new Set(ids)].sort());
});

test('after the last id of a millisecond comes the first of the next', () => {
  const maker = new PushIds((count) => Array.from({ length: count }, () => 63));
  const first = maker.next(1_700_000_000_000);
  const second = maker.next(1_700_000_000_000);
  assert.equal(first, '-NjEtLV-zzzzzzzzzzzz');
  assert.equal(second, '-NjEtLV0zzzzzzzzzzzz');
});

test('two makers at the same time make different ids', () => {
  const ids = new Set();
  for (let count = 0; count < 1000; count += 1) ids.add(new PushIds(SYSTEM.randomDigits).next(1));
  assert.equal(ids.size, 1000);
});
