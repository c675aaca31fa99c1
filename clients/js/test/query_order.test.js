import assert from 'node:assert/strict';
import { test } from 'node:test';

import { KEY, PRIORITY, VALUE, byChild } from '../query_order.js';
import { parseNode } from '../tree.js';

const sorted = (order, data) => order.sortedKeys(parseNode(data));

test('children are in the order of what they are ordered by, equal ones in that of their keys', () => {
  const mixed = { 10: 'b', 9: 'a', z: false, y: true, x: 2, w: 10, v: { a: 1 }, u: { b: 0 } };
  const prioritized = {
    e: 1,
    d: { '.value': 1, '.priority': '10' },
    c: { '.value': 1, '.priority': '2' },
    b: { '.value': 1, '.priority': 10 },
    a: { '.value': 1, '.priority': 2 },
  };
  const deep = {
    a: { n: { m: 2 } },
    b: { n: 5 },
    c: { n: { m: { x: 1 } } },
    d: 1,
    e: { n: { m: 1 } },
  };
  const cases = [
    [KEY, mixed, ['9', '10', 'u', 'v', 'w', 'x', 'y', 'z']],
    [VALUE, mixed, ['z', 'y', 'x', 'w', '9', '10', 'u', 'v']],
    [PRIORITY, prioritized, ['e', 'a', 'b', 'd', 'c']],
    [byChild(['n', 'm']), deep, ['b', 'd', 'e', 'a', 'c']],
    [VALUE, { a: '\ue000', b: '😀', c: '' }, ['c', 'b', 'a']],
    [VALUE, 'a leaf', []],
  ];
  for (const [order, data, keys] of cases) assert.deepEqual(sorted(order, data), keys, order.name);
});

test('a child is moved when what it is ordered by is another value', () => {
  const cases = [
    [KEY, 1, 2, false],
    [VALUE, 1, 2, true],
    [VALUE, { a: 1 }, { a: 2 }, false],
    [VALUE, 1, { '.value': 1, '.priority': 3 }, false],
    [PRIORITY, 1, { '.value': 1, '.priority': 3 }, true],
    [PRIORITY, { '.value': 1, '.priority': 3 }, { '.value': 2, '.priority': 3 }, false],
    [PRIORITY, { '.value': 1, '.priority': 3 }, { '.value': 1, '.priority': '3' }, true],
    [byChild(['a']), { a: 1 }, { b: 1 }, true],
    [byChild(['a']), { a: 1, b: 1 }, { a: 1, b: 2 }, false],
    [byChild(['a']), { a: true }, { a: 1 }, true],
  ];
  for (const [order, before, after, expected] of cases) {
    const found = order.isMoved(parseNode(before), parseNode(after));
    assert.equal(found, expected, JSON.stringify([order.name, before, after]));
  }
});
