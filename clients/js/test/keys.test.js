import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { compareKeys, keyProblem, parsePath, sortKeys } from '../keys.js';

const CASES = JSON.parse(
  readFileSync(new URL('../../../tests/spec/keys.json', import.meta.url), 'utf8'),
);

test('every legal key is taken', () => {
  for (const key of CASES.legal) assert.equal(keyProblem(key), null, JSON.stringify(key));
});

test('every illegal key is refused, and the sentence tells why', () => {
  for (const { key, why } of CASES.illegal) {
    const word = why.split(' ')[0] === 'lone' ? 'surrogate' : /empty|holds|control/.exec(why)[0];
    assert.match(keyProblem(key) ?? '', new RegExp(word), JSON.stringify(key));
  }
});

test('a key has at most 768 bytes of UTF-8', () => {
  for (const [text, times, legal] of CASES.repeated) {
    assert.equal(keyProblem(text.repeat(times)) === null, legal, `${text} x ${times}`);
  }
});

test('keys are in the order of Firebase', () => {
  const { order } = CASES;
  for (let left = 0; left < order.length; left += 1) {
    for (let right = 0; right < order.length; right += 1) {
      const found = Math.sign(compareKeys(order[left], order[right]));
      assert.equal(found, Math.sign(left - right), `${order[left]} and ${order[right]}`);
    }
  }
  assert.deepEqual(sortKeys([...order].reverse()), order);
  assert.deepEqual(sortKeys([...order]), order);
});

test('slashes too many do not matter in a path', () => {
  for (const path of ['a/b', '/a/b', 'a/b/', '//a//b//']) {
    assert.deepEqual(parsePath(path), ['a', 'b']);
  }
  assert.deepEqual(parsePath('/'), []);
  assert.deepEqual(parsePath(''), []);
});

test('a path is refused with the reason', () => {
  const cases = [
    ['a/b.c', {}, /the key "b\.c" in a\/b\.c holds "\."/],
    ['a/.priority', {}, /the key "\.priority"/],
    ['a/.priority/b', { allowPriority: true }, /the key "\.priority"/],
    ['x/'.repeat(33), {}, /33 levels, at most 32 are allowed: \/x\/x\/x\/\.\.\./],
    [7, {}, /a path is a string, found number/],
  ];
  for (const [path, options, message] of cases) {
    assert.throws(() => parsePath(path, options), { code: 'INVALID_PATH', message });
  }
});

test('the priority of a place may be named where that makes sense', () => {
  assert.deepEqual(parsePath('a/.priority', { allowPriority: true }), ['a', '.priority']);
  assert.equal(parsePath(`${'x/'.repeat(32)}.priority`, { allowPriority: true }).length, 33);
});
