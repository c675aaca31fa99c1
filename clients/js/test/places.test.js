import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Places } from '../places.js';
import { Requests } from '../requests.js';
import { toPlain } from '../tree.js';

/** Places on a connection; `listen(path)` returns the list of what its callback hears. */
const setUp = () => {
  const requests = new Requests();
  const places = new Places(requests);
  const sent = [];
  const send = (message) => {
    const { r, a, b } = JSON.parse(message).d;
    sent.push([r, a, b.p]);
  };
  const stops = [];
  const listen = (path) => {
    const heard = [];
    const keys = path.split('/').filter((key) => key !== '');
    const onError = (error) => heard.push(error.code);
    stops.push(places.listen(keys, (node) => heard.push(toPlain(node)), onError));
    return heard;
  };
  const answer = (number, status = 'ok', data = {}) => requests.answer({ number, status, data });
  places.attach(send);
  return { places, sent, send, stops, listen, answer };
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
  places.unlisten(['a']);
  places.unlisten(['a']);
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
  stops.push(
    places.listen(
      ['a'],
      () => stops[1](),
      () => {},
    ),
  );
  stops.push(
    places.listen(
      ['a'],
      (node) => heard.push(toPlain(node)),
      () => {},
    ),
  );
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
  const { places, sent, send, listen, answer } = setUp();
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
  places.push('d', { p: 'a', d: { x: 1 } });
  places.push('d', { p: 'b', d: { x: 2 } });
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
