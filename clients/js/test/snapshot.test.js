import assert from 'node:assert/strict';
import { test } from 'node:test';

import { VALUE } from '../query_order.js';
import { Snapshot } from '../snapshot.js';
import { parseNode } from '../tree.js';

const reference = (path) => ({ path, child: (below) => reference(`${path}/${below}`) });
const snapshotOf = (value) => new Snapshot(parseNode(value), 'top', () => reference('/top'));

test('a snapshot tells what is there', () => {
  const snapshot = snapshotOf({ a: { b: [1, 2] }, c: 'x' });
  assert.equal(snapshot.key, 'top');
  assert.equal(snapshot.exists(), true);
  assert.equal(snapshot.size, 2);
  assert.deepEqual(snapshot.val(), { a: { b: [1, 2] }, c: 'x' });
});

test('a snapshot of nothing and of a leaf have no children', () => {
  for (const [value, exists] of [
    [null, false],
    ['x', true],
    [0, true],
  ]) {
    const snapshot = snapshotOf(value);
    assert.equal(snapshot.exists(), exists);
    assert.equal(snapshot.val(), value);
    assert.equal(snapshot.size, 0);
    assert.deepEqual([...snapshot], []);
  }
});

test('children are found by path', () => {
  const snapshot = snapshotOf({ a: { b: 1 } });
  assert.equal(snapshot.child('a/b').val(), 1);
  assert.equal(snapshot.child('a/b').key, 'b');
  assert.equal(snapshot.child('a/b').ref.path, '/top/a/b');
  assert.equal(snapshot.child('a/x/y').exists(), false);
  assert.equal(snapshot.child('a/x/y').key, 'y');
  assert.equal(snapshot.child('toString').exists(), false);
});

test('forEach goes in the order of keys where nothing else orders, until told to end', () => {
  const snapshot = snapshotOf({ b: 1, a: 2, 10: 3, 9: 4, '-1': 5 });
  const keys = [];
  const ended = snapshot.forEach((child) => {
    keys.push(child.key);
  });
  assert.deepEqual(keys, ['-1', '9', '10', 'a', 'b']);
  assert.equal(ended, false);
  assert.equal(
    snapshot.forEach((child) => child.key === '9'),
    true,
  );
  assert.deepEqual(
    [...snapshot].map((child) => child.val()),
    [5, 4, 3, 2, 1],
  );
  assert.equal([...snapshot][1].ref.path, '/top/9');
});

test('forEach goes by priority, or in the order of the query', () => {
  const node = parseNode({ a: { '.value': 1, '.priority': 5 }, b: 3, c: 2 });
  const keys = (snapshot) => [...snapshot].map((child) => child.key);
  assert.deepEqual(keys(new Snapshot(node, 'top', reference)), ['b', 'c', 'a']);
  assert.deepEqual(keys(new Snapshot(node, 'top', reference, VALUE)), ['a', 'c', 'b']);
  const above = new Snapshot(parseNode({ x: { b: 1, a: { '.value': 0, '.priority': 1 } } }), 'top');
  assert.deepEqual(keys(above.child('x')), ['b', 'a']);
});
