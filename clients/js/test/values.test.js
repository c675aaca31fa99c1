import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createContext, runInContext } from 'node:vm';

import { increment, serverTimestamp, toWire } from '../values.js';

const written = (value, place = ['here']) => JSON.stringify(toWire(value, place));

test('values are written in wire form', () => {
  const cases = [
    [null, 'null'],
    [true, 'true'],
    [1.5, '1.5'],
    ['text 😀', '"text 😀"'],
    [{ a: 1, b: null }, '{"a":1}'],
    [['x', null, 'z'], '{"0":"x","2":"z"}'],
    [{ a: { '.value': 'v', '.priority': 3 } }, '{"a":{".value":"v",".priority":3}}'],
    [{ a: serverTimestamp() }, '{"a":{".sv":"timestamp"}}'],
    [increment(-2.5), '{".sv":{"increment":-2.5}}'],
    [
      { '.value': 1, '.priority': serverTimestamp() },
      '{".value":1,".priority":{".sv":"timestamp"}}',
    ],
    [JSON.parse('{"__proto__":{"a":1}}'), '{"__proto__":{"a":1}}'],
    [{ constructor: 'c', toString: 't' }, '{"constructor":"c","toString":"t"}'],
    [Object.assign(Object.create(null), { a: 1 }), '{"a":1}'],
    [runInContext('({a: [1]})', createContext()), '{"a":{"0":1}}'],
  ];
  for (const [value, text] of cases) assert.equal(written(value), text);
});

test('what is no JSON value is refused, with the place', () => {
  const looped = {};
  looped.self = looped;
  const cases = [
    [undefined, /\/here: undefined is no JSON value/],
    [{ a: undefined }, /\/here\/a: undefined is no JSON value/],
    [{ a: { b: () => {} } }, /\/here\/a\/b: function is no JSON value/],
    [{ a: NaN }, /\/here\/a: NaN is no JSON number/],
    [Infinity, /Infinity is no JSON number/],
    [10n, /bigint is no JSON value/],
    [{ at: new Date(0) }, /\/here\/at: a Date is no JSON value/],
    [new Map(), /a Map is no JSON value/],
    [{ a: 'x\ud800' }, /\/here\/a: the text holds half of a surrogate pair/],
    [looped, /goes deeper than 32 levels/],
    [{ '.sv': 'now' }, /\.sv takes "timestamp" or/],
    [{ '.value': { a: 1 } }, /\.value holds a object/],
  ];
  for (const [value, message] of cases) {
    assert.throws(() => toWire(value, ['here']), { code: 'INVALID_DATA', message });
  }
});

test('keys inside a value are checked', () => {
  const message = /the key "b\.c" in the value for \/here\/a holds "\."/;
  assert.throws(() => toWire({ a: { 'b.c': 1 } }, ['here']), { code: 'INVALID_PATH', message });
});

test('thirty-two levels are taken, thirty-three are not', () => {
  const nested = (levels) => (levels === 0 ? 'leaf' : { x: nested(levels - 1) });
  assert.doesNotThrow(() => toWire(nested(31), ['here']));
  assert.throws(() => toWire(nested(32), ['here']), { code: 'INVALID_DATA' });
});

test('an increment is a finite number', () => {
  for (const wrong of [NaN, Infinity, '1', undefined]) {
    assert.throws(() => increment(wrong), { code: 'INVALID_ARGUMENT' });
  }
});
