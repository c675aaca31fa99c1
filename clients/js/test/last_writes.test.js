import assert from 'node:assert/strict';
import { test } from 'node:test';

import { LastWrites } from '../last_writes.js';

const split = (path) => path.split('/').filter((key) => key !== '');

test('the plan is what the latest requests make of it', () => {
  const set = (path, wire) => (plan) => plan.set(split(path), wire);
  const cancel = (path) => (plan) => plan.cancel(split(path));
  const now = { '.sv': 'timestamp' };
  const cut = { 'a/b': 1, 'a/c/e': 3 };
  const cases = [
    ['apart', [set('/a', 1), set('/b', 2)], { a: 1, b: 2 }],
    ['again', [set('/a', 1), set('/a', null)], { a: null }],
    ['above', [set('/a/b', 1), set('/a', { c: 2 })], { a: { c: 2 } }],
    ['below an object', [set('/a', { b: 1 }), set('/a/c/d', 2)], { a: { b: 1, c: { d: 2 } } }],
    ['below a leaf', [set('/a', 1), set('/a/c', 2)], { a: { c: 2 } }],
    ['below nothing', [set('/a', null), set('/a/c', now)], { a: { c: now } }],
    ['below a placeholder', [set('/a', now), set('/a/c', 2)], { a: { c: 2 } }],
    ['removed below', [set('/a', { b: 1, c: 2 }), set('/a/b', null)], { a: { b: null, c: 2 } }],
    ['cancelled', [set('/a', 1), set('/b', 2), cancel('/a')], { b: 2 }],
    ['cancelled above', [set('/a/b', 1), set('/a/c', 2), cancel('/a')], {}],
    ['cancelled in all', [set('/a/b', 1), cancel('/')], {}],
    ['cut out', [set('/a', { b: 1, c: { d: 2, e: 3 } }), cancel('/a/c/d')], cut],
    ['below a leaf nothing is cut', [set('/a', 1), cancel('/a/b')], { a: 1 }],
    ['what is not there is not cut', [set('/a/b', 1), cancel('/x/y')], { 'a/b': 1 }],
  ];
  for (const [name, steps, expected] of cases) {
    const plan = new LastWrites();
    for (const step of steps) step(plan);
    const taken = plan.take().map(([keys, wire]) => [keys.join('/'), wire]);
    assert.deepEqual(JSON.parse(JSON.stringify(Object.fromEntries(taken))), expected, name);
  }
});

test('what is taken is taken once', () => {
  const plan = new LastWrites();
  plan.set([], 1);
  assert.deepEqual(plan.take(), [[[], 1]]);
  assert.deepEqual(plan.take(), []);
});
