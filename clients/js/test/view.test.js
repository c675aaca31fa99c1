import assert from 'node:assert/strict';
import { test } from 'node:test';

import { EventQueue } from '../event_queue.js';
import { VALUE } from '../query_order.js';
import { EVERYTHING, Selection } from '../selection.js';
import { parseNode, toPlain } from '../tree.js';
import { View } from '../view.js';

const turn = () => Promise.resolve();

/** A view; `listen(event)` returns the registration and what all of them hear, in one list. */
const setUp = (selection = EVERYTHING) => {
  const view = new View(selection, new EventQueue());
  const heard = [];
  const listen = (event, name = event) => {
    const onNews = (news) =>
      heard.push([name, event === 'value' ? toPlain(news) : [news.key, news.previousKey]]);
    const registration = { event, onNews, onError: (error) => heard.push([name, error]) };
    view.add(registration);
    return registration;
  };
  const update = (data) => view.update(parseNode(data));
  const taken = () => heard.splice(0);
  return { view, listen, update, taken };
};

test('what is there comes as added children, then as a value', () => {
  const { listen, update, taken } = setUp();
  for (const event of ['value', 'child_added', 'child_changed', 'child_removed']) listen(event);
  update({ b: 1, a: 2 });
  assert.deepEqual(taken(), [
    ['child_added', ['a', null]],
    ['child_added', ['b', 'a']],
    ['value', { a: 2, b: 1 }],
  ]);
});

test('each change goes to all who want it before the next one, the value comes last', () => {
  const { listen, update, taken } = setUp(new Selection({ order: VALUE }));
  listen('value');
  for (const event of ['child_moved', 'child_added', 'child_removed']) listen(event);
  listen('child_added', 'second');
  update({ a: 1, b: 2 });
  taken();
  update({ a: 5, c: 3 });
  assert.deepEqual(taken(), [
    ['child_removed', ['b', null]],
    ['child_added', ['c', null]],
    ['second', ['c', null]],
    ['child_moved', ['a', 'c']],
    ['value', { a: 5, c: 3 }],
  ]);
});

test('nothing there is a value, and no child', () => {
  const { listen, update, taken } = setUp();
  for (const event of ['value', 'child_added']) listen(event);
  update(null);
  update(null);
  assert.deepEqual(taken(), [['value', null]]);
});

test('a change outside the window is none', () => {
  const { listen, update, taken } = setUp(new Selection({ limit: 1, keepsLast: true }));
  listen('value');
  update({ a: 1, b: 2 });
  update({ a: 5, b: 2 });
  update({ a: 5, b: 2, '.priority': 3 });
  assert.deepEqual(taken(), [['value', { b: 2 }]]);
});

test('who joins later hears how things stand, alone, and not before the call returned', async () => {
  const { listen, update, taken } = setUp();
  listen('child_added', 'first');
  update({ a: 1 });
  taken();
  listen('child_added', 'late');
  assert.deepEqual(taken(), []);
  await turn();
  assert.deepEqual(taken(), [['late', ['a', null]]]);
  update({ a: 1, b: 2 });
  assert.deepEqual(taken(), [
    ['first', ['b', 'a']],
    ['late', ['b', 'a']],
  ]);
});

test('who joined and has not heard yet is not told of changes but of how things stand', async () => {
  const { listen, update, taken } = setUp();
  listen('value', 'first');
  update({ a: 1 });
  listen('child_added', 'late');
  update({ a: 1, b: 2 });
  taken();
  await turn();
  assert.deepEqual(taken(), [
    ['late', ['a', null]],
    ['late', ['b', 'a']],
  ]);
});

test('callbacks end by event, by function, or all', () => {
  const { view, listen, update, taken } = setUp();
  const mine = () => {};
  view.add({ event: 'child_added', callback: mine, onNews: () => taken(), onError: () => {} });
  for (const event of ['value', 'child_added', 'child_changed']) listen(event);
  view.off('child_added', mine);
  view.off('child_changed');
  update({ a: 1 });
  update({ a: 2 });
  assert.deepEqual(
    taken().map(([name]) => name),
    ['child_added', 'value', 'value'],
  );
  view.off();
  assert.equal(view.isEmpty, true);
});

test('a callback may end those after it', () => {
  const { view, listen, update, taken } = setUp();
  view.add({ event: 'child_added', onNews: () => view.off('child_added'), onError: () => {} });
  listen('child_added');
  update({ a: 1, b: 1 });
  assert.deepEqual(taken(), []);
});

test('a failure is told once to each, and is the end', () => {
  const { view, listen, update, taken } = setUp();
  listen('value');
  listen('child_added');
  view.fail('no');
  view.fail('again');
  update({ a: 1 });
  assert.deepEqual(taken(), [
    ['value', 'no'],
    ['child_added', 'no'],
  ]);
});

test('when a place is unknown again newcomers wait, the others keep what they heard', async () => {
  const { view, listen, update, taken } = setUp();
  listen('value', 'early');
  update('mine');
  view.lose();
  listen('value', 'late');
  await turn();
  assert.deepEqual(taken(), [['early', 'mine']]);
  update('mine');
  assert.deepEqual(taken(), [['late', 'mine']]);
  update('theirs');
  assert.deepEqual(taken(), [
    ['early', 'theirs'],
    ['late', 'theirs'],
  ]);
});

test('what the client itself listens by is not ended by off', () => {
  const { view, update } = setUp();
  const heard = [];
  view.add({ event: 'value', onNews: () => heard.push(1), onError: () => {}, isOurs: true });
  view.off();
  update('data');
  assert.deepEqual(heard, [1]);
});
