/** Against a running server in development mode: TREEDB_URL=http://localhost:9000. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { increment, serverTimestamp } from '../index.js';
import { connecting, until } from '../testing/live.js';

const NAMESPACE = `test-${Date.now().toString(36)}`;

const database = connecting(NAMESPACE);
const listen = (ref) => {
  const heard = [];
  ref.onValue(
    (snapshot) => heard.push(snapshot.val()),
    (error) => heard.push(error.code),
  );
  return heard;
};
const heardBy = (heard, expected) =>
  until(
    () => isSame(heard.at(-1), expected),
    () => JSON.stringify([expected, heard]),
  );
const isSame = (a, b) => {
  try {
    assert.deepStrictEqual(a, b);
    return true;
  } catch {
    return false;
  }
};

test('every kind of value comes back as it was written', async () => {
  const ref = database().ref('/values');
  const nasty = JSON.parse('{"__proto__":{"polluted":true},"constructor":"c"}');
  const cases = [
    true,
    false,
    0,
    -1,
    1.5,
    1e300,
    9007199254740991,
    '',
    'text',
    'é 日 😀 \u0000 \u2028',
    [1, 2, 3],
    [null, 'b'],
    { a: { b: { c: 'deep' } } },
    { 10: 'a', 9: 'b' },
    nasty,
    { 'a key with spaces': 1, é: 2, '😀': 3 },
  ];
  for (const value of cases) {
    await ref.set(value);
    assert.deepEqual((await ref.get()).val(), value);
  }
  await ref.set(null);
  assert.equal((await ref.get()).exists(), false);
  assert.equal({}.polluted, undefined);
});

test('a value of a megabyte, astral characters at every cut, goes there and back', async () => {
  const writer = database();
  const value = {
    ascii: 'x'.repeat(500_000),
    astral: '😀'.repeat(150_000),
    odd: `x${'😀'.repeat(9000)}`,
  };
  const heard = listen(database().ref('/large'));
  await writer.ref('/large').set(value);
  await heardBy(heard, value);
});

test('a listener hears the present and every change', async () => {
  const writer = database();
  await writer.ref('/room').set({ name: 'One' });
  const heard = listen(database().ref('/room'));
  await heardBy(heard, { name: 'One' });
  await writer.ref('/room/topic').set('trees');
  await heardBy(heard, { name: 'One', topic: 'trees' });
  await writer.ref('/').update({ 'room/name': 'Two', 'room/topic': null, 'elsewhere/x': 1 });
  await heardBy(heard, { name: 'Two' });
  await writer.ref('/room').remove();
  await heardBy(heard, null);
  assert.equal(heard.length, 4);
});

test('a listener has heard a write of its own when it is acknowledged', async () => {
  const ref = database().ref('/own');
  const heard = listen(ref);
  for (let count = 1; count <= 20; count += 1) {
    await ref.set({ count });
    assert.deepEqual(heard.at(-1), { count });
  }
});

test('pushed children come in the order they were made', async () => {
  const ref = database().ref('/list');
  const pushed = Array.from({ length: 200 }, (_, index) => ref.push({ index }));
  await Promise.all(pushed);
  const snapshot = await ref.get();
  assert.deepEqual(
    [...snapshot].map((child) => child.val().index),
    pushed.map((_, index) => index),
  );
  assert.deepEqual(
    [...snapshot].map((child) => child.key),
    pushed.map((child) => child.key),
  );
});

test('the server fills placeholders in', async () => {
  const ref = database().ref('/filled');
  await ref.set({ at: serverTimestamp(), count: 5 });
  await Promise.all(Array.from({ length: 100 }, () => ref.update({ count: increment(1) })));
  const { at, count } = (await ref.get()).val();
  assert.equal(count, 105);
  assert.ok(Math.abs(at - Date.now()) < 60_000);
});

test('a read sees the writes before it, without waiting for them', async () => {
  const ref = database().ref('/order');
  ref.set(1);
  ref.set(2);
  assert.equal((await ref.get()).val(), 2);
});

test('a refused write rejects with a code and a sentence, and changes nothing', async () => {
  const ref = database().ref('/refused');
  await ref.set('before');
  await assert.rejects(ref.update({ a: 1, 'a/b': 2 }), (error) => {
    assert.ok(error.code.length > 0);
    assert.match(error.message, /^update \/refused: /);
    return true;
  });
  assert.equal((await ref.get()).val(), 'before');
});

test('what was written and what changed offline arrives after going online', async () => {
  const away = database();
  const other = database();
  const heard = listen(away.ref('/away'));
  await away.ref('/away').set({ a: 1 });
  away.goOffline();
  const written = away.ref('/away/mine').set('late');
  await other.ref('/away/a').set(2);
  assert.deepEqual(heard.at(-1), { a: 1, mine: 'late' });
  away.goOnline();
  await written;
  await heardBy(heard, { a: 2, mine: 'late' });
  assert.equal((await other.ref('/away/mine').get()).val(), 'late');
});

test('namespaces are apart', async () => {
  const elsewhere = database({ namespace: `${NAMESPACE}-b` });
  await database().ref('/here').set(1);
  assert.equal((await elsewhere.ref('/here').get()).exists(), false);
});

test('the end of a listen is heard by the server', async () => {
  const reader = database();
  const writer = database();
  const heard = [];
  const stop = reader.ref('/ended').onValue((snapshot) => heard.push(snapshot.val()));
  await until(
    () => heard.length === 1,
    () => 'the first value',
  );
  stop();
  await writer.ref('/ended').set(1);
  await reader.ref('/ended').get();
  assert.deepEqual(heard, [null]);
  const again = listen(reader.ref('/ended'));
  await heardBy(again, 1);
});
