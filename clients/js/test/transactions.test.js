import assert from 'node:assert/strict';
import { test } from 'node:test';

import { limitToLast } from '../constraints.js';
import { nodeHash } from '../hash.js';
import { query } from '../query.js';
import { parseNode } from '../tree.js';
import { increment } from '../values.js';
import { DENIED, heardFrom, opened } from '../testing/opened.js';

const STALE = ['datastale', 'Transaction hash does not match'];
const hash = (value) => nodeHash(parseNode(value));
const add = (value) => (value ?? 0) + 1;
const puts = (sent) => sent.filter(([, action]) => action === 'p').map(([, , body]) => body);
/** A function for a transaction, and what it was given. */
const watched = (update) => {
  const given = [];
  return { given, update: (value) => (given.push(value), update(value)) };
};

test('it is run on nothing, then on what the server tells, until the hashes agree', async () => {
  const { database, socket, sent } = await opened();
  const { given, update } = watched(add);
  const done = database.ref('/n').transaction(update);
  assert.deepEqual(sent(), [
    [1, 'q', { p: '/n', h: '' }],
    [2, 'p', { p: '/n', d: 1, h: '' }],
  ]);
  socket().push('d', { p: 'n', d: 41 });
  socket().answer(1, 'ok', {});
  socket().answer(2, ...STALE);
  assert.deepEqual(puts(sent()), [{ p: '/n', d: 42, h: hash(41) }]);
  socket().push('d', { p: 'n', d: 42 });
  socket().answer(3);
  const { committed, snapshot } = await done;
  assert.deepEqual([committed, snapshot.val(), snapshot.ref.path], [true, 42, '/n']);
  assert.deepEqual(given, [null, 41]);
  assert.deepEqual(sent(), [[4, 'n', { p: '/n' }]], 'nobody listens any more');
});

test('it begins with what a listener, or a query above, knows', async () => {
  const { database, socket, sent } = await opened();
  heardFrom(query(database.ref('/list'), limitToLast(1)));
  socket().push('d', { p: 'list', d: { a: { n: 7 } }, t: 1 });
  socket().answer(1, 'ok', {});
  const { given, update } = watched(add);
  database.ref('/list/a/n').transaction(update);
  assert.deepEqual(given, [7]);
  assert.deepEqual(puts(sent()), [{ p: '/list/a/n', d: 8, h: hash(7) }]);
});

test('it begins with our own writes on their way', async () => {
  const { database, sent } = await opened();
  database.ref('/n').set(5);
  database.ref('/n').transaction(add);
  assert.deepEqual(puts(sent()).at(-1), { p: '/n', d: 6, h: hash(5) });
});

test('it shows at once, and each change of mind is one event', async () => {
  const { database, socket } = await opened();
  const heard = heardFrom(database.ref('/n'));
  socket().push('d', { p: 'n', d: 1 });
  socket().answer(1, 'ok', {});
  const done = database.ref('/n').transaction(add);
  socket().push('d', { p: 'n', d: 5 });
  socket().answer(2, ...STALE);
  socket().push('d', { p: 'n', d: 6 });
  socket().answer(3);
  await done;
  assert.deepEqual(heard, [1, 2, 6]);
});

test('applyLocally: false shows nothing before the server has it', async () => {
  const { database, socket, sent } = await opened();
  const heard = heardFrom(database.ref('/n'));
  socket().push('d', { p: 'n', d: 1 });
  socket().answer(1, 'ok', {});
  const done = database.ref('/n').transaction(add, { applyLocally: false });
  database.ref('/n').transaction(add, { applyLocally: false });
  assert.deepEqual(heard, [1]);
  assert.deepEqual(puts(sent()), [{ p: '/n', d: 2, h: hash(1) }]);
  socket().push('d', { p: 'n', d: 2 });
  socket().answer(2);
  await done;
  assert.deepEqual(heard, [1, 2]);
  assert.deepEqual(puts(sent()), [{ p: '/n', d: 3, h: hash(2) }]);
});

test('undefined leaves things as they are, at the first call or at a later one', async () => {
  const { database, socket, sent } = await opened();
  const heard = heardFrom(database.ref('/n'));
  const once = await database.ref('/n').transaction(() => undefined);
  assert.deepEqual([once.committed, once.snapshot.val()], [false, null]);
  assert.deepEqual(puts(sent()), []);
  const done = database.ref('/n').transaction((value) => (value === null ? 'mine' : undefined));
  socket().push('d', { p: 'n', d: 'theirs' });
  socket().answer(1, 'ok', {});
  socket().answer(2, ...STALE);
  const { committed, snapshot } = await done;
  assert.deepEqual([committed, snapshot.val()], [false, 'theirs']);
  assert.deepEqual(puts(sent()).length, 1);
  assert.deepEqual(heard, ['mine', 'theirs']);
});

test('it is tried 25 times and no more', async () => {
  const { database, socket, sent } = await opened();
  const { given, update } = watched(add);
  const done = database.ref('/n').transaction(update);
  socket().answer(1, 'ok', {});
  for (let number = 2; number <= 26; number += 1) socket().answer(number, ...STALE);
  await assert.rejects(done, {
    code: 'MAXRETRY',
    message: 'transaction /n: the data changed under each of 25 attempts',
  });
  assert.equal(puts(sent()).length, 25);
  assert.equal(given.length, 25);
});

test('what the server refuses is taken back', async () => {
  const { database, socket } = await opened();
  const heard = heardFrom(database.ref('/n'));
  socket().answer(1, 'ok', {});
  const done = database.ref('/n').transaction(add);
  socket().answer(2, ...DENIED);
  await assert.rejects(done, { code: 'PERMISSION_DENIED' });
  assert.deepEqual(heard, [null, 1, null]);
});

test('who may not read what is there is told so, and not tried for ever', async () => {
  const { database, socket, sent } = await opened();
  const done = database.ref('/n').transaction(add);
  socket().answer(1, ...DENIED);
  socket().answer(2, ...STALE);
  await assert.rejects(done, {
    code: 'PERMISSION_DENIED',
    message: 'listen to /n: Permission denied',
  });
  assert.equal(puts(sent()).length, 1);
});

test('a write of ours ends one that waits at, above or below it, and no other', async () => {
  const { database, sent } = await opened();
  database.goOffline();
  const ends = ['/a', '/a/b', '/a/b/c'].map((path) => database.ref(path).transaction(add));
  const { given, update } = watched(add);
  database.ref('/other').transaction(update);
  database.ref('/a/b').set('mine');
  for (const end of ends) await assert.rejects(end, { code: 'SET' });
  assert.deepEqual(given, [null]);
  assert.deepEqual(sent(), []);
});

test('one that was sent is ended by a write only if the server does not take it', async () => {
  const { database, socket, sent } = await opened();
  const taken = database.ref('/n').transaction(add);
  database.ref('/n').set('mine');
  socket().answer(1, 'ok', {});
  socket().answer(2);
  assert.equal((await taken).committed, true);
  socket().answer(3);
  sent();
  const stale = database.ref('/m').transaction(add);
  database.ref('/m').update({ x: 'mine' });
  const [[listened], [sentAs]] = sent();
  socket().answer(listened, 'ok', {});
  socket().answer(sentAs, ...STALE);
  await assert.rejects(stale, { code: 'SET' });
  assert.deepEqual(puts(sent()), [], 'it is not tried again');
});

test('one that was sent when the connection was lost fails, the others go on', async () => {
  const { database, socket, sent, reconnect } = await opened();
  const heard = heardFrom(database.ref('/n'));
  socket().push('d', { p: 'n', d: 1 });
  socket().answer(1, 'ok', {});
  const first = database.ref('/n').transaction(add);
  const second = database.ref('/n').transaction(add);
  socket().drop();
  await assert.rejects(first, { code: 'DISCONNECT' });
  assert.deepEqual(heard, [1, 2, 3, 2]);
  await reconnect();
  const [[listened], [sentAs, , body]] = sent();
  assert.deepEqual(body, { p: '/n', d: 2, h: hash(1) });
  socket().answer(listened, 'ok', {});
  socket().push('d', { p: 'n', d: 2 });
  socket().answer(sentAs);
  assert.equal((await second).snapshot.val(), 2);
  assert.deepEqual(heard, [1, 2, 3, 2]);
});

test('those of one place go together, as one write', async () => {
  const { database, socket, sent } = await opened();
  const first = database.ref('/n').transaction(add);
  const others = [1, 2, 3].map(() => database.ref('/n').transaction(add));
  assert.equal(puts(sent()).length, 1);
  socket().answer(1, 'ok', {});
  socket().push('d', { p: 'n', d: 1 });
  socket().answer(2);
  assert.equal((await first).snapshot.val(), 1);
  assert.deepEqual(puts(sent()), [{ p: '/n', d: 4, h: hash(1) }]);
  socket().push('d', { p: 'n', d: 9 });
  socket().answer(3, ...STALE);
  const [[number, , body]] = sent();
  assert.deepEqual(body, { p: '/n', d: 12, h: hash(9) });
  socket().push('d', { p: 'n', d: 12 });
  socket().answer(number);
  const values = (await Promise.all(others)).map(({ snapshot }) => snapshot.val());
  assert.deepEqual(values, [10, 11, 12]);
});

test('those that overlap wait for each other, those apart do not', async () => {
  const { database, socket, sent } = await opened();
  const heard = heardFrom(database.ref('/a'));
  socket().answer(1, 'ok', {});
  database.ref('/a/x').transaction(add);
  database.ref('/a').transaction((value) => ({ ...value, seen: value?.x ?? null }));
  database.ref('/a/y').transaction(add);
  database.ref('/b').transaction(add);
  const sentPaths = () => puts(sent()).map(({ p }) => p);
  assert.deepEqual(sentPaths(), ['/a/x', '/b']);
  assert.deepEqual(heard.at(-1), { x: 1, seen: 1, y: 1 });
  socket().push('d', { p: 'a/x', d: 1 });
  socket().answer(3);
  assert.deepEqual(sentPaths(), ['/a']);
  assert.equal(heard.length, 4);
});

test('a priority stays unless the function names another one, or none', async () => {
  const { database, socket, sent } = await opened();
  heardFrom(database.ref('/n'));
  const present = { '.value': 1, '.priority': 'p' };
  const cases = [
    [add, { '.value': 2, '.priority': 'p' }],
    [() => ({ x: 1 }), { x: 1, '.priority': 'p' }],
    [() => increment(1), { '.value': { '.sv': { increment: 1 } }, '.priority': 'p' }],
    [() => ({ '.value': 3, '.priority': 'q' }), { '.value': 3, '.priority': 'q' }],
    [() => ({ x: 1, '.priority': null }), { x: 1 }],
    [() => null, null],
  ];
  for (const [update, expected] of cases) {
    socket().push('d', { p: 'n', d: present });
    sent();
    const done = database.ref('/n').transaction(update);
    const [[number, , body]] = sent();
    assert.deepEqual(body, { p: '/n', d: expected, h: hash(present) });
    socket().answer(number);
    assert.equal((await done).committed, true);
  }
});

test('what the function throws, or makes that cannot be written, ends it', async () => {
  const { database, sent } = await opened();
  const fail = () => {
    throw new RangeError('mine');
  };
  await assert.rejects(database.ref('/n').transaction(fail), { message: 'mine' });
  await assert.rejects(
    database.ref('/n').transaction(() => NaN),
    { code: 'INVALID_DATA' },
  );
  await assert.rejects(
    database.ref('/n').transaction(() => 'x'.repeat(17 * 1024 * 1024)),
    { code: 'TOO_BIG' },
  );
  await assert.rejects(database.ref('/n').transaction(), { code: 'INVALID_ARGUMENT' });
  assert.deepEqual(puts(sent()), []);
});

test('the function may write and begin others', async () => {
  const { database, sent } = await opened();
  const ends = database.ref('/n').transaction((value) => {
    database.ref('/n').set('mine');
    return value;
  });
  await assert.rejects(ends, { code: 'SET' });
  database.ref('/a').transaction(() => {
    database.ref('/b').transaction(add);
    return 'a';
  });
  assert.deepEqual(
    puts(sent()).map(({ p, d }) => [p, d]),
    [
      ['/n', 'mine'],
      ['/a', 'a'],
      ['/b', 1],
    ],
  );
});

test('closing ends it', async () => {
  const { database } = await opened();
  const done = database.ref('/n').transaction(add);
  const refused = () => database.ref('/n').transaction(add);
  database.close();
  await assert.rejects(done, { code: 'DISCONNECT' });
  await assert.rejects(refused(), { code: 'CLOSED' });
});

test('off() does not end what it listens by', async () => {
  const { database, socket, sent } = await opened();
  const done = database.ref('/n').transaction(add);
  database.ref('/n').off();
  socket().push('d', { p: 'n', d: 1 });
  socket().answer(1, 'ok', {});
  socket().answer(2, ...STALE);
  assert.deepEqual(puts(sent()).at(-1), { p: '/n', d: 2, h: hash(1) });
  socket().answer(3);
  await done;
});
