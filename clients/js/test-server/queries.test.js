/** Queries against a running server in development mode: TREEDB_URL=http://localhost:9000. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import * as treedb from '../index.js';
import { Chance, SEED } from '../testing/chance.js';
import { connecting, until } from '../testing/live.js';
import { naiveKeys } from '../testing/naive_query.js';
import { Replay } from '../testing/replay.js';

const { limitToFirst, limitToLast, orderByChild, orderByKey, query } = treedb;
const NAMESPACE = `test-queries-${Date.now().toString(36)}`;
const STEPS = 150;
const KEYS = ['1', '2', '10', '-3', 'a', 'b', 'c', 'é', '😀'];
const LEAVES = [false, true, -1, 0, 1, 2.5, 10, '', '1', 'a', 'b', '😀'];
// The constraints, and what the wire has for them.
const QUERIES = [
  [['limitToLast', 2], { l: 2, vf: 'r' }],
  [
    ['orderByKey'],
    ['startAfter', 'a'],
    ['limitToFirst', 2],
    { i: '.key', sp: 'a', sin: false, l: 2, vf: 'l' },
  ],
  [['orderByKey'], { i: '.key' }],
  [['orderByValue'], ['limitToFirst', 3], { i: '.value', l: 3, vf: 'l' }],
  [['orderByPriority'], ['startAt', 1], { sp: 1, sin: true }],
  [['orderByChild', 'n'], { i: 'n' }],
  [['orderByChild', 'n'], ['limitToLast', 3], { i: 'n', l: 3, vf: 'r' }],
  [['orderByChild', 'n'], ['equalTo', 1], { i: 'n', sp: 1, sin: true, ep: 1, ein: true }],
  [
    ['orderByChild', 'd/m'],
    ['startAt', 0],
    ['endBefore', 'b'],
    ['limitToFirst', 2],
    { i: 'd/m', sp: 0, sin: true, ep: 'b', ein: false, l: 2, vf: 'l' },
  ],
];

const database = connecting(NAMESPACE);
const isSame = (a, b) => JSON.stringify(a) === JSON.stringify(b);
const keysOf = (snapshot) => [...snapshot].map(({ key }) => key);
const exported = (value, priority) =>
  typeof value === 'object'
    ? { ...value, '.priority': priority }
    : { '.value': value, '.priority': priority };

test('a query is read in its order', async () => {
  const list = database().ref('/read');
  await list.set({ x: { n: 3 }, y: { n: 1 }, z: { n: 2 }, w: 'none' });
  const cases = [
    [
      [orderByChild('n'), limitToLast(2)],
      ['z', 'x'],
    ],
    [[orderByChild('n')], ['w', 'y', 'z', 'x']],
    [
      [orderByKey(), limitToFirst(2)],
      ['w', 'x'],
    ],
    [[orderByChild('n'), treedb.equalTo(2)], ['z']],
    [[orderByChild('n'), treedb.startAfter(3)], []],
  ];
  for (const [constraints, expected] of cases) {
    assert.deepEqual(keysOf(await query(list, ...constraints).get()), expected);
  }
});

test('a window is refilled when one of its children goes', async () => {
  const list = database().ref('/window');
  await list.set({ a: 1, b: 2, c: 3 });
  const replay = new Replay(query(database().ref('/window'), limitToLast(2)));
  await until(
    () => isSame(replay.keys, ['b', 'c']),
    () => 'the window',
  );
  await list.child('c').remove();
  await until(
    () => isSame(replay.keys, ['a', 'b']),
    () => 'the refill',
  );
  await list.update({ d: 4, 'b/.priority': 5 });
  await until(
    () => isSame(replay.keys, ['d', 'b']),
    () => 'the move',
  );
  await list.remove();
  await until(
    () => isSame(replay.keys, []),
    () => 'the end',
  );
});

test('several queries on one place live apart, and what changed offline is heard', async () => {
  const reader = database();
  const writer = database();
  const place = reader.ref('/several');
  await writer.ref('/several').set({ a: 1, b: 2, c: 3 });
  const first = new Replay(query(place, limitToFirst(1)));
  const last = new Replay(query(place, limitToLast(1)));
  const whole = new Replay(place);
  await until(
    () => isSame([first.keys, last.keys, whole.keys], [['a'], ['c'], ['a', 'b', 'c']]),
    () => 'all',
  );
  first.stop();
  reader.goOffline();
  await writer.ref('/several').update({ a: null, c: null, d: 4 });
  reader.goOnline();
  await until(
    () => isSame([last.keys, whole.keys], [['d'], ['b', 'd']]),
    () => 'both',
  );
  assert.deepEqual(first.keys, ['a']);
});

test('a random history, replayed from events, is what sorting and cutting gives', async () => {
  const chance = new Chance(SEED);
  const path = '/random';
  const writer = database();
  const reader = database();
  const data = {};
  const replays = QUERIES.map((parts) => {
    const constraints = parts.slice(0, -1).map(([name, ...given]) => treedb[name](...given));
    return [new Replay(query(reader.ref(path), ...constraints)), parts.at(-1)];
  });
  const child = () => {
    const value = chance.onceIn(3)
      ? chance.pick(LEAVES)
      : { n: chance.pick(LEAVES), d: { m: chance.pick(LEAVES) } };
    return chance.onceIn(3) ? exported(value, chance.pick([1, 2, 'p'])) : value;
  };
  for (let step = 0; step < STEPS; step += 1) {
    const changes = {};
    for (let count = 1 + chance.below(2); count > 0; count -= 1) {
      changes[chance.pick(KEYS)] = chance.onceIn(4) ? null : child();
    }
    for (const [key, value] of Object.entries(changes)) {
      if (value === null) delete data[key];
      else data[key] = value;
    }
    if (chance.onceIn(25)) reader.goOffline();
    await writer.ref(path).update(changes);
    reader.goOnline();
    for (const [replay, wire] of replays) {
      const expected = naiveKeys(data, wire);
      await until(
        () => isSame(replay.keys, expected),
        () => `SEED=${SEED} step ${step}: ${JSON.stringify([wire, expected, replay.keys, data])}`,
      );
    }
  }
  for (const [replay] of replays) replay.stop();
});
