/** Writes, transactions and connections that end, against a running server (see server.test.js). */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { increment, keepSynced, onDisconnect, serverTimestamp } from '../index.js';
import { findSocketClass } from '../socket_class.js';
import { connecting, pause, until } from '../testing/live.js';

const NAMESPACE = `test-writes-${Date.now().toString(36)}`;
const database = connecting(NAMESPACE);

/** A database, and how to kill its socket without a word. */
const killable = async () => {
  const Platform = await findSocketClass();
  const sockets = [];
  class Socket extends Platform {
    constructor(url) {
      super(url);
      sockets.push(this);
    }
  }
  return {
    database: database({ WebSocket: Socket }),
    kill: () => sockets.at(-1).close(),
  };
};
const heardFrom = (ref) => {
  const heard = [];
  ref.onValue((snapshot) => heard.push(snapshot.val()));
  return heard;
};
const heardBy = (heard, expected) =>
  until(
    () => JSON.stringify(heard.at(-1)) === JSON.stringify(expected),
    () => JSON.stringify([expected, heard]),
  );
const add = (value) => (value ?? 0) + 1;

/** Increment until it is done: among many at once the 25 attempts may run out, as with Firebase. */
async function countUp(ref) {
  for (;;) {
    try {
      return await ref.transaction(add);
    } catch (error) {
      if (error.code !== 'MAXRETRY') throw error;
    }
  }
}

test('20 clients that increment 100 times each by transaction come to 2,000', async () => {
  const refs = Array.from({ length: 20 }, () => database().ref('/counter'));
  const all = refs.flatMap((ref) => Array.from({ length: 100 }, () => countUp(ref)));
  for (const { committed } of await Promise.all(all)) assert.equal(committed, true);
  assert.equal((await refs[0].get()).val(), 2000);
});

test('clients that increment one after the other lose none', async () => {
  const refs = Array.from({ length: 4 }, () => database().ref('/turns'));
  await Promise.all(
    refs.map(async (ref) => {
      for (let count = 0; count < 25; count += 1) await countUp(ref);
    }),
  );
  assert.equal((await refs[0].get()).val(), 100);
});

test('a transaction on data that is not known yet is run twice', async () => {
  await database().ref('/known').set({ '.value': 41, '.priority': 'p' });
  const given = [];
  const { committed, snapshot } = await database()
    .ref('/known')
    .transaction((value) => {
      given.push(value);
      return add(value);
    });
  assert.deepEqual([committed, snapshot.val(), snapshot.priority], [true, 42, 'p']);
  assert.deepEqual(given, [null, 41]);
});

test('hashes of every kind of data are those of the server', async () => {
  const values = [
    null,
    { '.value': 1.5, '.priority': 'p' },
    { list: [1, null, 'x'], 10: true, 9: -1, 'ä 😀': 1e300, deep: { n: 9007199254740991 } },
    { a: { '.value': 1, '.priority': 2 }, b: { '.value': 1, '.priority': 1 }, '.priority': 0 },
  ];
  const ref = database().ref('/hashes');
  heardFrom(ref);
  for (const value of values) {
    await ref.set(value);
    let calls = 0;
    const { committed } = await ref.transaction(() => {
      calls += 1;
      return 'next';
    });
    assert.deepEqual([committed, calls], [true, 1], JSON.stringify(value));
  }
});

test('an estimate is replaced by what the server made of it', async () => {
  const ref = database().ref('/estimates');
  await ref.set({ count: 1 });
  const heard = heardFrom(ref);
  await heardBy(heard, { count: 1 });
  const other = database().ref('/estimates/count');
  await Promise.all([ref.child('count').set(increment(1)), other.set(increment(10))]);
  await heardBy(heard, { count: 12 });
  await ref.set(serverTimestamp());
  assert.ok(Math.abs(heard.at(-1) - Date.now()) < 60_000);
  assert.equal((await ref.get()).val(), heard.at(-1));
});

test('an update of increment and literal, and an increment, are two events', async () => {
  const ref = database().ref('/two-events');
  const heard = heardFrom(ref);
  await heardBy(heard, null);
  const first = ref.update({ 'child/increment': increment(1), literal: 5 });
  await Promise.all([first, ref.child('child/increment').set(increment(41))]);
  assert.deepEqual(heard.slice(1), [
    { child: { increment: 1 }, literal: 5 },
    { child: { increment: 42 }, literal: 5 },
  ]);
});

test('what was written offline is replayed in order', async () => {
  const { database: away } = await killable();
  const other = database();
  const ref = away.ref('/replayed');
  const heard = heardFrom(other.ref('/replayed'));
  await heardBy(heard, null);
  away.goOffline();
  const written = Array.from({ length: 20 }, (_, count) => ref.set({ count }));
  const done = ref.child('count').transaction((value) => value + 100);
  assert.equal(heard.length, 1);
  away.goOnline();
  await Promise.all([...written, done]);
  await heardBy(heard, { count: 119 });
  const counts = heard.slice(1, -1).map(({ count }) => count);
  assert.deepEqual(
    counts,
    [...counts].sort((a, b) => a - b),
  );
});

test('a socket that dies mid-way loses no write and shows no old state', async () => {
  const { database: dying, kill } = await killable();
  const ref = dying.ref('/dying');
  const heard = heardFrom(ref);
  await heardBy(heard, null);
  const written = [];
  for (let count = 1; count <= 60; count += 1) {
    written.push(ref.set(count));
    if (count % 20 === 10) {
      await pause(3);
      kill();
    }
  }
  await Promise.all(written);
  assert.deepEqual(
    heard.slice(1),
    Array.from({ length: 60 }, (_, index) => index + 1),
  );
  assert.equal((await database().ref('/dying').get()).val(), 60);
});

test('after a reconnect a kept copy is current, whatever happened meanwhile', async () => {
  const { database: away, kill } = await killable();
  const other = database().ref('/kept');
  await other.set({ same: 1, changed: 1 });
  keepSynced(away.ref('/kept/same'), true);
  keepSynced(away.ref('/kept/changed'), true);
  await away.ref('/kept').get();
  kill();
  await other.child('changed').set(2);
  const connected = heardFrom(away.ref('.info/connected'));
  await heardBy(connected, true);
  const heard = ['same', 'changed'].map((key) => heardFrom(away.ref(`/kept/${key}`)));
  await heardBy(heard[1], 2);
  await heardBy(heard[0], 1);
});

test('priorities order a list, and are changed alone', async () => {
  const ref = database().ref('/priorities');
  await ref.child('a').setWithPriority('first', 2);
  await ref.child('b').setWithPriority('second', 1);
  const heard = [];
  ref.onValue((snapshot) => heard.push([...snapshot].map(({ key }) => key)));
  await heardBy(heard, ['b', 'a']);
  await ref.child('a').setPriority(0);
  assert.deepEqual(heard, [
    ['b', 'a'],
    ['a', 'b'],
  ]);
  await assert.rejects(ref.child('nobody').setPriority(1));
});

test('what is to happen on disconnect happens once, however the end comes', async () => {
  const heard = heardFrom(database().ref('/presence'));
  await heardBy(heard, null);
  for (const end of ['close', 'kill', 'offline']) {
    const { database: leaving, kill } = await killable();
    const ref = leaving.ref('/presence').child(end);
    await ref.set({ online: true, cancelled: 1 });
    await onDisconnect(ref).update({ online: null, cancelled: 2, 'left/at': serverTimestamp() });
    await onDisconnect(ref.child('cancelled')).cancel();
    await onDisconnect(ref.child('gone')).setWithPriority(true, 1);
    await onDisconnect(ref.child('gone')).remove();
    if (end === 'close') leaving.close();
    else if (end === 'kill') kill();
    else leaving.goOffline();
    await until(
      () => heard.at(-1)?.[end]?.left !== undefined,
      () => JSON.stringify([end, heard]),
    );
    const { at, ...rest } = heard.at(-1)[end].left;
    assert.ok(Math.abs(at - Date.now()) < 60_000);
    assert.deepEqual(rest, {});
    assert.deepEqual(heard.at(-1)[end], { cancelled: 1, left: { at } });
  }
});
