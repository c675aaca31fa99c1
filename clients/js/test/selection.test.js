import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { parsePath } from '../keys.js';
import { KEY, PRIORITY, VALUE, byChild } from '../query_order.js';
import { EVERYTHING, Selection, idOfWire } from '../selection.js';
import { naiveKeys } from '../testing/naive_query.js';
import { parseNode, toPlain } from '../tree.js';

const { cases: CASES } = JSON.parse(
  readFileSync(new URL('../../../tests/spec/queries.json', import.meta.url), 'utf8'),
);

// The wire may name a key before or behind every other; for us these are bounds without a key.
const IS_FIRST = /^\[MIN_(NAME|KEY)\]$/;
const IS_LAST = /^\[MAX_(NAME|KEY)\]$/;
const LEAST_KEY = '-2147483648';
const GREATEST_KEY = '\uffff'.repeat(768);

const orderOf = (name) => {
  const known = { undefined: PRIORITY, '.priority': PRIORITY, '.value': VALUE, '.key': KEY };
  return known[name] ?? byChild(parsePath(name));
};
const boundOf = (order, value, key = null, isInclusive = true) => {
  if (value === undefined) return null;
  if (order === KEY) {
    const bound = IS_FIRST.test(value) ? LEAST_KEY : IS_LAST.test(value) ? GREATEST_KEY : value;
    return { value: bound, key: null, isInclusive };
  }
  return { value, key, isInclusive };
};
const withoutSentinel = (bound, isLow) => {
  if (bound === null || bound.key === null) return bound;
  const { value, key } = bound;
  if (IS_FIRST.test(key)) return { value, key: null, isInclusive: isLow };
  return IS_LAST.test(key) ? { value, key: null, isInclusive: !isLow } : bound;
};
const selectionOf = ({ i, sp, sn, sin, ep, en, ein, l = null, vf }) => {
  const order = orderOf(i);
  return new Selection({
    order,
    start: withoutSentinel(boundOf(order, sp, sn, sin), true),
    end: withoutSentinel(boundOf(order, ep, en, ein), false),
    limit: l,
    keepsLast: (vf ?? (sp === undefined ? 'r' : 'l')) === 'r',
  });
};

test('what is chosen, and its order, are as for the server', () => {
  assert.ok(CASES.length > 100);
  for (const { name, data, query, expect } of CASES) {
    const selection = selectionOf(query);
    const keys = selection.windowOf(parseNode(data))?.keysBy(selection.order) ?? [];
    assert.deepEqual(keys, expect, name);
  }
});

test('the oracle of other tests agrees', () => {
  for (const { name, data, query, expect } of CASES) {
    assert.deepEqual(naiveKeys(data, query), expect, name);
  }
});

test('a window has the children whole, and no priority of its own', () => {
  const node = parseNode({ '.priority': 'own', a: { x: 1, '.priority': 2 }, b: 3 });
  const window = new Selection({ limit: 5 }).windowOf(node);
  assert.equal(window.priority, null);
  assert.equal(window.children.get('a'), node.children.get('a'));
  assert.deepEqual(toPlain(window), { a: { x: 1 }, b: 3 });
});

test('a selection that only orders leaves the place as it is', () => {
  const node = parseNode({ '.priority': 'own', a: 1 });
  const selection = new Selection({ order: VALUE });
  assert.equal(selection.isFiltering, false);
  assert.equal(selection.windowOf(node), node);
  assert.equal(selection.windowOf(null), null);
});

test('a window of everything is the very node', () => {
  const node = parseNode({ a: 1, b: 2 });
  assert.equal(new Selection({ limit: 2 }).windowOf(node), node);
});

test('selections are equal for the wire if they choose the same by the same words', () => {
  const ofTwo = new Selection({ limit: 2, keepsLast: true });
  assert.equal(ofTwo.id, EVERYTHING.with({ keepsLast: true, limit: 2, order: PRIORITY }).id);
  assert.notEqual(ofTwo.id, ofTwo.with({ order: KEY }).id);
  assert.notEqual(ofTwo.id, ofTwo.with({ keepsLast: false }).id);
  assert.equal(ofTwo.limit, 2);
});

test('a query object of the server is known again, in whatever order its fields come', () => {
  const bound = { value: null, key: null, isInclusive: false };
  const selection = new Selection({ order: byChild(['a', 'b']), start: bound, limit: 3 });
  const wire = selection.toWire();
  const turned = Object.fromEntries(Object.entries(wire).reverse());
  assert.equal(idOfWire(wire), selection.id);
  assert.equal(idOfWire(turned), selection.id);
  assert.equal(idOfWire({ ...turned, unknown: 1 }), selection.id);
});
