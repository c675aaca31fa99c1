import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';

import { OpenRoom } from '../open_room.js';

const message = (id, sender, at = 1) => ({ id, sender, name: sender, text: id, at, state: 'sent' });
const from = (...ids) => ids.map((id) => message(id, id.startsWith('m') ? 'me' : 'bob'));

/** A room whose data the test brings. */
const setUp = (unread = 0) => {
  const stopped = [];
  const asked = { members: [], messages: [] };
  const listen = (kind) => (_, callback, onRefused) => {
    asked[kind].push({ callback, onRefused });
    return () => stopped.push(kind);
  };
  const model = { onMembers: listen('members'), onMessages: listen('messages') };
  const room = new OpenRoom('general', { uid: 'me', unread }, model, () => {});
  const bringMembers = (members) => asked.members.at(-1).callback(members);
  const bring = (...ids) => {
    if (asked.messages.length === 0) bringMembers([ME]);
    asked.messages.at(-1).callback(from(...ids));
  };
  return { room, bring, bringMembers, stopped, asked };
};
const ME = { uid: 'me', name: 'Mary', joined: 1 };
const BOB = { uid: 'bob', name: 'Robert', joined: 1 };
const DENIED = { code: 'PERMISSION_DENIED', message: 'Permission denied' };

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
  bringMembers([ME, BOB]);
  assert.equal(room.nameOf(room.messages[0]), 'Robert');
});

test('it is known when each wrote last', () => {
  const { room, bring } = setUp();
  assert.equal(room.lastWrote().size, 0);
  bring('b1', 'm1');
  assert.deepEqual([...room.lastWrote().keys()], ['bob', 'me']);
});

test('messages are asked for by members only, once', () => {
  const { room, bringMembers, asked } = setUp();
  assert.equal(room.mine, undefined);
  bringMembers([BOB]);
  assert.equal(asked.messages.length, 0);
  bringMembers([BOB, ME]);
  bringMembers([BOB, ME]);
  assert.equal(asked.messages.length, 1);
  assert.equal(room.mine, ME);
});

test('a room that is denied says why, until it lets us in', () => {
  const { room, bring, bringMembers, asked } = setUp();
  asked.members[0].onRefused(DENIED);
  assert.match(room.problem, /rules/);
  bring('b1');
  assert.equal(room.problem, null);
  asked.messages[0].onRefused(DENIED);
  assert.match(room.problem, /rules/);
  assert.equal(room.messages, null);
  bringMembers([ME, BOB]);
  bring('b1', 'b2');
  assert.equal(asked.messages.length, 2);
  assert.equal(room.problem, null);
});

test('who is a member no longer may come in again, and hears of no problem', () => {
  const { room, bring, bringMembers, asked } = setUp();
  bring('b1');
  room.joinedAs = 'Mary';
  bringMembers([BOB]);
  asked.messages[0].onRefused(DENIED);
  assert.equal(room.joinedAs, null);
  assert.equal(room.problem, null);
  assert.equal(room.messages, null);
});

test('closing ends the listens', () => {
  const { room, bring, stopped } = setUp();
  bring('b1');
  room.close();
  assert.deepEqual(stopped, ['members', 'messages']);
  const unread = setUp();
  unread.room.close();
  assert.deepEqual(unread.stopped, ['members'], 'messages were never asked for');
});
