import assert from 'node:assert/strict';
import { test } from 'node:test';

import { changesBetween } from '../changes.js';
import { KEY, PRIORITY, VALUE, byChild } from '../query_order.js';
import { parseNode } from '../tree.js';

const changes = (before, after, order = PRIORITY) =>
  changesBetween(parseNode(before), parseNode(after), order).map(
    ({ event, key, previousKey }) => `${event.slice('child_'.length)} ${key} < ${previousKey}`,
  );
const at = (priority) => ({ '.value': 'v', '.priority': priority });

test('changes are told in order, removals first', () => {
  const cases = [
    [null, { b: 1, a: 2 }, PRIORITY, ['added a < null', 'added b < a']],
    [{ a: 1, b: 1 }, null, PRIORITY, ['removed a < null', 'removed b < null']],
    [{ a: 1, b: 1 }, 'leaf', PRIORITY, ['removed a < null', 'removed b < null']],
    [{ a: 2, b: 1 }, null, VALUE, ['removed b < null', 'removed a < null']],
    [{ a: 1 }, { a: 2, b: 1 }, PRIORITY, ['changed a < null', 'added b < a']],
    [{ a: 1 }, { a: 2, b: 1 }, VALUE, ['added b < null', 'moved a < b', 'changed a < b']],
    [{ a: at(1), b: at(2) }, { a: at(3), b: at(2) }, PRIORITY, ['moved a < b', 'changed a < b']],
    [
      { a: at(1), b: at(3) },
      { a: at(2), b: at(3) },
      PRIORITY,
      ['moved a < null', 'changed a < null'],
    ],
    [{ a: at(1) }, { a: at(2) }, KEY, ['changed a < null']],
    [
      { a: { n: 1 }, b: { n: 2 }, c: { n: 3 } },
      { a: { n: 5 }, c: { n: 3 }, d: { n: 4 } },
      byChild(['n']),
      ['removed b < null', 'added d < c', 'moved a < d', 'changed a < d'],
    ],
    [{ a: { x: 1 } }, { a: { x: 1 } }, PRIORITY, []],
    ['leaf', 'other', PRIORITY, []],
  ];
  for (const [before, after, order, expected] of cases) {
    assert.deepEqual(changes(before, after, order), expected, JSON.stringify([before, after]));
  }
});

test('a removed child is told as it was, the others as they are', () => {
  const told = changesBetween(parseNode({ a: 1, b: 1 }), parseNode({ b: 2 }), PRIORITY);
  assert.deepEqual(
    told.map(({ key, node }) => [key, node.leaf]),
    [
      ['a', 1],
      ['b', 2],
    ],
  );
});

test('a priority gone from below a child moves nothing', () => {
  const before = { a: { '.priority': 1, x: at(5), y: 1 } };
  assert.deepEqual(changes(before, { a: { '.priority': 1, y: 1 } }), ['changed a < null']);
});
