import assert from 'node:assert/strict';
import { test } from 'node:test';

import { limitToLast } from '../constraints.js';
import { nodeHash } from '../hash.js';
import { query } from '../query.js';
import { parseNode } from '../tree.js';
import { settled } from '../testing/fake_machine.js';
import { DENIED, heardFrom, opened } from '../testing/opened.js';

test('a kept place has its data before anybody listens, whatever off() ends', async () => {
  const { database, socket, sent } = await opened();
  const ref = database.ref('/a');
  ref.keepSynced(true);
  ref.keepSynced(true);
  socket().push('d', { p: 'a', d: { x: 1 } });
  socket().answer(1, 'ok', {});
  ref.off();
  const heard = heardFrom(ref);
  await settled();
  assert.deepEqual(heard, [{ x: 1 }]);
  ref.off();
  ref.keepSynced(false);
  ref.keepSynced(false);
  assert.deepEqual(
    sent().map(([, action]) => action),
    ['q', 'n'],
  );
});

test('after a reconnect it says what it has, so that it need not be sent again', async () => {
  const { database, socket, sent, reconnect } = await opened();
  const last = query(database.ref('/list'), limitToLast(2));
  last.keepSynced(true);
  socket().push('d', { p: 'list', d: { b: 2, c: 3 }, t: 1 });
  socket().answer(1, 'ok', {});
  socket().drop();
  await reconnect();
  const [[number, action, body]] = sent();
  const h = nodeHash(parseNode({ b: 2, c: 3 }));
  assert.deepEqual([action, body], ['q', { p: '/list', q: { l: 2, vf: 'r' }, t: 1, h }]);
  socket().answer(number, 'ok', {});
  const heard = heardFrom(last);
  await settled();
  assert.deepEqual(heard, [{ b: 2, c: 3 }]);
});

test('one that the server refuses is warned of, and may be asked for again', async (context) => {
  const warn = context.mock.method(console, 'warn', () => {});
  const { database, socket, sent } = await opened();
  database.ref('/a').keepSynced(true);
  socket().answer(1, ...DENIED);
  const said = warn.mock.calls.map(({ arguments: [text] }) => text);
  assert.deepEqual(said, ['treedb: no longer kept: listen to /a: Permission denied']);
  database.ref('/a').keepSynced(true);
  assert.equal(sent().length, 2);
});
