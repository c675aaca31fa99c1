import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Outbox } from '../outbox.js';

const ROOM = { id: 'general', name: 'General' };
const ME = { uid: 'me', name: 'Mary' };
const KNOWN = () => ({ isNewRoom: false, isMember: true });
const DENIED = Object.assign(new Error('Permission denied'), { code: 'PERMISSION_DENIED' });

/** A model whose writes the test answers. */
const setUp = () => {
  const writes = [];
  const model = {
    now: () => 1000,
    newMessageId: () => `id${writes.length + 1}`,
    send: (...write) => new Promise((resolve, reject) => writes.push({ write, resolve, reject })),
  };
  let changes = 0;
  const outbox = new Outbox(model, () => {
    changes += 1;
  });
  const states = (messages = []) =>
    outbox.merge('general', messages).map(({ id, state }) => [id, state]);
  return { writes, outbox, states, changes: () => changes };
};
const turn = () => new Promise(setImmediate);
const sent = (id) => ({ id, sender: 'me', name: 'Mary', text: 'x', at: 1, state: 'sent' });

test('a message is pending until the server has it', async () => {
  const { writes, outbox, states, changes } = setUp();
  outbox.send(ROOM, KNOWN, ME, 'hello');
  assert.deepEqual(states(), [['id1', 'pending']]);
  assert.deepEqual(states([sent('id1')]), [['id1', 'pending']], 'the data comes before its ok');
  writes[0].resolve();
  await turn();
  assert.deepEqual(states([sent('id1')]), [['id1', 'sent']]);
  assert.equal(changes(), 2);
});

test('a message that waits stands after those that are there, in its own room only', () => {
  const { outbox, states } = setUp();
  outbox.send(ROOM, KNOWN, ME, 'one');
  outbox.send({ id: 'other' }, KNOWN, ME, 'elsewhere');
  outbox.send(ROOM, KNOWN, ME, 'two');
  assert.deepEqual(states([sent('a')]), [
    ['a', 'sent'],
    ['id1', 'pending'],
    ['id3', 'pending'],
  ]);
});

test('a refused message says why and can be sent again, under its id', async (context) => {
  context.mock.method(console, 'warn', () => {});
  const { writes, outbox, states } = setUp();
  let isMember = false;
  outbox.send(ROOM, () => ({ isNewRoom: false, isMember }), ME, 'hello');
  writes[0].reject(DENIED);
  await turn();
  assert.deepEqual(states(), [['id1', 'failed']]);
  assert.match(outbox.merge('general', [])[0].problem, /rules/);
  isMember = true;
  outbox.retry('id1');
  assert.deepEqual(states(), [['id1', 'pending']]);
  assert.deepEqual(writes[1].write[1], { isNewRoom: false, isMember: true });
  assert.equal(writes[1].write[2].id, 'id1');
  outbox.retry('id1');
  outbox.retry('unknown');
  assert.equal(writes.length, 2);
});

test('who makes a room just after somebody else writes in that one', async (context) => {
  context.mock.method(console, 'warn', () => {});
  const { writes, outbox, states } = setUp();
  let isNewRoom = true;
  outbox.send(ROOM, () => ({ isNewRoom, isMember: false }), ME, 'hello');
  isNewRoom = false;
  writes[0].reject(DENIED);
  await turn();
  assert.deepEqual(states(), [['id1', 'pending']]);
  assert.equal(writes[1].write[1].isNewRoom, false);
  writes[1].reject(DENIED);
  await turn();
  assert.deepEqual(states(), [['id1', 'failed']], 'and is not tried for ever');
});

test('a message that came twice, its yes being lost, has not failed', async (context) => {
  context.mock.method(console, 'warn', () => {});
  const { writes, outbox, states } = setUp();
  outbox.send(ROOM, KNOWN, ME, 'hello');
  writes[0].reject(DENIED);
  await turn();
  assert.deepEqual(states([sent('id1')]), [['id1', 'sent']]);
});
