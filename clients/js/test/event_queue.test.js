import assert from 'node:assert/strict';
import { test } from 'node:test';

import { EventQueue } from '../event_queue.js';

test('what is added is called in its order', () => {
  const queue = new EventQueue();
  const called = [];
  for (const name of ['a', 'b']) queue.add(() => called.push(name));
  assert.deepEqual(called, []);
  queue.flush();
  queue.flush();
  assert.deepEqual(called, ['a', 'b']);
});

test('what a call adds comes after what was there before, and before the call returns', () => {
  const queue = new EventQueue();
  const called = [];
  queue.add(() => {
    queue.add(() => called.push('third'));
    called.push('first');
    queue.flush();
    called.push('first is over');
  });
  queue.add(() => called.push('second'));
  queue.flush();
  assert.deepEqual(called, ['first', 'second', 'third', 'first is over']);
});

test('work done together is delivered once, after the outermost is done', () => {
  const queue = new EventQueue();
  const called = [];
  queue.together(() => {
    queue.together(() => queue.add(() => called.push('a')));
    queue.flush();
    called.push('work');
  });
  assert.deepEqual(called, ['work', 'a']);
});

test('work that fails holds nothing back', () => {
  const queue = new EventQueue();
  const called = [];
  const fail = () => {
    throw new Error('mine');
  };
  assert.throws(() => queue.together(fail), { message: 'mine' });
  queue.add(() => called.push('a'));
  queue.flush();
  assert.deepEqual(called, ['a']);
});
