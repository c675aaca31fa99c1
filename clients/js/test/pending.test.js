import assert from 'node:assert/strict';
import { test } from 'node:test';

import { PendingWrites, inMergeOrder } from '../pending.js';
import { isEqual, parseNode, toPlain, withNodeAt } from '../tree.js';
import { Chance, SEED } from '../testing/chance.js';

const split = (path) => path.split('/').filter((key) => key !== '');
const change = (path, value) => [split(path), parseNode(value)];
const UNKNOWN = { root: null, isKnown: false, isWindow: false };
const whole = (value) => ({ root: parseNode(value), isKnown: true, isWindow: false });
const window = (value) => ({ ...whole(value), isWindow: true });
const over = (pending, path, known, choice) => {
  const { root, isKnown } = pending.over(split(path), known, choice);
  return isKnown ? toPlain(root) : undefined;
};
const withWrites = (...writes) => {
  const pending = new PendingWrites();
  for (const changes of writes) pending.add(changes);
  return pending;
};

test('a write above, at, below or beside a place shows as far as it concerns it', () => {
  const cases = [
    [change('/', { a: { b: 5 } }), { b: 5 }],
    [change('/', { other: 1 }), null],
    [change('/a', { c: 6 }), { c: 6 }],
    [change('/a', null), null],
    [change('/a/b', 7), { b: 7, x: { y: 1 } }],
    [change('/a/x/y', null), { b: 1 }],
    [change('/ab', 7), { b: 1, x: { y: 1 } }],
    [change('/other/b', 7), { b: 1, x: { y: 1 } }],
  ];
  for (const [written, expected] of cases) {
    const known = whole({ b: 1, x: { y: 1 } });
    assert.deepEqual(over(withWrites([written]), '/a', known), expected, written[0].join('/'));
  }
});

test('of a place that is unknown a write tells something only if it covers it', () => {
  assert.equal(over(withWrites([change('/a/b', 1)]), '/a', UNKNOWN), undefined);
  const covered = withWrites([change('/a', { c: 1 })], [change('/a/b', 2)]);
  assert.deepEqual(over(covered, '/a', UNKNOWN), { b: 2, c: 1 });
});

test('a part of a child that is not in a window is not shown, a whole child is', () => {
  const part = withWrites([change('/a/out/x', 1)]);
  assert.deepEqual(over(part, '/a', window({ in: { x: 0 } })), { in: { x: 0 } });
  const child = withWrites([change('/a/out', { y: 2 })], [change('/a/out/x', 1)]);
  assert.deepEqual(over(child, '/a', window({ in: 1 })), { in: 1, out: { x: 1, y: 2 } });
  const all = withWrites([change('/a', null)], [change('/a/out/x', 1)]);
  assert.deepEqual(over(all, '/a', window({ in: 1 })), { out: { x: 1 } });
});

test('writes show in the order they were made, until they are removed', () => {
  const pending = new PendingWrites();
  const first = pending.add([change('/a', 1)]);
  const second = pending.add([change('/a', 2)]);
  assert.equal(over(pending, '/a', whole(0)), 2);
  pending.replace(first, [change('/a', 3)]);
  assert.equal(over(pending, '/a', whole(0)), 2, 'the first stays the first');
  pending.remove(second);
  assert.equal(over(pending, '/a', whole(0)), 3);
  pending.remove(first);
  assert.equal(over(pending, '/a', whole(0)), 0);
});

test('what is hidden, and what is to be left out, can be chosen', () => {
  const pending = new PendingWrites();
  const hidden = pending.add([change('/a', 1)], false);
  assert.equal(over(pending, '/a', whole(0)), 0);
  assert.equal(over(pending, '/a', whole(0), { includesHidden: true }), 1);
  const choice = { includesHidden: true, without: new Set([hidden]) };
  assert.equal(over(pending, '/a', whole(0), choice), 0);
});

test('a merge has no states in between: values, then removals, then priorities', () => {
  const changes = [change('/x/.priority', 3), change('/x/old', null), change('/x/new', 2)];
  assert.deepEqual(
    inMergeOrder(changes).map(([keys]) => keys.join('/')),
    ['x/new', 'x/old', 'x/.priority'],
  );
});

test('it changes nothing that others hold, and comes to what the changes come to in a row', () => {
  const chance = new Chance(SEED);
  const keys = ['a', 'b', 'c'];
  const path = () => Array.from({ length: chance.below(4) }, () => chance.pick(keys));
  const value = () => chance.pick([null, 1, 'x', { a: 1 }, { b: { c: 2 }, '.priority': 5 }]);
  for (let round = 0; round < 2000; round += 1) {
    const data = { a: { a: 1, b: { c: 2 } }, b: value(), c: 'leaf' };
    const known = whole(data);
    const pending = new PendingWrites();
    let expected = known.root;
    for (let count = chance.below(8); count > 0; count -= 1) {
      const written = chance.onceIn(6)
        ? [[...path(), '.priority'], parseNode(chance.pick([null, 1, 'p']))]
        : [path(), parseNode(value())];
      pending.add([written]);
      expected = withNodeAt(expected, ...written);
    }
    const first = pending.over([], known).root;
    const copy = structuredClone(toPlain(first));
    assert.ok(isEqual(first, expected), `SEED=${SEED} round ${round}`);
    pending.add([[path(), parseNode(value())]]);
    pending.over([], known);
    assert.deepEqual(toPlain(first), copy, `SEED=${SEED} round ${round}`);
    assert.ok(isEqual(known.root, parseNode(data)), `SEED=${SEED} round ${round}`);
  }
});
