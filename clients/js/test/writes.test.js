import assert from 'node:assert/strict';
import { test } from 'node:test';

import { limitToLast } from '../constraints.js';
import { query } from '../query.js';
import { increment, serverTimestamp } from '../values.js';
import { settled } from '../testing/fake_machine.js';
import { DENIED, heardFrom, opened } from '../testing/opened.js';

test('a write shows at once, and once', async () => {
  const { database, socket, sent } = await opened();
  const heard = heardFrom(database.ref('/a'));
  socket().push('d', { p: 'a', d: { x: 1 } });
  socket().answer(1, 'ok', {});
  const written = database.ref('/a/y').set(2);
  assert.deepEqual(heard, [{ x: 1 }, { x: 1, y: 2 }], 'when set() returns');
  assert.deepEqual(sent().at(-1), [2, 'p', { p: '/a/y', d: 2 }]);
  socket().push('d', { p: 'a/y', d: 2 });
  socket().answer(2);
  await written;
  assert.equal(heard.length, 2);
});

test('what the server refuses is taken back before the promise tells', async () => {
  const { database, socket } = await opened();
  const heard = heardFrom(database.ref('/a'));
  socket().push('d', { p: 'a', d: { x: 1 } });
  socket().answer(1, 'ok', {});
  for (const [number, write] of [
    [2, () => database.ref('/a').set(5)],
    [3, () => database.ref('/a').update({ x: null, 'y/z': 2 })],
    [4, () => database.ref('/a/x').remove()],
  ]) {
    const written = write();
    assert.equal(heard.length, 2 * number - 2);
    socket().answer(number, ...DENIED);
    assert.deepEqual(heard.at(-1), { x: 1 });
    await assert.rejects(written, { code: 'PERMISSION_DENIED' });
  }
  assert.equal(heard.length, 7);
});

test('later writes stay when an earlier one is refused', async () => {
  const { database, socket } = await opened();
  const heard = heardFrom(database.ref('/a'));
  socket().answer(1, 'ok', {});
  const first = database.ref('/a').set({ x: 1 });
  database.ref('/a/y').set(2);
  socket().answer(2, ...DENIED);
  await assert.rejects(first);
  assert.deepEqual(heard, [null, { x: 1 }, { x: 1, y: 2 }, { y: 2 }]);
});

test('one who listens to nothing the server told yet sees what he wrote to the whole', async () => {
  const { database, socket } = await opened();
  database.ref('/a').set({ x: 1 });
  const heard = heardFrom(database.ref('/a'));
  const below = heardFrom(database.ref('/a/x'));
  const part = heardFrom(database.ref('/'));
  await settled();
  assert.deepEqual([heard, below, part], [[{ x: 1 }], [1], []]);
  socket().push('d', { p: '', d: { a: { x: 1 }, b: 2 } });
  assert.deepEqual(part, [{ a: { x: 1 }, b: 2 }]);
});

test('a refused write leaves a place that the server has not told of unknown', async () => {
  const { database, socket } = await opened();
  database
    .ref('/a')
    .set('mine')
    .catch(() => {});
  const early = heardFrom(database.ref('/a'));
  await settled();
  socket().answer(1, ...DENIED);
  const late = heardFrom(database.ref('/a'));
  await settled();
  assert.deepEqual([early, late], [['mine'], []]);
  socket().push('d', { p: 'a', d: 'theirs' });
  assert.deepEqual([early, late], [['mine', 'theirs'], ['theirs']]);
});

test('an update is one event, whatever of it is removed', async () => {
  const { database, socket } = await opened();
  const heard = heardFrom(database.ref('/a'));
  socket().push('d', { p: 'a', d: { x: { old: 1 } } });
  socket().answer(1, 'ok', {});
  database.ref('/a').update({ 'x/old': null, 'x/new': 2, y: 3, 'x/.priority': 7 });
  assert.deepEqual(heard.slice(1), [{ x: { new: 2 }, y: 3 }]);
});

test('a placeholder shows as an estimate and then as what the server made of it', async () => {
  const { machine, database, socket } = await opened();
  const time = heardFrom(database.ref('/time'));
  const count = heardFrom(database.ref('/count'));
  for (const number of [1, 2]) socket().answer(number, 'ok', {});
  database.ref('/time').set(serverTimestamp());
  assert.deepEqual(time, [null, machine.now()]);
  socket().push('d', { p: 'time', d: machine.now() + 3 });
  assert.equal(time.length, 2, 'the estimate stays until the server says yes');
  socket().answer(3);
  assert.deepEqual(time.slice(2), [machine.now() + 3]);
  for (let times = 0; times < 3; times += 1) database.ref('/count').set(increment(1));
  assert.deepEqual(count, [null, 1, 2, 3]);
  socket().push('d', { p: 'count', d: 11 });
  socket().answer(4);
  socket().push('d', { p: 'count', d: 12 });
  socket().answer(5);
  assert.equal(count.length, 4);
  socket().push('d', { p: 'count', d: 13 });
  socket().answer(6);
  assert.deepEqual(count.slice(4), [13]);
});

test('an update of an increment and a literal, and one more, are two events', async () => {
  const { database, socket } = await opened();
  const heard = heardFrom(database.ref('/a'));
  socket().answer(1, 'ok', {});
  database.ref('/a').update({ 'child/increment': increment(1), literal: 5 });
  database.ref('/a/child/increment').set(increment(41));
  socket().push('m', { p: 'a', d: { 'child/increment': 1, literal: 5 } });
  socket().answer(2);
  socket().push('d', { p: 'a/child/increment', d: 42 });
  socket().answer(3);
  assert.deepEqual(heard.slice(1), [
    { child: { increment: 1 }, literal: 5 },
    { child: { increment: 42 }, literal: 5 },
  ]);
});

test('a window shows what enters and leaves it by our own writes', async () => {
  const { database, socket } = await opened();
  const list = database.ref('/list');
  const heard = heardFrom(query(list, limitToLast(2)));
  socket().push('d', { p: 'list', d: { b: 2, c: 3 }, t: 1 });
  socket().answer(1, 'ok', {});
  list.child('d').set(4);
  list.child('a/x').set(1); // perhaps it is there already, with more than x
  list.child('c').remove();
  assert.deepEqual(heard, [
    { b: 2, c: 3 },
    { c: 3, d: 4 },
    { b: 2, d: 4 },
  ]);
});

test('writes made offline show at once, and are replayed in order after the listens', async () => {
  const { database, socket, sent, reconnect } = await opened();
  const heard = heardFrom(database.ref('/a'));
  socket().push('d', { p: 'a', d: { x: 1 } });
  socket().answer(1, 'ok', {});
  database.goOffline();
  database.ref('/a/y').set(2);
  database.ref('/a').update({ x: increment(1) });
  assert.deepEqual(heard.slice(1), [
    { x: 1, y: 2 },
    { x: 2, y: 2 },
  ]);
  database.goOnline();
  await reconnect();
  assert.deepEqual(
    sent().map(([, action, { p }]) => [action, p]),
    [
      ['q', '/a'],
      ['p', '/a/y'],
      ['m', '/a'],
    ],
  );
  socket().push('d', { p: 'a', d: { x: 5 } });
  socket().answer(2, 'ok', {});
  socket().push('d', { p: 'a/y', d: 2 });
  socket().answer(3);
  socket().push('d', { p: 'a/x', d: 6 });
  socket().answer(4);
  assert.deepEqual(heard.slice(3), [{ x: 6, y: 2 }]);
});

test('a callback that writes is heard of by everybody in the right order', async () => {
  const { database, socket } = await opened();
  const ref = database.ref('/a');
  ref.onValue((snapshot) => {
    if (snapshot.val() === 1) ref.set(2);
  });
  const heard = heardFrom(ref);
  socket().push('d', { p: 'a', d: 1 });
  assert.deepEqual(heard, [1, 2]);
});

test('priorities are written with a value or alone', async () => {
  const { database, sent } = await opened();
  const ref = database.ref('/a');
  const priorities = [];
  ref.onValue((snapshot) => priorities.push([snapshot.val(), snapshot.priority]));
  ref.setWithPriority({ x: 1 }, 'p');
  ref.setPriority(0);
  ref.setWithPriority(serverTimestamp(), serverTimestamp());
  ref.setWithPriority(null, 5);
  await assert.rejects(ref.setPriority(true), { code: 'INVALID_DATA' });
  await assert.rejects(ref.setWithPriority(1, {}), { code: 'INVALID_DATA' });
  const now = { '.sv': 'timestamp' };
  assert.deepEqual(
    sent().map(([, , { p, d }]) => [p, d]),
    [
      ['/a', undefined],
      ['/a', { x: 1, '.priority': 'p' }],
      ['/a/.priority', 0],
      ['/a', { '.value': now, '.priority': now }],
      ['/a', null],
    ],
  );
  assert.deepEqual(priorities.slice(0, 2), [
    [{ x: 1 }, 'p'],
    [{ x: 1 }, 0],
  ]);
});

test('a write too big to be sent is not shown', async () => {
  const { database, socket } = await opened();
  const heard = heardFrom(database.ref('/a'));
  socket().answer(1, 'ok', {});
  const written = database.ref('/a').set('x'.repeat(17 * 1024 * 1024));
  await assert.rejects(written, { code: 'TOO_BIG' });
  assert.deepEqual(heard, [null]);
});
