import assert from 'node:assert/strict';
import { test } from 'node:test';

import {
  QueryConstraint,
  endAt,
  endBefore,
  equalTo,
  limitToFirst,
  limitToLast,
  orderByChild,
  orderByKey,
  orderByPriority,
  orderByValue,
  startAfter,
  startAt,
} from '../constraints.js';
import { EVERYTHING } from '../selection.js';

const combine = (...constraints) => QueryConstraint.combine(EVERYTHING, constraints);

test('the wire has what the SDK of Firebase sends for the same calls', () => {
  const cases = [
    [[limitToLast(2)], '{"l":2,"vf":"r"}'],
    [[limitToFirst(2)], '{"l":2,"vf":"l"}'],
    [
      [orderByKey(), startAfter('a'), limitToFirst(2)],
      '{"sp":"a","sin":false,"l":2,"vf":"l","i":".key"}',
    ],
    [
      [orderByChild('x/y'), startAt(1), endBefore(5, 'k')],
      '{"sp":1,"sin":true,"ep":5,"en":"k","ein":false,"i":"x/y"}',
    ],
    [[orderByValue(), equalTo('x')], '{"sp":"x","sin":true,"ep":"x","ein":true,"i":".value"}'],
    [[orderByKey(), equalTo('a')], '{"sp":"a","sin":true,"ep":"a","ein":true,"i":".key"}'],
    [[orderByPriority(), startAfter(3)], '{"sp":3,"sn":"[MAX_NAME]","sin":false}'],
    [[orderByChild('z'), endBefore(9)], '{"ep":9,"en":"[MIN_NAME]","ein":false,"i":"z"}'],
    [[endAt(null)], '{"ep":null,"ein":true}'],
    [[startAt()], '{"sp":null,"sin":true}'],
    [[startAfter(1, 'k')], '{"sp":1,"sn":"k","sin":false}'],
    [[equalTo(1, 'k')], '{"sp":1,"sn":"k","sin":true,"ep":1,"en":"k","ein":true}'],
    [[orderByKey(), endBefore('k')], '{"ep":"k","ein":false,"i":".key"}'],
    [[orderByChild('/zz/')], '{"i":"zz"}'],
    [[orderByPriority()], '{}'],
    [[], '{}'],
  ];
  for (const [constraints, text] of cases) {
    assert.equal(JSON.stringify(combine(...constraints).toWire()), text);
  }
});

test('constraints may come in any order', () => {
  const ordered = combine(orderByKey(), startAfter('a'), limitToLast(1));
  const turned = combine(limitToLast(1), startAfter('a'), orderByKey());
  assert.equal(turned.id, ordered.id);
});

test('what contradicts itself is refused', () => {
  const cases = [
    [() => combine(limitToFirst(1), limitToLast(1)), /^limitToLast: the query has a limit already/],
    [() => combine(orderByKey(), orderByValue()), /^orderByValue: the query has an order already/],
    [() => combine(orderByPriority(), orderByKey()), /^orderByKey: the query has an order already/],
    [() => combine(startAt(1), startAfter(2)), /has a start already, from startAt\(\)/],
    [() => combine(endAt(1), endBefore(2)), /^endBefore: the query has an end already, from endAt/],
    [() => combine(startAt(1), equalTo(2)), /^equalTo: the query has a start already/],
    [() => combine(equalTo(2), endAt(1)), /^endAt: the query has an end already, from equalTo\(\)/],
    [
      () => combine(orderByKey(), startAt(5)),
      /^startAt: a query ordered by key takes a text, found 5/,
    ],
    [() => combine(orderByKey(), startAt()), /takes a text, found null/],
    [() => combine(orderByKey(), endAt('a', 'b')), /^endAt: .* takes one key, and no second one/],
    [() => combine(orderByPriority(), equalTo(true)), /takes null, a number or a text, found true/],
    [() => combine(endAt(false)), /^endAt: a query ordered by priority takes/],
    [() => combine('limitToLast'), /^query takes what orderByChild\(\)/],
    [() => combine(undefined), /^query takes what/],
  ];
  for (const [ask, message] of cases) assert.throws(ask, { code: 'INVALID_ARGUMENT', message });
});

test('what a query has already counts too', () => {
  const base = combine(orderByPriority(), limitToLast(1));
  for (const constraint of [orderByKey(), limitToFirst(1)]) {
    assert.throws(() => QueryConstraint.combine(base, [constraint]), { code: 'INVALID_ARGUMENT' });
  }
  assert.equal(QueryConstraint.combine(base, [startAt(1)]).limit, 1);
});

test('an order by child takes the path of a child', () => {
  const cases = [
    ['$key', 'INVALID_ARGUMENT', /\$key is no child; use orderByKey\(\)/],
    ['.value', 'INVALID_ARGUMENT', /\.value is no child; use orderByValue\(\)/],
    ['.priority', 'INVALID_ARGUMENT', /use orderByPriority\(\)/],
    ['/', 'INVALID_ARGUMENT', /^orderByChild: the path is empty/],
    ['a.b', 'INVALID_PATH', /the key "a\.b"/],
    ['a/$b', 'INVALID_PATH', /holds "\$"/],
    [undefined, 'INVALID_PATH', /a path is a string/],
  ];
  for (const [path, code, message] of cases) {
    assert.throws(() => orderByChild(path), { code, message });
  }
});

test('a limit is a whole number from 1', () => {
  const cases = [0, -1, 1.5, NaN, '2', null, undefined, 2147483648];
  for (const limit of cases) {
    const message = /^limitToLast takes a whole number from 1 to 2147483647, found/;
    assert.throws(() => limitToLast(limit), { code: 'INVALID_ARGUMENT', message });
  }
  assert.throws(() => limitToFirst({}), /^TreeError: limitToFirst takes .*, found an object/);
  assert.equal(combine(limitToFirst(2147483647)).limit, 2147483647);
});

test('a bound is a leaf or null, its key a key', () => {
  const cases = [
    [() => startAt({}), 'INVALID_ARGUMENT', /^startAt takes null, .* found an object/],
    [() => endAt([1]), 'INVALID_ARGUMENT', /found an array/],
    [() => equalTo(), 'INVALID_ARGUMENT', /^equalTo takes .* found undefined/],
    [() => startAfter(), 'INVALID_ARGUMENT', /^startAfter/],
    [() => endBefore(), 'INVALID_ARGUMENT', /^endBefore/],
    [() => startAt(NaN), 'INVALID_ARGUMENT', /found NaN/],
    [() => endAt('x\ud800'), 'INVALID_ARGUMENT', /found half of a surrogate pair/],
    [() => startAt(1, 5), 'INVALID_ARGUMENT', /a key is a text, found 5/],
    [() => startAt(1, 'a/b'), 'INVALID_PATH', /the key "a\/b" in startAt holds/],
  ];
  for (const [ask, code, message] of cases) assert.throws(ask, { code, message });
});

test('constraints and selections cannot be changed', () => {
  const constraint = limitToLast(2);
  assert.equal(constraint.type, 'limitToLast');
  for (const made of [constraint, combine(constraint), combine(startAt(1)).start]) {
    assert.ok(Object.isFrozen(made));
  }
});
