import assert from 'node:assert/strict';
import { test } from 'node:test';

import { isEqual, nodeAt, parseNode, toPlain, withNodeAt } from '../tree.js';

const plainAfter = (value, keys, replacement) =>
  toPlain(withNodeAt(parseNode(value), keys, parseNode(replacement)));

test('val() shows arrays where Firebase shows arrays', () => {
  const cases = [
    [{ 0: 'a', 1: 'b' }, ['a', 'b']],
    [{ 1: 'b' }, [null, 'b']],
    [{ 2: 'c' }, { 2: 'c' }],
    [{ 0: 'a', 3: 'd' }, ['a', null, null, 'd']],
    [
      { 0: 'a', 4: 'e' },
      { 0: 'a', 4: 'e' },
    ],
    [
      { 0: 'a', '01': 'b' },
      { 0: 'a', '01': 'b' },
    ],
    [
      { 0: 'a', '-1': 'b' },
      { 0: 'a', '-1': 'b' },
    ],
    [{ list: { 0: { 0: 1 } } }, { list: [[1]] }],
    [
      ['x', 'y'],
      ['x', 'y'],
    ],
  ];
  for (const [value, plain] of cases) assert.deepEqual(toPlain(parseNode(value)), plain);
});

test('what is empty is nothing', () => {
  for (const value of [null, {}, [], { a: {} }, { a: null }, { a: { '.priority': 1 } }]) {
    assert.equal(parseNode(value), null);
  }
});

test('priorities are kept and not shown', () => {
  const node = parseNode({ a: { '.value': 'v', '.priority': 3 }, '.priority': 0 });
  assert.deepEqual(toPlain(node), { a: 'v' });
  assert.equal(node.priority, 0);
  assert.equal(nodeAt(node, ['a']).priority, 3);
  assert.equal(toPlain(nodeAt(node, ['a', '.priority'])), 3);
});

test('any name is data', () => {
  const node = parseNode(JSON.parse('{"__proto__":{"a":1},"constructor":2}'));
  const plain = toPlain(node);
  assert.equal(JSON.stringify(plain), '{"__proto__":{"a":1},"constructor":2}');
  assert.equal(Object.getPrototypeOf(plain), Object.prototype);
  assert.equal(nodeAt(node, ['toString']), null);
  assert.deepEqual(toPlain(nodeAt(node, ['__proto__'])), { a: 1 });
  assert.equal(Object.hasOwn(plainAfter({ a: 1 }, ['__proto__', 'x'], 2), '__proto__'), true);
});

test('a change below a place has the effects of Firebase', () => {
  const cases = [
    ['a child is added', { a: 1 }, ['b'], 2, { a: 1, b: 2 }],
    ['parents are made', null, ['a', 'b'], 1, { a: { b: 1 } }],
    ['a leaf becomes an object', 'leaf', ['a'], 1, { a: 1 }],
    ['removing from a leaf leaves the leaf', 'leaf', ['a'], null, 'leaf'],
    ['emptied parents vanish', { a: { b: 1 }, c: 2 }, ['a', 'b'], null, { c: 2 }],
    ['the last child takes all with it', { a: { b: 1 } }, ['a', 'b'], null, null],
    ['the place itself is replaced', { a: 1 }, [], 'x', 'x'],
  ];
  for (const [name, value, keys, replacement, expected] of cases) {
    assert.deepEqual(plainAfter(value, keys, replacement), expected, name);
  }
});

test('a leaf that becomes an object keeps its priority; an emptied object loses it', () => {
  const leaf = parseNode({ '.value': 'v', '.priority': 10 });
  const object = withNodeAt(leaf, ['a'], parseNode(1));
  assert.equal(object.priority, 10);
  assert.equal(withNodeAt(object, ['a'], null), null);
});

test('a priority is set by its path', () => {
  const node = withNodeAt(parseNode({ a: 1 }), ['a', '.priority'], parseNode('p'));
  assert.equal(nodeAt(node, ['a']).priority, 'p');
  assert.equal(withNodeAt(node, ['a', '.priority'], null).children.get('a').priority, null);
  assert.equal(withNodeAt(null, ['.priority'], parseNode('p')), null);
});

test('a change shares what it does not touch and leaves the old tree alone', () => {
  const before = parseNode({ a: { x: 1 }, b: { y: 1 } });
  const after = withNodeAt(before, ['a', 'x'], parseNode(2));
  assert.equal(nodeAt(after, ['b']), nodeAt(before, ['b']));
  assert.deepEqual(toPlain(before), { a: { x: 1 }, b: { y: 1 } });
});

test('a change that changes nothing returns the same node', () => {
  const node = parseNode({ a: { x: 1, y: [1, 2] } });
  assert.equal(withNodeAt(node, ['a'], parseNode({ y: [1, 2], x: 1 })), node);
  assert.equal(withNodeAt(node, ['b'], null), node);
  assert.equal(withNodeAt(node, [], parseNode({ a: { x: 1, y: [1, 2] } })), node);
});

test('trees differ by value, by type, by priority and by children', () => {
  const cases = [
    [1, '1'],
    [0, false],
    [{ a: 1 }, { a: 1, b: 1 }],
    [{ a: 1 }, { b: 1 }],
    [{ '.value': 1, '.priority': 1 }, 1],
    ['x', null],
    ['x', { a: 'x' }],
  ];
  for (const [a, b] of cases) {
    assert.equal(isEqual(parseNode(a), parseNode(b)), false, JSON.stringify([a, b]));
    assert.equal(isEqual(parseNode(a), parseNode(a)), true);
  }
});

test('children come in the order of keys', () => {
  const node = parseNode({ b: 1, a: 1, 10: 1, 9: 1, '-1': 1, '😀': 1, '\ue000': 1 });
  assert.deepEqual(node.keys(), ['-1', '9', '10', 'a', 'b', '😀', '\ue000']);
});
