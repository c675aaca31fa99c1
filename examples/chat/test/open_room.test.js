import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';

import { OpenRoom } from '../open_room.js';

const message = (id, sender, at = 1) => ({ id, sender, name: sender, text: id, at, state: 'sent' });
const from = (...ids) => ids.map((id) => message(id, id.startsWith('m') ? 'me' : 'bob'));

/** A room whose data the test brings. */
const setUp = (unread = 0) => {
  const stopped = [];
  let bring;
  let bringMembers;
  const model = {
    onMembers: (_, callback) => {
      bringMembers = callback;
      return () => stopped.push('members');
    },
    onMessages: (_, callback) => {
      bring = callback;
      return () => stopped.push('messages');
    },
  };
  const room = new OpenRoom('general', { uid: 'me', unread }, model, () => {});
  return { room, bring: (...ids) => bring(from(...ids)), bringMembers, stopped };
};

beforeEach(() => {
  globalThis.document = { hidden: false };
});

test('the messages arrive once', () => {
  const { room, bring } = setUp();
  assert.equal(room.takeArrival(), false);
  bring('b1');
  assert.equal(room.takeArrival(), true);
  bring('b1', 'b2');
  assert.equal(room.takeArrival(), false);
});

test('news are what others wrote since the last look', () => {
  const { room, bring } = setUp();
  bring('b1');
  assert.deepEqual(room.takeNews(), []);
  bring('b1', 'm1', 'b2');
  assert.deepEqual(
    room.takeNews().map(({ id }) => id),
    ['b2'],
  );
  assert.deepEqual(room.takeNews(), []);
});

test('the line stands above the first unread message of others', () => {
  const { room, bring } = setUp(3);
  bring('b1', 'b2', 'm1', 'b3', 'b4');
  assert.equal(room.firstUnread, 'b3');
  const unknown = setUp(9);
  unknown.bring('b1', 'b2');
  assert.equal(unknown.room.firstUnread, null, 'a line above everything says nothing');
});

test('while nobody looks the line stands above the first that came', () => {
  const { room, bring } = setUp();
  bring('b1');
  document.hidden = true;
  bring('b1', 'b2');
  bring('b1', 'b2', 'b3');
  assert.equal(room.firstUnread, 'b2');
  document.hidden = false;
  bring('b1', 'b2', 'b3', 'b4');
  document.hidden = true;
  bring('b1', 'b2', 'b3', 'b4', 'b5');
  assert.equal(room.firstUnread, 'b5');
});

test('messages carry the name their writer has now', () => {
  const { room, bring, bringMembers } = setUp();
  bring('b1');
  assert.equal(room.nameOf(room.messages[0]), 'bob');
  bringMembers([{ uid: 'bob', name: 'Robert', joined: 1 }]);
  assert.equal(room.nameOf(room.messages[0]), 'Robert');
});

test('it is known when each wrote last', () => {
  const { room, bring } = setUp();
  assert.equal(room.lastWrote().size, 0);
  bring('b1', 'm1');
  assert.deepEqual([...room.lastWrote().keys()], ['bob', 'me']);
});

test('closing ends the listens', () => {
  const { room, stopped } = setUp();
  room.close();
  assert.deepEqual(stopped, ['members', 'messages']);
});
