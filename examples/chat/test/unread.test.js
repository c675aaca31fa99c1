import assert from 'node:assert/strict';
import { test } from 'node:test';

import { openMemory } from '../memory.js';
import { fakeStorage } from '../testing/fake_storage.js';
import { openUnread } from '../unread.js';

const setUp = () => {
  const storage = fakeStorage();
  return {
    open: (uid = 'me') =>
      openUnread(
        openMemory(() => storage),
        uid,
      ),
  };
};
const room = (count) => ({ id: 'general', count });

test('a room met for the first time has nothing new', () => {
  const unread = setUp().open();
  assert.equal(unread.count(room(500)), 0);
  unread.meet([room(500)]);
  assert.equal(unread.count(room(500)), 0);
});

test('what is written later counts until it is read', () => {
  const unread = setUp().open();
  unread.meet([room(5)]);
  unread.meet([room(7)]);
  assert.equal(unread.count(room(7)), 2);
  unread.markRead(room(7));
  assert.equal(unread.count(room(7)), 0);
  assert.equal(unread.count(room(6)), 0);
});

test('it is remembered, for each person', () => {
  const { open } = setUp();
  open('mary').meet([room(5)]);
  assert.equal(open('mary').count(room(8)), 3);
  assert.equal(open('bob').count(room(8)), 0);
});
