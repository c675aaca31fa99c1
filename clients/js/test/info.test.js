import assert from 'node:assert/strict';
import { test } from 'node:test';

import { limitToFirst } from '../constraints.js';
import { query } from '../query.js';
import { settled } from '../testing/fake_machine.js';
import { heardFrom, opened } from '../testing/opened.js';

test('whether there is a connection is told now and with each change', async () => {
  const { database, socket, sent, reconnect } = await opened();
  const heard = heardFrom(database.ref('.info/connected'));
  assert.deepEqual(heard, [], 'never before onValue() returned');
  await settled();
  socket().drop();
  await reconnect();
  database.goOffline();
  assert.deepEqual(heard, [true, false, true, false]);
  assert.deepEqual(sent(), [], 'the server is not asked');
});

test('when it is told, listens and writes were sent', async () => {
  const { database, socket, sent, reconnect } = await opened();
  socket().drop();
  database.ref('/a').set(1);
  database.ref('/.info/connected').onValue((snapshot) => {
    if (snapshot.val()) database.ref('/b').set(2);
  });
  await reconnect();
  assert.deepEqual(
    sent().map(([, , { p }]) => p),
    ['/a', '/b'],
  );
});

test('the distance of the clocks is told', async () => {
  const { machine, database, socket } = await opened();
  const heard = heardFrom(database.ref('.info').child('serverTimeOffset'));
  await settled();
  socket().drop();
  machine.advance(60 * 1000);
  await settled();
  socket().greet('session', machine.now() + 1234);
  assert.deepEqual(heard, [0, 1234]);
  assert.equal(database.serverTimeOffset, 1234);
});

test('it can be read, listened to as a whole, queried and let alone', async () => {
  const { database, socket } = await opened();
  const all = heardFrom(database.ref('.info'));
  const first = heardFrom(query(database.ref('.info'), limitToFirst(1)));
  await settled();
  assert.deepEqual(all, [{ connected: true, serverTimeOffset: 0 }]);
  assert.deepEqual(first, [{ connected: true }]);
  assert.equal((await database.ref('.info/connected').get()).val(), true);
  assert.equal(database.ref('.info/connected').key, 'connected');
  database.ref('.info').off();
  socket().drop();
  assert.equal(all.length, 1);
});

test('nothing can be written there', async () => {
  const { database, sent } = await opened();
  const ref = database.ref('.info/connected');
  const message = '/.info/connected: the client tells about itself there; nothing can be written';
  for (const refused of [
    ref.set(true),
    ref.update({ a: 1 }),
    ref.transaction(() => true),
    ref.onDisconnect().remove(),
  ]) {
    await assert.rejects(refused, { code: 'INVALID_PATH', message });
  }
  for (const path of ['a/.info/connected', '.infos', '.info/.info']) {
    assert.throws(() => database.ref(path), { code: 'INVALID_PATH' });
  }
  assert.throws(() => database.ref('a').child('.info'), { code: 'INVALID_PATH' });
  assert.deepEqual(sent(), []);
});
