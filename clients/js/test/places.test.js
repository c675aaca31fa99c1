import assert from 'node:assert/strict';
import { test } from 'node:test';

import { nodeHash } from '../hash.js';
import { PendingWrites } from '../pending.js';
import { Places } from '../places.js';
import { KEY, VALUE } from '../query_order.js';
import { Requests } from '../requests.js';
import { EVERYTHING, Selection } from '../selection.js';
import { parseNode, toPlain } from '../tree.js';

const LAST_TWO = new Selection({ limit: 2, keepsLast: true });
const AFTER_A = new Selection({ order: KEY, start: { value: 'a', key: null, isInclusive: false } });

/** Places on a connection; `listen(path)` returns the list of what its callback hears. */
const setUp = () => {
  const requests = new Requests();
  const places = new Places(requests, new PendingWrites());
  const sent = [];
  const bodies = [];
  const send = (message) => {
    const { r, a, b } = JSON.parse(message).d;
    sent.push([r, a, b.p]);
    bodies.push(b);
  };
  const stops = [];
  const listen = (path, selection = EVERYTHING) => {
    const heard = [];
    const keys = path.split('/').filter((key) => key !== '');
    stops.push(
      places.listen(keys, selection, {
        event: 'value',
        onNews: (node) => heard.push(toPlain(node)),
        onError: (error) => heard.push(error.code),
      }),
    );
    return heard;
  };
  const answer = (number, status = 'ok', data = {}) => requests.answer({ number, status, data });
  places.attach(send);
  return { places, sent, bodies, send, stops, listen, answer };
};
const turn = () => Promise.resolve();

test('a listen is asked for once, however many callbacks', async () => {
  const { places, sent, listen, answer } = setUp();
  const first = listen('/a');
  const second = listen('/a');
  places.push('d', { p: 'a', d: { x: 1 } });
  answer(1);
  const late = listen('/a');
  assert.deepEqual(late, [], 'never before listen() returned');
  await turn();
  assert.deepEqual(sent, [[1, 'q', '/a']]);
  for (const heard of [first, second, late]) assert.deepEqual(heard, [{ x: 1 }]);
});

test('an ok without data means that nothing is there', () => {
  const { listen, answer } = setUp();
  const heard = listen('/a');
  assert.deepEqual(heard, []);
  answer(1);
  assert.deepEqual(heard, [null]);
});

test('pushes at, below and above a place change it', () => {
  const { places, listen, answer } = setUp();
  const heard = listen('/a/b');
  places.push('d', { p: 'a/b', d: { x: 1 } });
  answer(1);
  places.push('d', { p: 'a/b/y', d: 2 });
  places.push('d', { p: 'a', d: { b: { z: 3 }, c: 1 } });
  places.push('d', { p: '', d: null });
  assert.deepEqual(heard, [{ x: 1 }, { x: 1, y: 2 }, { z: 3 }, null]);
});

test('a merge is one event', () => {
  const { places, listen, answer } = setUp();
  const heard = listen('/a');
  places.push('d', { p: 'a', d: { x: 1, y: { z: 1 } } });
  answer(1);
  places.push('m', { p: 'a', d: { x: null, 'y/z': 2, w: 3, 'y/.priority': 1 } });
  places.push('m', { p: '', d: { 'a/w': 4, b: 1 } });
  assert.deepEqual(heard.slice(1), [
    { w: 3, y: { z: 2 } },
    { w: 4, y: { z: 2 } },
  ]);
});

test('a merge has no states in between, in which something were empty', () => {
  const { places, listen, answer } = setUp();
  const heard = listen('/a', LAST_TWO);
  places.push('d', { p: 'a', d: { x: { old: 1 } }, t: 1 });
  answer(1);
  places.push('m', { p: 'a', d: { 'x/.priority': 3, 'x/old': null, 'x/new': 2 }, t: 1 });
  assert.deepEqual(heard, [{ x: { old: 1 } }, { x: { new: 2 } }]);
});

test('pushes elsewhere, and those that change nothing, are no events', () => {
  const { places, listen, answer } = setUp();
  const heard = listen('/a');
  places.push('d', { p: 'a', d: { x: 1 } });
  answer(1);
  places.push('d', { p: 'b', d: 1 });
  places.push('d', { p: 'ab', d: 1 });
  places.push('d', { p: 'a', d: { x: 1 } });
  places.push('m', { p: 'a', d: { y: null } });
  assert.equal(heard.length, 1);
});

test('what is below a place that is not known yet waits for the whole', () => {
  const { places, listen, answer } = setUp();
  const heard = listen('/a');
  places.push('d', { p: 'a/x', d: 1 });
  assert.deepEqual(heard, []);
  places.push('d', { p: 'a', d: { x: 1, y: 2 } });
  answer(1);
  assert.deepEqual(heard, [{ x: 1, y: 2 }]);
});

test('the last callback to leave ends the listen', () => {
  const { places, sent, stops, listen } = setUp();
  listen('/a');
  listen('/a');
  stops[0]();
  stops[0]();
  assert.equal(sent.length, 1);
  stops[1]();
  assert.deepEqual(sent[1], [2, 'n', '/a']);
  listen('/a');
  places.unlisten(['a'], EVERYTHING, {});
  places.unlisten(['a'], EVERYTHING, {});
  assert.deepEqual(sent.slice(2), [
    [3, 'q', '/a'],
    [4, 'n', '/a'],
  ]);
});

test('a callback that ended hears nothing, even of what was on its way', async () => {
  const { places, stops, listen } = setUp();
  const stayed = listen('/a');
  places.push('d', { p: 'a', d: 1 });
  const left = listen('/a');
  stops[1]();
  await turn();
  places.push('d', { p: 'a', d: 2 });
  assert.deepEqual(left, []);
  assert.deepEqual(stayed, [1, 2]);
});

test('a callback may end another one while it is called', () => {
  const { places, stops } = setUp();
  const heard = [];
  const listen = (onNews) =>
    stops.push(places.listen(['a'], EVERYTHING, { event: 'value', onNews, onError: () => {} }));
  listen(() => stops[1]());
  listen((node) => heard.push(toPlain(node)));
  places.push('d', { p: 'a', d: 1 });
  assert.deepEqual(heard, []);
});

test('listening again at once starts anew and ignores the old answer', () => {
  const { places, stops, listen, answer } = setUp();
  listen('/a');
  stops[0]();
  const heard = listen('/a');
  answer(1, 'permission_denied', 'no');
  answer(2);
  assert.deepEqual(heard, []);
  places.push('d', { p: 'a', d: 7 });
  answer(3);
  assert.deepEqual(heard, [7]);
});

test('what an ended listen told is not taken for the answer of a new one', () => {
  const { places, stops, listen, answer } = setUp();
  listen('/a');
  answer(1);
  stops[0]();
  const heard = listen('/a/b');
  places.push('d', { p: 'a/b', d: 2 }); // sent for the old listen before the server read its end
  answer(2); // somebody removes it now, which nobody tells us
  answer(3); // no data before the ok: nothing is there
  assert.deepEqual(heard, [2, null]);
});

test('a refused listen tells every callback, once', () => {
  const { places, listen, answer } = setUp();
  const first = listen('/a');
  const second = listen('/a');
  answer(1, 'permission_denied', 'Permission denied');
  places.push('d', { p: 'a', d: 1 });
  assert.deepEqual(first, ['PERMISSION_DENIED']);
  assert.deepEqual(second, ['PERMISSION_DENIED']);
});

test('a revoked listen tells so', () => {
  const { places, listen, answer } = setUp();
  const heard = listen('/a');
  answer(1);
  places.push('c', { p: 'b' });
  places.push('c', { p: 'a', q: [{ l: 1 }] });
  places.push('c', { p: 'a' });
  assert.deepEqual(heard, [null, 'PERMISSION_DENIED']);
});

test('after a reconnect only what differs is heard', () => {
  const { places, sent, bodies, send, listen, answer } = setUp();
  const same = listen('/a');
  const changed = listen('/b');
  const gone = listen('/c');
  for (const [number, path] of [
    [1, 'a'],
    [2, 'b'],
    [3, 'c'],
  ]) {
    places.push('d', { p: path, d: { x: 1 } });
    answer(number);
  }
  places.detach();
  places.attach(send);
  assert.deepEqual(
    sent.slice(3).map(([, , path]) => path),
    ['/a', '/b', '/c'],
  );
  const hash = nodeHash(parseNode({ x: 1 }));
  assert.deepEqual(
    bodies.slice(3).map(({ h }) => h),
    [hash, hash, hash],
  );
  places.push('d', { p: 'b', d: { x: 2 } });
  places.push('d', { p: 'c', d: null });
  for (const number of [4, 5, 6]) answer(number);
  assert.deepEqual(same, [{ x: 1 }]);
  assert.deepEqual(changed, [{ x: 1 }, { x: 2 }]);
  assert.deepEqual(gone, [{ x: 1 }, null]);
});

test('while the connection is lost callbacks that join hear what was known', async () => {
  const { places, listen, answer } = setUp();
  listen('/a');
  places.push('d', { p: 'a', d: 1 });
  answer(1);
  places.detach();
  const late = listen('/a');
  await turn();
  assert.deepEqual(late, [1]);
});

test('queries on one place are listens of their own, told apart by tags', () => {
  const { places, bodies, listen, answer } = setUp();
  const last = listen('/a', LAST_TWO);
  const again = listen('/a', LAST_TWO);
  const after = listen('/a', AFTER_A);
  assert.deepEqual(bodies, [
    { p: '/a', q: { l: 2, vf: 'r' }, t: 1, h: '' },
    { p: '/a', q: { sp: 'a', sin: false, i: '.key' }, t: 2, h: '' },
  ]);
  places.push('d', { p: 'a', d: { b: 2, c: 3 }, t: 1 });
  answer(1);
  places.push('d', { p: 'a', d: { b: 2, c: 3 }, t: 2 });
  answer(2);
  places.push('m', { p: 'a', d: { b: null, d: 4 }, t: 1 });
  places.push('m', { p: 'a', d: { d: 4 }, t: 2 });
  places.push('d', { p: 'a/d', d: 5, t: 9 });
  for (const heard of [last, again])
    assert.deepEqual(heard, [
      { b: 2, c: 3 },
      { c: 3, d: 4 },
    ]);
  assert.deepEqual(after, [
    { b: 2, c: 3 },
    { b: 2, c: 3, d: 4 },
  ]);
});

test('an order alone shares the listen to the whole place', () => {
  const { places, sent, listen } = setUp();
  const orders = [undefined, new Selection({ order: KEY }), new Selection({ order: VALUE })];
  const all = orders.map((selection) => listen('/a', selection));
  places.push('d', { p: 'a', d: { b: 2, c: 3 } });
  assert.equal(sent.length, 1);
  for (const heard of all) assert.deepEqual(heard, [{ b: 2, c: 3 }]);
});

test('the end of a query names its place, its words and its tag', () => {
  const { bodies, stops, listen } = setUp();
  listen('/a', LAST_TWO);
  listen('/a', LAST_TWO);
  stops[0]();
  assert.equal(bodies.length, 1);
  stops[1]();
  assert.deepEqual(bodies[1], { p: '/a', q: { l: 2, vf: 'r' }, t: 1 });
  listen('/a', LAST_TWO);
  assert.deepEqual(bodies[2], { p: '/a', q: { l: 2, vf: 'r' }, t: 2, h: '' });
});

test('a place ends with its queries, a query ends alone', () => {
  const { places, bodies, listen } = setUp();
  listen('/a');
  listen('/a', LAST_TWO);
  listen('/a', AFTER_A);
  listen('/b', LAST_TWO);
  bodies.splice(0);
  places.unlisten(['a'], AFTER_A, {});
  assert.deepEqual(bodies, [{ p: '/a', q: AFTER_A.toWire(), t: 3 }]);
  places.unlisten(['a'], EVERYTHING, {});
  assert.deepEqual(bodies.slice(1), [{ p: '/a' }, { p: '/a', q: LAST_TWO.toWire(), t: 2 }]);
});

test('a query that is revoked or refused ends alone', () => {
  const { places, listen, answer } = setUp();
  const all = listen('/a');
  const last = listen('/a', LAST_TWO);
  const after = listen('/a', AFTER_A);
  for (const number of [1, 2]) answer(number);
  answer(3, 'permission_denied', 'Permission denied');
  places.push('c', { p: 'a', q: [{ vf: 'r', l: 2 }] });
  places.push('d', { p: 'a', d: { b: 1 } });
  assert.deepEqual(after, ['PERMISSION_DENIED']);
  assert.deepEqual(last, [null, 'PERMISSION_DENIED']);
  assert.deepEqual(all, [null, { b: 1 }]);
});

test('after a reconnect queries are asked again, and only what differs is heard', () => {
  const { places, bodies, send, listen, answer } = setUp();
  const same = listen('/a', LAST_TWO);
  const gone = listen('/b', LAST_TWO);
  places.push('d', { p: 'a', d: { x: 1 }, t: 1 });
  places.push('d', { p: 'b', d: { x: 1 }, t: 2 });
  for (const number of [1, 2]) answer(number);
  const asked = bodies.splice(0);
  places.detach();
  places.attach(send);
  const hash = nodeHash(parseNode({ x: 1 }));
  assert.deepEqual(
    bodies,
    asked.map((body) => ({ ...body, h: hash })),
  );
  places.push('d', { p: 'b', d: null, t: 2 });
  for (const number of [3, 4]) answer(number);
  assert.deepEqual(same, [{ x: 1 }]);
  assert.deepEqual(gone, [{ x: 1 }, null]);
});

test('a server that filters nothing is filtered here', () => {
  const { places, listen, answer } = setUp();
  const last = listen('/a', LAST_TWO);
  places.push('d', { p: 'a', d: { x: 1, y: 2, z: 3 } });
  answer(1);
  places.push('d', { p: 'a/z', d: null });
  assert.deepEqual(last, [
    { y: 2, z: 3 },
    { x: 1, y: 2 },
  ]);
});

test('what the whole place hears is no part of a query that found nothing', () => {
  const { places, listen, answer } = setUp();
  listen('/a');
  const after = listen('/a', AFTER_A);
  for (const number of [1, 2]) answer(number);
  places.push('d', { p: 'a/b/x', d: 1 });
  assert.deepEqual(after, [null]);
  places.push('d', { p: 'a', d: { b: { x: 1 } }, t: 2 });
  assert.deepEqual(after, [null, { b: { x: 1 } }]);
});

test('what is known of a place is what any listen told of it, rather one that is current', () => {
  const { places, listen, answer, send } = setUp();
  listen('/a');
  listen('/a/b', LAST_TWO);
  places.push('d', { p: 'a', d: { b: { x: 1 }, c: 2 } });
  answer(1);
  places.push('d', { p: 'a/b', d: { x: 1 }, t: 2 });
  answer(2);
  const known = (path) => toPlain(places.nodeAt(path.split('/')));
  assert.deepEqual([known('a/b/x'), known('a/c'), known('a/none'), known('z')], [1, 2, null, null]);
  places.detach();
  assert.equal(known('a/b/x'), 1, 'old, but all we know');
  places.attach(send);
  places.push('d', { p: 'a/b', d: { x: 5 }, t: 2 });
  assert.deepEqual([known('a/b/x'), known('a/c')], [5, 2]);
});

test('what the server does without us is shown', () => {
  const { places, listen, answer } = setUp();
  const heard = listen('/a');
  places.push('d', { p: 'a', d: { x: 1, y: 1 } });
  answer(1);
  places.detach();
  places.presume([
    [['a', 'x'], null],
    [['a', 'y'], parseNode(2)],
  ]);
  assert.deepEqual(heard, [{ x: 1, y: 1 }, { y: 2 }]);
});
