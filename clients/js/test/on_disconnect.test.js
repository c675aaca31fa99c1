import assert from 'node:assert/strict';
import { test } from 'node:test';

import { increment, serverTimestamp } from '../values.js';
import { DENIED, heardFrom, opened } from '../testing/opened.js';

test('requests are in the words of the protocol, and settle with the answer', async () => {
  const { database, socket, sent } = await opened();
  const last = database.ref('/a').onDisconnect();
  const asked = [
    last.set({ list: ['x'] }),
    last.setWithPriority(5, 'p'),
    last.update({ 'b/c': serverTimestamp(), d: null }),
    last.remove(),
    last.cancel(),
  ];
  assert.deepEqual(sent(), [
    [1, 'o', { p: '/a', d: { list: { 0: 'x' } } }],
    [2, 'o', { p: '/a', d: { '.value': 5, '.priority': 'p' } }],
    [3, 'om', { p: '/a', d: { 'b/c': { '.sv': 'timestamp' }, d: null } }],
    [4, 'o', { p: '/a', d: null }],
    [5, 'oc', { p: '/a', d: null }],
  ]);
  for (const number of [1, 2, 3, 4, 5]) socket().answer(number);
  await Promise.all(asked);
  const refused = last.set(1);
  socket().answer(6, ...DENIED);
  await assert.rejects(refused, {
    code: 'PERMISSION_DENIED',
    message: 'onDisconnect /a: Permission denied',
  });
  await assert.rejects(last.set(NaN), { code: 'INVALID_DATA' });
  await assert.rejects(last.update(7), { code: 'INVALID_ARGUMENT' });
});

test('what the server has noted shows when the connection is lost, once', async () => {
  const { machine, database, socket, reconnect } = await opened();
  const heard = heardFrom(database.ref('/a'));
  socket().push('d', { p: 'a', d: { online: true, count: 5, other: 1 } });
  socket().answer(1, 'ok', {});
  const last = database.ref('/a').onDisconnect();
  last.update({ online: null, at: serverTimestamp(), count: increment(1), other: 2 });
  database.ref('/a/other').onDisconnect().cancel();
  database
    .ref('/a/refused')
    .onDisconnect()
    .set(1)
    .catch(() => {});
  for (const number of [2, 3]) socket().answer(number);
  socket().answer(4, ...DENIED);
  assert.equal(heard.length, 1);
  socket().drop();
  const expected = { at: machine.now(), count: 6, other: 1 };
  assert.deepEqual(heard.slice(1), [expected]);
  await reconnect();
  socket().push('d', { p: 'a', d: { ...expected, online: true } });
  socket().answer(5, 'ok', {});
  socket().drop();
  assert.deepEqual(heard.slice(2), [{ ...expected, online: true }]);
});

test('what the server had no time to answer is asked again', async () => {
  const { database, socket, sent, reconnect } = await opened();
  database.ref('/a').onDisconnect().set(1);
  socket().drop();
  database.ref('/b').onDisconnect().set(2);
  await reconnect();
  assert.deepEqual(
    sent().map(([, action, { p }]) => [action, p]),
    [
      ['o', '/a'],
      ['o', '/b'],
    ],
  );
});
