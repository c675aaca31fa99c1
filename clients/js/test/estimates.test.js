import assert from 'node:assert/strict';
import { test } from 'node:test';

import { estimate } from '../estimates.js';
import { isEqual, parseNode } from '../tree.js';
import { increment, serverTimestamp, toWire } from '../values.js';

const NOW = 1_700_000_000_000;
const plus = increment;
const now = serverTimestamp();
const prior = (value, priority) => ({ '.value': value, '.priority': priority });

test('placeholders are filled in from what is there and what time it is', () => {
  const cases = [
    ['a value without any', { a: [1, { b: 'x' }] }, 7, { a: { 0: 1, 1: { b: 'x' } } }],
    ['nothing', null, 7, null],
    ['the time', now, null, NOW],
    ['more than nothing', plus(2), null, 2],
    ['more than a number', plus(2), 5, 7],
    ['more than a number with a priority', plus(2), { '.value': 5, '.priority': 1 }, 7],
    ['more than a text', plus(2), 'hello', 2],
    ['more than an object', plus(2), { hello: 'world' }, 2],
    ['more than true', plus(2), true, 2],
    ['less', plus(-2), 5, 3],
    ['deep down', { a: { n: plus(1), t: now } }, { a: { n: 4 } }, { a: { n: 5, t: NOW } }],
    ['a priority', { '.priority': now, a: 1 }, null, { '.priority': NOW, a: 1 }],
    ['more priority', prior(1, plus(3)), prior(9, 2), prior(1, 5)],
    ['with a priority', prior(plus(3), 'p'), 4, prior(7, 'p')],
    ['an object that is empty, and its priority', { '.priority': 1, a: {} }, null, null],
  ];
  for (const [name, value, present, expected] of cases) {
    const found = estimate(toWire(value, []), parseNode(present), NOW);
    assert.ok(isEqual(found, parseNode(expected)), name);
  }
});
