import assert from 'node:assert/strict';
import { test } from 'node:test';

import { arrange } from '../timeline.js';

const NOW = new Date(2026, 10, 18, 15, 30).getTime();
const MINUTE = 60_000;
const message = (id, sender, minutesAgo) => ({
  id,
  sender,
  at: minutesAgo === null ? null : NOW - minutesAgo * MINUTE,
});

/** Write items down shortly: "day Today", "unread", or the id with ( and ) round its group. */
const shape = (messages, firstUnread = null) =>
  arrange(messages, { uid: 'me', now: NOW, firstUnread }).map((item) => {
    if (item.kind === 'day') return `day ${item.label}`;
    if (item.kind === 'unread') return 'unread';
    const [start, end] = [item.startsGroup ? '(' : '', item.endsGroup ? ')' : ''];
    return `${start}${item.key}${item.isOwn ? '*' : ''}${end}`;
  });

test('nothing is arranged to nothing', () => {
  assert.deepEqual(shape([]), []);
});

test('messages of one person within five minutes form a group', () => {
  const messages = [
    message('a', 'mary', 20),
    message('b', 'mary', 18),
    message('c', 'me', 17),
    message('d', 'me', 16),
    message('e', 'me', 11),
    message('f', 'mary', 10),
  ];
  assert.deepEqual(shape(messages), ['day Today', '(a', 'b)', '(c*', 'd*)', '(e*)', '(f)']);
});

test('a new day has its heading and breaks a group', () => {
  const messages = [
    message('a', 'mary', 24 * 60),
    message('b', 'mary', 15 * 60 + 31),
    message('c', 'mary', 15 * 60 + 29),
  ];
  assert.deepEqual(shape(messages), ['day Yesterday', '(a)', '(b)', 'day Today', '(c)']);
});

test('the line of what is new breaks a group', () => {
  const messages = [message('a', 'mary', 3), message('b', 'mary', 2), message('c', 'mary', 1)];
  assert.deepEqual(shape(messages, 'b'), ['day Today', '(a)', 'unread', '(b', 'c)']);
});

test('messages without a time stand where they are', () => {
  const messages = [
    message('a', 'mary', null),
    message('b', 'mary', null),
    message('c', 'mary', 1),
  ];
  assert.deepEqual(shape(messages), ['(a', 'b)', 'day Today', '(c)']);
});

test('keys are unique', () => {
  const messages = [message('a', 'x', 1), message('b', 'x', null), message('c', 'x', 1)];
  const keys = arrange(messages, { uid: 'me', now: NOW, firstUnread: 'c' }).map(({ key }) => key);
  assert.equal(new Set(keys).size, keys.length);
});
