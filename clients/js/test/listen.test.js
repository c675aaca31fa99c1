import assert from 'node:assert/strict';
import { test } from 'node:test';

import { EventQueue } from '../event_queue.js';
import { Listen, idOf } from '../listen.js';
import { PendingWrites } from '../pending.js';
import { VALUE, byChild } from '../query_order.js';
import { EVERYTHING, Selection } from '../selection.js';
import { parseNode, toPlain } from '../tree.js';

const LAST_TWO = new Selection({ limit: 2, keepsLast: true });
const BY_VALUE = new Selection({ order: VALUE });
const context = () => ({ pending: new PendingWrites(), queue: new EventQueue() });
const turn = () => Promise.resolve();
const keysHeard = (listen, selection) => {
  const heard = [];
  const onNews = (node) => heard.push(node?.keysBy(selection.order) ?? []);
  const registration = { event: 'value', onNews, onError: (error) => heard.push(error) };
  listen.add(selection, registration);
  return { heard, registration };
};

test('a filter has a tag and is named by it; an order alone is a listen to the whole place', () => {
  const filtered = new Listen(['a', 'b'], LAST_TWO, 7, context());
  assert.deepEqual(filtered.name, { p: '/a/b', q: { l: 2, vf: 'r' }, t: 7 });
  assert.equal(filtered.description, 'listen to /a/b with {"l":2,"vf":"r"}');
  const whole = new Listen(['a'], BY_VALUE, 8, context());
  assert.deepEqual(whole.name, { p: '/a' });
  assert.equal(whole.tag, null);
  assert.equal(whole.description, 'listen to /a');
  assert.equal(whole.id, idOf(['a'], EVERYTHING));
  assert.notEqual(filtered.id, idOf(['a', 'b'], EVERYTHING));
});

test('each order has its view of the one copy', async () => {
  const listen = new Listen([], EVERYTHING, 1, context());
  const byKey = keysHeard(listen, EVERYTHING);
  listen.copy.takeUntagged([[[], parseNode({ a: 2, b: 1 })]], () => true);
  listen.update();
  const byValue = keysHeard(listen, BY_VALUE);
  await turn();
  assert.deepEqual(byKey.heard, [['a', 'b']]);
  assert.deepEqual(byValue.heard, [['b', 'a']]);
  assert.equal(toPlain(listen.copy.root).a, 2);
});

test('a listen is empty when its last callback has gone', () => {
  const listen = new Listen([], EVERYTHING, 1, context());
  const { registration } = keysHeard(listen, EVERYTHING);
  keysHeard(listen, BY_VALUE);
  assert.equal(listen.remove(BY_VALUE, registration), false);
  assert.equal(listen.remove(EVERYTHING, registration), true);
  assert.equal(listen.remove(EVERYTHING, registration), false);
  assert.equal(listen.isEmpty, false);
  listen.off({}, EVERYTHING.id);
  assert.equal(listen.isEmpty, false);
  listen.off({}, BY_VALUE.id);
  assert.equal(listen.isEmpty, true);
});

test('a failure reaches every view', () => {
  const listen = new Listen([], EVERYTHING, 1, context());
  const views = [EVERYTHING, BY_VALUE].map((selection) => keysHeard(listen, selection).heard);
  listen.fail('no');
  assert.deepEqual(views, [['no'], ['no']]);
  assert.equal(listen.isEmpty, true);
});

test('an index that is missing is warned of once, with what to add', (it) => {
  const warn = it.mock.method(console, 'warn', () => {});
  const selection = LAST_TWO.with({ order: byChild(['at']) });
  const listen = new Listen(['rooms', 'one'], selection, 1, context());
  listen.warn(['something_else']);
  listen.warn(['no_index']);
  listen.warn(['no_index']);
  const said = warn.mock.calls.map(({ arguments: [text] }) => text);
  assert.deepEqual(said, [
    'treedb: the query at /rooms/one has no index: the server reads all that is there. ' +
      'Add ".indexOn": "at" at /rooms/one to the rules.',
  ]);
});
