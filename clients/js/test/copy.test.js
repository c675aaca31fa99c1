import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Copy } from '../copy.js';
import { nodeHash } from '../hash.js';
import { EVERYTHING, Selection } from '../selection.js';
import { parseNode, toPlain } from '../tree.js';

const LAST_TWO = new Selection({ limit: 2, keepsLast: true });
const change = (path, value) => [path.split('/').filter((key) => key !== ''), parseNode(value)];
const isOurs = () => false;
const isForOthers = () => true;

/** A copy of /list; `seen()` is what its selection makes of it, undefined while unsynced. */
const copyOf = (selection = LAST_TWO) => {
  const copy = new Copy(['list'], selection);
  const untagged = (isElsewhere, ...changes) => copy.takeUntagged(changes, isElsewhere);
  const tagged = (...changes) => copy.takeTagged(changes);
  const seen = () => (copy.isSynced ? toPlain(selection.windowOf(copy.root)) : undefined);
  return { copy, untagged, tagged, seen };
};

test('a whole place is told without a tag, at, above and below', () => {
  const { untagged, seen } = copyOf(EVERYTHING);
  untagged(isForOthers, change('/list/a', 1));
  assert.equal(seen(), undefined, 'a part tells nothing of the whole');
  untagged(isForOthers, change('/', { list: { a: 1 }, other: 1 }));
  untagged(isForOthers, change('/list/b/c', 2), change('/lists', 5));
  assert.deepEqual(seen(), { a: 1, b: { c: 2 } });
});

test('a window is told with a tag, and what others are told does not touch it', () => {
  const { untagged, tagged, seen } = copyOf();
  tagged(change('/list', { b: 2, c: 3 }));
  untagged(isForOthers, change('/list', { z: 9 }));
  untagged(isOurs, change('/list/y', 9));
  assert.deepEqual(seen(), { b: 2, c: 3 });
  tagged(change('/list/d', 4), change('/list/b', null));
  assert.deepEqual(seen(), { c: 3, d: 4 });
});

test('a part of a child is taken if the child is in the window, else it is nothing', () => {
  const { tagged, seen } = copyOf();
  tagged(change('/list', { b: { x: 1 } }));
  tagged(change('/list/b/y', 2), change('/list/a/x', 3), change('/list/.priority', 4));
  assert.deepEqual(seen(), { b: { x: 1, y: 2 } });
});

test('a tag never reaches above or beside its place', () => {
  const { tagged, seen } = copyOf();
  tagged(change('/', { list: { a: 1 } }), change('/other', { a: 1 }));
  assert.equal(seen(), undefined);
});

test('before the first data parts with a tag are nothing', () => {
  const { tagged, seen } = copyOf();
  tagged(change('/list/a', 1));
  assert.equal(seen(), undefined);
});

test('a server may tell a filtered listen everything, without a tag', () => {
  const { untagged, seen } = copyOf();
  untagged(isForOthers, change('/list', { a: 1, b: 2, c: 3 }));
  assert.deepEqual(seen(), { b: 2, c: 3 });
  untagged(isForOthers, change('/list/c', null));
  assert.deepEqual(seen(), { a: 1, b: 2 });
  untagged(isForOthers, change('/list/b/x', 5));
  assert.deepEqual(seen(), { a: 1, b: { x: 5 } });
});

test('once a tag comes the copy is the window, cut from what was whole', () => {
  const { copy, tagged, untagged, seen } = copyOf();
  untagged(isForOthers, change('/list', { a: 1, b: 2, c: 3 }));
  tagged(change('/list/d', 4), change('/list/b', null));
  assert.deepEqual(toPlain(copy.root), { c: 3, d: 4 });
  untagged(isForOthers, change('/list/e', 5));
  assert.deepEqual(seen(), { c: 3, d: 4 });
});

test('an ok without data means that nothing is chosen', () => {
  const { copy, seen } = copyOf();
  copy.confirm(copy.claim());
  assert.equal(seen(), null);
});

test('after nothing was chosen, what has no tag is ours if nobody else is there to hear it', () => {
  const alone = copyOf();
  alone.copy.confirm(alone.copy.claim());
  alone.untagged(isOurs, change('/list/a/x', 1));
  assert.deepEqual(alone.seen(), { a: { x: 1 } });
  const beside = copyOf();
  beside.copy.confirm(beside.copy.claim());
  beside.untagged(isForOthers, change('/list/a/x', 1));
  assert.equal(beside.seen(), null);
  beside.untagged(isForOthers, change('/', { list: { b: 2 } }));
  assert.deepEqual(beside.seen(), { b: 2 });
});

test('an ok after data adds nothing', () => {
  const { copy, tagged, seen } = copyOf();
  tagged(change('/list', { a: 1 }));
  copy.confirm(copy.claim());
  assert.deepEqual(seen(), { a: 1 });
});

test('a lost connection keeps the data but no longer vouches for them', () => {
  const { copy, tagged, seen } = copyOf();
  tagged(change('/list', { a: 1 }));
  copy.lose();
  assert.equal(copy.isSynced, false);
  assert.deepEqual(toPlain(copy.root), { a: 1 });
  tagged(change('/list/b', 1));
  assert.deepEqual(toPlain(copy.root), { a: 1 }, 'a part tells nothing of the rest');
});

test('what the server has as well need not be sent again', () => {
  const { copy, tagged, seen } = copyOf();
  tagged(change('/list', { a: 1 }));
  copy.lose();
  const claim = copy.claim();
  assert.equal(claim.hash, nodeHash(parseNode({ a: 1 })));
  copy.confirm(claim);
  assert.deepEqual(seen(), { a: 1 });
  tagged(change('/list/b', 2));
  assert.deepEqual(seen(), { a: 1, b: 2 });
});

test('what is claimed is what was there then, whatever came since', () => {
  const { copy, untagged, seen } = copyOf(EVERYTHING);
  untagged(isOurs, change('/list', { a: 1 }));
  copy.lose();
  const claim = copy.claim();
  untagged(isOurs, change('/list', { a: 2 }));
  copy.distrust();
  copy.confirm(claim);
  assert.deepEqual(seen(), { a: 1 });
});

test('nothing is claimed of what the server could not compare', () => {
  const { copy, untagged } = copyOf();
  assert.equal(copy.claim().hash, '', 'no data came');
  untagged(isOurs, change('/list', { a: 1, b: 2, c: 3 }));
  copy.lose();
  assert.equal(copy.claim().hash, '', 'the server tells the whole, and compares windows');
});

test('it knows of places below what it was told', () => {
  const whole = copyOf(EVERYTHING);
  assert.equal(whole.copy.nodeAt(['a']), undefined);
  whole.untagged(isOurs, change('/list', { a: { x: 1 } }));
  assert.equal(toPlain(whole.copy.nodeAt(['a', 'x'])), 1);
  assert.equal(whole.copy.nodeAt(['b']), null);
  const part = copyOf();
  part.tagged(change('/list', { a: { x: 1 } }));
  assert.deepEqual(toPlain(part.copy.nodeAt(['a'])), { x: 1 });
  assert.equal(part.copy.nodeAt(['a', 'y']), null);
  assert.equal(part.copy.nodeAt(['b']), undefined, 'it may be beyond the window');
  assert.equal(part.copy.nodeAt([]), undefined);
});

test('what the server will do without us is taken as done', () => {
  const { copy, untagged } = copyOf(EVERYTHING);
  copy.presume([change('/list/a', 1)]);
  assert.equal(copy.known.isKnown, false, 'a part tells nothing of the whole');
  untagged(isOurs, change('/list', { a: 1, b: 2 }));
  copy.lose();
  copy.presume([change('/list/a', null), change('/list/c', 3), change('/other', 4)]);
  assert.deepEqual(toPlain(copy.root), { b: 2, c: 3 });
  copy.presume([change('/', { list: 5 })]);
  assert.equal(toPlain(copy.root), 5);
});

test('what had a tag was told to nobody else', () => {
  const own = copyOf();
  own.tagged(change('/list', { a: 1 }));
  own.copy.distrust();
  assert.equal(own.copy.isSynced, true);
  const shared = copyOf();
  shared.untagged(isForOthers, change('/list', { a: 1 }));
  shared.copy.distrust();
  assert.equal(shared.copy.isSynced, false);
});
