/** For random lists, queries and histories: what is heard is what a plain sort and cut gives. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import * as client from '../constraints.js';
import { openDatabase } from '../database.js';
import { query } from '../query.js';
import { EVERYTHING } from '../selection.js';
import { Chance, SEED } from '../testing/chance.js';
import { FakeMachine, settled } from '../testing/fake_machine.js';
import { FakeServer } from '../testing/fake_server.js';
import { fakeSockets } from '../testing/fake_socket.js';
import { naiveKeys } from '../testing/naive_query.js';
import { Replay, shown } from '../testing/replay.js';
import { Snapshot } from '../snapshot.js';
import { parseNode } from '../tree.js';

const HISTORIES = 150;
const STEPS = 25;
const KEYS = ['1', '02', '2', '10', '-3', 'a', 'b', 'c', 'é', '😀', '\ue000'];
const LEAVES = [false, true, -1, 0, 1, 2.5, 10, '', '1', 'a', 'b', '😀', '\uffff'];
const PRIORITIES = [null, null, 1, 2, 'p'];

const leaf = (chance) => chance.pick(LEAVES);
const child = (chance) => {
  const priority = chance.pick(PRIORITIES);
  const data = chance.onceIn(3)
    ? { '.value': leaf(chance) }
    : { n: leaf(chance), d: { m: leaf(chance) }, other: chance.below(3) };
  if (data.n !== undefined && chance.onceIn(3)) delete data.n;
  return priority === null ? data : { ...data, '.priority': priority };
};
const list = (chance) => {
  const keys = KEYS.filter(() => chance.onceIn(2));
  return Object.fromEntries(keys.map((key) => [key, child(chance)]));
};

const ORDERS = ['orderByKey', 'orderByValue', 'orderByPriority', 'orderByChild'];
const constraints = (chance) => {
  const order = chance.pick(ORDERS);
  const isByKey = order === 'orderByKey';
  const value = () =>
    isByKey
      ? chance.pick(KEYS)
      : order === 'orderByPriority'
        ? chance.pick(PRIORITIES)
        : chance.pick([null, ...LEAVES]);
  const bound = (name) =>
    client[name](value(), !isByKey && chance.onceIn(3) ? chance.pick(KEYS) : null);
  const parts = [client[order](chance.pick(['n', 'd/m', 'other']))];
  if (chance.onceIn(8)) return [...parts, bound('equalTo')];
  if (chance.onceIn(3)) parts.push(bound(chance.pick(['startAt', 'startAfter'])));
  if (chance.onceIn(3)) parts.push(bound(chance.pick(['endAt', 'endBefore'])));
  if (!chance.onceIn(3)) {
    parts.push(client[chance.pick(['limitToFirst', 'limitToLast'])](1 + chance.below(4)));
  }
  return parts;
};

const write = (chance) => {
  const place = `/list/${chance.pick(KEYS)}`;
  const other = `/list/${chance.pick(KEYS)}`;
  return chance.pick([
    () => [[place, child(chance)]],
    () => [[place, null]],
    () => [[`${place}/n`, leaf(chance)]],
    () => [[`${place}/d/m`, leaf(chance)]],
    () => [[`${place}/.priority`, chance.pick([1, 2, 3, 'p', 'q', null])]],
    () =>
      place === other
        ? []
        : [
            [place, child(chance)],
            [other, null],
          ],
    () =>
      place === other
        ? []
        : [
            [`${place}/n`, leaf(chance)],
            [other, child(chance)],
          ],
    () => [['/list', list(chance)]],
    () => [['/list', chance.onceIn(2) ? null : 'a leaf']],
    () => [['/elsewhere', leaf(chance)]],
  ])();
};

/** One client and one server, and those who listen to queries of /list. */
class World {
  #machine = new FakeMachine();
  #sockets;
  #server;
  #list;
  #isOnline = true;
  #replays = [];

  constructor(chance, isTagging) {
    this.chance = chance;
    this.isTagging = isTagging;
    const { FakeSocket, sockets } = fakeSockets();
    this.#sockets = sockets;
    this.#server = new FakeServer(chance, { isTagging });
    const database = openDatabase('http://h:1', { WebSocket: FakeSocket }, this.#machine);
    this.#list = database.ref('/list');
  }

  async start() {
    await settled();
    this.#server.attach(this.#sockets.at(-1));
    this.#server.write([['/list', list(this.chance)]]);
  }

  async step() {
    const { chance } = this;
    if (chance.onceIn(4)) this.#join();
    else if (chance.onceIn(10)) this.#leave();
    else if (chance.onceIn(12)) await this.#toggle();
    else if (chance.onceIn(6)) this.#writeOneself();
    else this.#server.write(write(chance));
    this.#server.work();
    await Promise.resolve();
    if (this.#isOnline) for (const joined of this.#replays) this.#check(joined);
  }

  async checkReads() {
    if (!this.#isOnline) await this.#toggle();
    const parts = constraints(this.chance);
    const wire = client.QueryConstraint.combine(EVERYTHING, parts).toWire();
    const reading = query(this.#list, ...parts).get();
    this.#server.work();
    const keys = [...(await reading)].map(({ key }) => key);
    assert.deepEqual(keys, naiveKeys(this.#server.at('/list'), wire), JSON.stringify(wire));
  }

  #join() {
    const parts = constraints(this.chance);
    const selection = client.QueryConstraint.combine(EVERYTHING, parts);
    // A server that tells all without a tag does so for queries; see copy.js for the rest.
    if (!this.isTagging && !selection.isFiltering) return;
    const asked = query(this.#list, ...parts);
    this.#replays.push({ asked, wire: selection.toWire(), replay: new Replay(asked) });
  }

  #leave() {
    if (this.#replays.length === 0) return;
    const [{ asked, wire, replay }] = this.#replays.splice(
      this.chance.below(this.#replays.length),
      1,
    );
    if (this.chance.onceIn(2)) {
      replay.stop();
      return;
    }
    asked.off();
    const isEnded = (other) =>
      JSON.stringify(wire) === '{}' || JSON.stringify(other.wire) === JSON.stringify(wire);
    this.#replays = this.#replays.filter((other) => !isEnded(other));
  }

  async #toggle() {
    this.#isOnline = !this.#isOnline;
    if (!this.#isOnline) {
      this.#server.drop();
      return;
    }
    this.#machine.advance(60 * 1000);
    await settled();
    this.#server.attach(this.#sockets.at(-1));
    this.#server.work();
  }

  #writeOneself() {
    for (const [path, value] of write(this.chance)) {
      if (path.endsWith('.priority')) continue; // for updates only
      const keys = path.slice('/list'.length);
      if (path.startsWith('/list')) this.#list.child(keys).set(value).catch(assert.fail);
    }
  }

  #check({ wire, replay }) {
    const data = this.#server.at('/list');
    const expected = naiveKeys(data, wire);
    const why = JSON.stringify({ wire, data });
    assert.deepEqual(replay.keys, expected, why);
    assert.deepEqual(
      replay.list.map((member) => member.child),
      expected.map((key) => shown(new Snapshot(parseNode(data[key]), key, null))),
      why,
    );
    assert.deepEqual(
      [...replay.value].map(({ key }) => key),
      expected,
      why,
    );
  }
}

for (const isTagging of [true, false]) {
  const how = isTagging ? 'filters and tags' : 'tells all, without a tag';
  test(`events replayed are the window, in order, where the server ${how}`, async () => {
    for (let history = 0; history < HISTORIES; history += 1) {
      const seed = SEED + history;
      try {
        const world = new World(new Chance(seed), isTagging);
        await world.start();
        for (let step = 0; step < STEPS; step += 1) await world.step();
        await world.checkReads();
      } catch (error) {
        error.message = `SEED=${seed}: ${error.message}`;
        throw error;
      }
    }
  });
}
