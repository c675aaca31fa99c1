import assert from 'node:assert/strict';
import { test } from 'node:test';

import {
  limitToFirst,
  limitToLast,
  orderByChild,
  orderByKey,
  orderByPriority,
  orderByValue,
  startAt,
} from '../constraints.js';
import { openDatabase } from '../database.js';
import { Query, query } from '../query.js';
import { FakeMachine, settled } from '../testing/fake_machine.js';
import { fakeSockets } from '../testing/fake_socket.js';

const setUp = async () => {
  const { FakeSocket, sockets } = fakeSockets();
  const database = openDatabase('http://h:1', { WebSocket: FakeSocket }, new FakeMachine());
  await settled();
  sockets[0].greet();
  return { socket: sockets[0], list: database.ref('/list') };
};
const actions = (socket) => socket.taken().map(([, action, { q }]) => [action, q]);

test('a query is made of a place, and leaves it as it is', async () => {
  const { list } = await setUp();
  const last = query(list, orderByKey(), limitToLast(2));
  assert.ok(last instanceof Query);
  assert.equal(last.ref, list);
  const narrower = query(last, startAt('b'));
  assert.notEqual(narrower, last);
  assert.equal(narrower.ref, list);
  assert.throws(() => query(last, limitToFirst(1)), { code: 'INVALID_ARGUMENT' });
});

test('what is no place cannot be queried', () => {
  const message = 'query takes a place first, as in query(ref, ...)';
  for (const wrong of ['/list', null, limitToLast(1)]) {
    assert.throws(() => query(wrong, limitToLast(1)), { code: 'INVALID_ARGUMENT', message });
  }
});

test('a query is read once, in its order', async () => {
  const { socket, list } = await setUp();
  const reading = query(list, orderByChild('at'), limitToLast(2)).get();
  await settled();
  assert.deepEqual(socket.taken(), [[1, 'g', { p: '/list', q: { l: 2, vf: 'r', i: 'at' } }]]);
  socket.answer(1, 'ok', { a: { at: 9 }, b: { at: 5 } });
  const snapshot = await reading;
  assert.deepEqual(
    [...snapshot].map(({ key }) => key),
    ['b', 'a'],
  );
  assert.equal(snapshot.key, 'list');
  assert.equal(snapshot.ref, list);
  assert.deepEqual(snapshot.val(), { a: { at: 9 }, b: { at: 5 } });
});

test('an order alone is told with a read, since the answer may say what it costs', async () => {
  const { socket, list } = await setUp();
  query(list, orderByChild('zz')).get();
  await settled();
  assert.deepEqual(actions(socket), [['g', { i: 'zz' }]]);
});

test('listeners hear snapshots in the order of the query', async () => {
  const { socket, list } = await setUp();
  const heard = [];
  query(list, orderByValue(), limitToFirst(2)).onValue((snapshot) => {
    heard.push([...snapshot].map((child) => [child.key, child.val(), child.ref.path]));
  });
  socket.push('d', { p: 'list', d: { a: 7, b: 5 }, t: 1 });
  assert.deepEqual(heard, [
    [
      ['b', 5, '/list/b'],
      ['a', 7, '/list/a'],
    ],
  ]);
});

test('child events come with the key of the child before, or null', async () => {
  const { socket, list } = await setUp();
  const heard = [];
  const recent = query(list, orderByValue(), limitToLast(3));
  for (const event of ['onChildAdded', 'onChildChanged', 'onChildMoved', 'onChildRemoved']) {
    recent[event]((child, ...more) => heard.push([event, child.key, child.val(), ...more]));
  }
  socket.push('d', { p: 'list', d: { a: 1, b: 2, c: 3 }, t: 1 });
  assert.deepEqual(heard.splice(0), [
    ['onChildAdded', 'a', 1, null],
    ['onChildAdded', 'b', 2, 'a'],
    ['onChildAdded', 'c', 3, 'b'],
  ]);
  socket.push('m', { p: 'list', d: { a: null, b: 9, d: 4 }, t: 1 });
  assert.deepEqual(heard.splice(0), [
    ['onChildRemoved', 'a', 1],
    ['onChildAdded', 'd', 4, 'c'],
    ['onChildMoved', 'b', 9, 'd'],
    ['onChildChanged', 'b', 9, 'd'],
  ]);
});

test('a place has child events too, by priority and then by key', async () => {
  const { socket, list } = await setUp();
  const heard = [];
  list.onChildAdded((child, previousKey) => heard.push(['added', child.key, previousKey]));
  list.onChildMoved((child, previousKey) => heard.push(['moved', child.key, previousKey]));
  socket.push('d', { p: 'list', d: { a: { '.value': 1, '.priority': 5 }, b: 2 } });
  socket.push('d', { p: 'list/b/.priority', d: 9 });
  assert.deepEqual(heard, [
    ['added', 'b', null],
    ['added', 'a', 'b'],
    ['moved', 'b', 'a'],
  ]);
});

test('listeners of the same query share one listen, in whatever words it is asked', async () => {
  const { socket, list } = await setUp();
  const twice = [
    query(list, limitToLast(2)),
    query(list, orderByPriority(), limitToLast(2)),
    query(query(list), limitToLast(2)),
  ].map((same) => {
    const heard = [];
    same.onValue((snapshot) => heard.push(snapshot.val()));
    same.onChildAdded((child) => heard.push(child.key));
    return heard;
  });
  socket.push('d', { p: 'list', d: { x: 5 }, t: 1 });
  for (const heard of twice) assert.deepEqual(heard, ['x', { x: 5 }]);
  assert.deepEqual(actions(socket), [['q', { l: 2, vf: 'r' }]]);
});

test('off ends a query, one event of it, or one callback', async () => {
  const { socket, list } = await setUp();
  const heard = [];
  const last = query(list, limitToLast(2));
  const [first, second] = [1, 2].map((number) => () => heard.push(number));
  for (const callback of [first, second]) {
    last.onChildAdded(callback);
    last.onValue(callback);
  }
  list.onValue(() => heard.push('place'));
  last.off('value', second);
  last.off('child_added');
  socket.push('d', { p: 'list', d: { x: 5 }, t: 1 });
  assert.deepEqual(heard.splice(0), [1]);
  last.off();
  socket.push('d', { p: 'list', d: { x: 5 } });
  assert.deepEqual(heard, ['place']);
  assert.deepEqual(
    actions(socket).map(([action]) => action),
    ['q', 'q', 'n'],
  );
});

test('off of a place ends its queries, an order ends alone', async () => {
  const { socket, list } = await setUp();
  const queries = [list, query(list, orderByKey()), query(list, limitToLast(2))];
  for (const each of queries) each.onValue(() => {});
  queries[1].off();
  assert.equal(socket.taken().length, 2, 'the place is still listened to');
  list.off();
  assert.deepEqual(
    actions(socket).map(([action]) => action),
    ['n', 'n'],
  );
});

test('what is no event or no function is refused', async () => {
  const { list } = await setUp();
  const cases = [
    [() => list.off('childAdded'), /^off takes one of value, child_added, .*, found childAdded/],
    [() => list.onChildMoved(), /^onChildMoved \/list: takes a function/],
    [() => query(list, limitToLast(1)).onValue({}), /^onValue \/list: takes a function/],
  ];
  for (const [ask, message] of cases) assert.throws(ask, { code: 'INVALID_ARGUMENT', message });
});

test('a query that is refused tells so, in words that name it', async (context) => {
  const warn = context.mock.method(console, 'warn', () => {});
  const { socket, list } = await setUp();
  const errors = [];
  const last = query(list, limitToLast(2));
  last.onChildAdded(
    () => {},
    (error) => errors.push(error.message),
  );
  last.onValue(() => {});
  socket.answer(1, 'permission_denied', 'Permission denied');
  const message = 'listen to /list with {"l":2,"vf":"r"}: Permission denied';
  assert.deepEqual(errors, [message]);
  assert.deepEqual(warn.mock.calls[0].arguments, [`treedb: ${message}`]);
});

test('an index that is missing is warned of', async (context) => {
  const warn = context.mock.method(console, 'warn', () => {});
  const { socket, list } = await setUp();
  query(list, orderByValue(), limitToLast(2)).onValue(() => {});
  socket.answer(1, 'ok', { w: ['no_index'] });
  const [[said]] = warn.mock.calls.map((call) => call.arguments);
  assert.match(said, /the query at \/list has no index.* Add "\.indexOn": "\.value" at \/list to/);
});
