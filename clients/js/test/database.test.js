import assert from 'node:assert/strict';
import { test } from 'node:test';

import { openDatabase } from '../database.js';
import { increment, serverTimestamp } from '../values.js';
import { FakeMachine, settled } from '../testing/fake_machine.js';
import { fakeSockets } from '../testing/fake_socket.js';

const setUp = async () => {
  const machine = new FakeMachine();
  const { FakeSocket, sockets } = fakeSockets();
  const database = openDatabase('http://h:1?ns=demo', { WebSocket: FakeSocket }, machine);
  await settled();
  sockets[0].greet();
  return { machine, socket: sockets[0], database };
};

test('the namespace of the URL is dialled', async () => {
  const { socket } = await setUp();
  assert.equal(socket.url.href, 'ws://h:1/.ws?v=5&ns=demo');
});

test('references know their place', async () => {
  const { database } = await setUp();
  const ref = database.ref('rooms/one').child('/name/first');
  assert.equal(ref.path, '/rooms/one/name/first');
  assert.equal(ref.key, 'first');
  assert.equal(ref.parent.path, '/rooms/one/name');
  assert.equal(String(ref), ref.path);
  assert.equal(database.ref().path, '/');
  assert.equal(database.ref().key, null);
  assert.equal(database.ref().parent, null);
  assert.throws(() => ref.child('a.b'), { code: 'INVALID_PATH' });
  assert.throws(() => database.ref('x/'.repeat(32)).child('y'), { code: 'INVALID_PATH' });
});

test('set, update and remove are told to the server in its words', async () => {
  const { socket, database } = await setUp();
  const ref = database.ref('/a');
  ref.set({ list: ['x'], at: serverTimestamp(), none: null });
  ref.update({ 'b/c': increment(1), d: null, '.priority': 3 });
  ref.remove();
  await settled();
  assert.deepEqual(socket.taken(), [
    [1, 'p', { p: '/a', d: { list: { 0: 'x' }, at: { '.sv': 'timestamp' } } }],
    [2, 'm', { p: '/a', d: { 'b/c': { '.sv': { increment: 1 } }, d: null, '.priority': 3 } }],
    [3, 'p', { p: '/a', d: null }],
  ]);
});

test('bad arguments reject and send nothing', async () => {
  const { socket, database } = await setUp();
  const ref = database.ref('/a');
  await assert.rejects(ref.set(undefined), { code: 'INVALID_DATA' });
  await assert.rejects(ref.update({ 'b/c.d': 1 }), { code: 'INVALID_PATH' });
  for (const wrong of [null, 7, [1]]) {
    await assert.rejects(ref.update(wrong), { code: 'INVALID_ARGUMENT' });
  }
  await assert.rejects(Promise.resolve(ref.push(NaN)), { code: 'INVALID_DATA' });
  assert.throws(() => ref.onValue(), { code: 'INVALID_ARGUMENT' });
  assert.deepEqual(socket.taken(), []);
});

test('push gives the reference at once and settles when the server has it', async () => {
  const { socket, database } = await setUp();
  const pushed = database.ref('/list').push('x');
  assert.match(pushed.path, /^\/list\/[-\w]{20}$/);
  assert.deepEqual(socket.taken(), [[1, 'p', { p: pushed.path, d: 'x' }]]);
  socket.answer(1);
  const settledRef = await pushed;
  assert.equal(settledRef.path, pushed.path);
  assert.equal(settledRef.then, undefined);
  const refused = database.ref('/list').push('y');
  socket.answer(2, 'permission_denied', 'Permission denied');
  await assert.rejects(Promise.resolve(refused), { code: 'PERMISSION_DENIED' });
});

test('push without a value writes nothing', async () => {
  const { socket, database } = await setUp();
  const pushed = database.ref('/list').push();
  await pushed;
  pushed.child('a').set(1);
  await settled();
  assert.deepEqual(socket.taken(), [[1, 'p', { p: `${pushed.path}/a`, d: 1 }]]);
});

test('onValue hears snapshots until it is ended', async () => {
  const { socket, database } = await setUp();
  const heard = [];
  const ref = database.ref('/a');
  const stop = ref.onValue((snapshot) => heard.push(snapshot.val()));
  socket.push('d', { p: 'a', d: { x: 1 } });
  stop();
  socket.push('d', { p: 'a', d: { x: 2 } });
  assert.deepEqual(heard, [{ x: 1 }]);
});

test('off ends every callback of the place, from any reference to it', async () => {
  const { socket, database } = await setUp();
  const heard = [];
  database.ref('/a').onValue(() => heard.push(1));
  database.ref('/a').onValue(() => heard.push(2));
  database.ref('a/').off();
  socket.push('d', { p: 'a', d: { x: 1 } });
  assert.deepEqual(heard, []);
  assert.deepEqual(
    socket.taken().map(([, action]) => action),
    ['q', 'n'],
  );
});

test('get reads a snapshot', async () => {
  const { socket, database } = await setUp();
  const read = database.ref('/a').get();
  await settled();
  socket.answer(1, 'ok', { '.value': 5, '.priority': 'p' });
  const snapshot = await read;
  assert.equal(snapshot.val(), 5);
  assert.equal(snapshot.priority, 'p');
  assert.equal(snapshot.ref.path, '/a');
});

test('a mistake in one callback does not keep the news from the next', async (context) => {
  const { socket, database } = await setUp();
  const heard = [];
  const errors = [];
  context.mock.method(globalThis, 'setTimeout', (callback) => errors.push(callback));
  database.ref('/a').onValue(() => {
    throw new Error('mine');
  });
  database.ref('/a').onValue((snapshot) => heard.push(snapshot.val()));
  socket.push('d', { p: 'a', d: 1 });
  assert.deepEqual(heard, [1]);
  assert.throws(errors[0], { message: 'mine' });
});
