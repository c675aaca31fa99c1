import assert from 'node:assert/strict';
import { test } from 'node:test';

import { whyRefused } from '../refusal.js';

test('a denial is said in words for people', () => {
  const error = { code: 'PERMISSION_DENIED', message: 'set /rooms/a: Permission denied' };
  assert.equal(whyRefused(error), 'the rules of this server do not allow it');
});

test('a refused sign-in tells what to do about it', () => {
  assert.match(whyRefused({ code: 'INVALID_TOKEN', message: 'sign in: no' }), /--dev/);
});

test('what has no words of ours keeps its own', () => {
  assert.equal(whyRefused({ code: 'INVALID_DATA', message: 'no good' }), 'no good');
  assert.equal(whyRefused(new Error('no good')), 'no good');
});
