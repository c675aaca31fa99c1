/**
 * For random histories of several clients: what one sees is what the server told it, with its own
 * unanswered writes on top; and in the end all see what the server has.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { limitToLast, orderByKey, orderByValue, startAt } from '../constraints.js';
import { openDatabase } from '../database.js';
import { query } from '../query.js';
import { Chance, SEED } from '../testing/chance.js';
import { FakeMachine, settled } from '../testing/fake_machine.js';
import { fakeSockets } from '../testing/fake_socket.js';
import { ModelServer } from '../testing/model_server.js';
import { nodeAt, parseNode, toPlain, withNodeAt } from '../tree.js';
import { increment } from '../values.js';

const HISTORIES = 60;
const STEPS = 120;
const CLIENTS = 3;
const KEYS = ['a', 'b', '1'];
const LISTENED = ['/', '/t', '/t/a', '/t/a/b', '/t/b'];
const QUERIES = [
  (ref) => query(ref, limitToLast(2)),
  (ref) => query(ref, orderByKey(), startAt('a')),
  (ref) => query(ref, orderByValue(), limitToLast(1)),
];
// The same, as the wire has them.
const WIRE = [
  { l: 2, vf: 'r' },
  { sp: 'a', sin: true, i: '.key' },
  { l: 1, vf: 'r', i: '.value' },
];

const split = (path) => path.split('/').filter((key) => key !== '');

/** One client: what it listens to, and its writes that are not settled. */
class Client {
  #machine = new FakeMachine();
  #sockets;
  #chance;
  #server;
  #database;
  #connection = null;
  #listens = new Map();
  #writes = [];
  /** How its transactions on /count ended. */
  counted = { committed: 0, lost: 0 };

  constructor(chance, server) {
    this.#chance = chance;
    this.#server = server;
    const { FakeSocket, sockets } = fakeSockets();
    this.#sockets = sockets;
    this.#database = openDatabase('http://h:1', { WebSocket: FakeSocket }, this.#machine);
  }

  async connect() {
    if (this.#connection !== null) return;
    await settled();
    while (this.#sockets.at(-1).isClosed) this.#machine.advance(1000);
    this.#connection = this.#server.connect(this.#sockets.at(-1), this.#machine.now());
  }

  drop() {
    if (this.#connection === null) return;
    this.#server.drop(this.#connection);
    this.#connection = null;
  }

  /** The server handles a request. */
  send() {
    if (this.#connection !== null) this.#server.receive(this.#connection);
  }

  /** A message arrives. */
  hear() {
    if (this.#connection === null || this.#connection.outbox.length === 0) return;
    const version = this.#connection.deliver();
    this.#connection.look();
    for (const listen of this.#listens.values()) {
      listen.version = this.#connection.hasAnswered(listen.body) ? version : null;
    }
  }

  get isQuiet() {
    this.#connection?.look();
    const { inbox, outbox } = this.#connection ?? { inbox: [1], outbox: [] };
    return inbox.length === 0 && outbox.length === 0;
  }

  toggleListen() {
    const path = this.#chance.pick(LISTENED);
    const index = this.#chance.below(2 * QUERIES.length);
    const name = `${path} ${index < QUERIES.length ? index : ''}`;
    const ref = this.#database.ref(path);
    const listen = this.#listens.get(name);
    if (listen !== undefined) {
      listen.stop();
      this.#listens.delete(name);
      return;
    }
    const asked = QUERIES[index]?.(ref) ?? ref;
    const body = { p: path, q: WIRE[index] };
    const joined = { path, body, version: null, seen: undefined };
    joined.stop = asked.onValue((snapshot) => {
      joined.seen = [snapshot.val(), snapshot.priority];
    });
    this.#listens.set(name, joined);
  }

  write({ hasPriorities }) {
    const path = this.#path();
    const ref = this.#database.ref(path);
    if (this.#chance.onceIn(4)) {
      const parts = Object.fromEntries(KEYS.slice(1).map((key) => [key, this.#value()]));
      const changes = Object.entries(parts).map(([key, value]) => [`${path}/${key}`, value]);
      // As in a merge: values first, then removals.
      changes.sort(([, a], [, b]) => (a === null) - (b === null));
      this.#track({ changes }, ref.update(parts));
    } else if (hasPriorities && this.#chance.onceIn(3)) {
      const priority = this.#chance.pick([null, 1, 2, 'p']);
      this.#track({ changes: [[`${path}/.priority`, priority]] }, ref.setPriority(priority));
    } else {
      const value = this.#value();
      const priority = hasPriorities && this.#chance.onceIn(3) ? 9 : null;
      const changes = [[path, { '.value': value, '.priority': priority }]];
      const written = priority === null ? ref.set(value) : ref.setWithPriority(value, priority);
      this.#track({ changes }, written);
    }
  }

  transact() {
    const path = this.#path();
    const entry = { changes: [] };
    const update = (value) => {
      if (this.#chance.onceIn(8)) return undefined;
      const made = { was: value === null ? 'nothing' : typeof value, now: this.#value() ?? 0 };
      entry.changes = [[path, made]];
      return made;
    };
    this.#track(entry, this.#database.ref(path).transaction(update));
  }

  count() {
    const entry = { changes: [] };
    const update = (value) => {
      entry.changes = [['/count', value + 1]];
      return value + 1;
    };
    const done = this.#database.ref('/count').transaction(update);
    this.#track(entry, done);
    done.then(
      () => (this.counted.committed += 1),
      (error) => {
        // It may have been done all the same.
        if (error.code === 'DISCONNECT') this.counted.lost += 1;
      },
    );
  }

  /** What comes to more than one could foresee here. */
  surprise() {
    const ref = this.#database.ref(this.#path());
    const ignore = () => {};
    if (this.#chance.onceIn(2)) ref.set(increment(2)).catch(ignore);
    else ref.onDisconnect().set(this.#value()).catch(ignore);
  }

  /** What is shown is what the server told, and our own writes. */
  check() {
    for (const { path, body, version, seen } of this.#listens.values()) {
      if (version === null || body.q !== undefined) continue;
      let root = this.#server.states[version];
      for (const [place, value] of this.#writes.flatMap(({ changes }) => changes)) {
        root = withNodeAt(root, split(place), parseNode(value));
      }
      const node = nodeAt(root, split(path));
      assert.deepEqual(seen, [toPlain(node), node?.priority ?? null], `${path} at ${version}`);
    }
  }

  checkEnd() {
    assert.deepEqual(this.#writes, []);
    for (const { body, seen } of this.#listens.values()) {
      const node = this.#server.windowOf(body, this.#server.root);
      assert.deepEqual(seen, [toPlain(node), node?.priority ?? null], JSON.stringify(body));
    }
  }

  #track(entry, settling) {
    this.#writes.push(entry);
    const end = () => this.#writes.splice(this.#writes.indexOf(entry), 1);
    settling.then(end, end);
  }

  #path() {
    const keys = Array.from({ length: this.#chance.below(3) }, () => this.#chance.pick(KEYS));
    return ['/t', ...keys].join('/');
  }

  #value() {
    return this.#chance.pick([null, 1, 2, 'x', true, { a: 1 }, { b: 2, 1: { a: 'deep' } }]);
  }
}

async function live(chance, { isStrict, hasTransactions, hasPriorities }) {
  const server = new ModelServer(chance);
  const clients = Array.from({ length: CLIENTS }, () => new Client(chance, server));
  for (const client of clients) await client.connect();
  for (let step = 0; step < STEPS; step += 1) {
    const client = chance.pick(clients);
    const kind = chance.below(40);
    if (kind < 4) client.toggleListen();
    else if (kind < 12) client.write({ hasPriorities });
    else if (kind < 16 && hasTransactions) client.transact();
    else if (kind < 18) client.count();
    else if (kind < 19 && !isStrict) client.surprise();
    else if (kind < 20) client.drop();
    else if (kind < 22) await client.connect();
    else if (kind < 30) client.send();
    else client.hear();
    await settled();
    if (isStrict) for (const each of clients) each.check();
  }
  for (const client of clients) await client.connect();
  while (clients.some(({ isQuiet }) => !isQuiet)) {
    for (const client of clients) {
      client.send();
      client.hear();
    }
    await settled();
    if (isStrict) for (const each of clients) each.check();
  }
  for (const client of clients) client.checkEnd();
  const sum = (name) => clients.reduce((total, { counted }) => total + counted[name], 0);
  const count = toPlain(nodeAt(server.root, ['count'])) ?? 0;
  assert.ok(count >= sum('committed') && count <= sum('committed') + sum('lost'), `${count}`);
}

const KINDS = [
  ['writes and priorities', { isStrict: true, hasTransactions: false, hasPriorities: true }],
  ['transactions', { isStrict: true, hasTransactions: true, hasPriorities: false }],
  ['all there is', { isStrict: false, hasTransactions: true, hasPriorities: true }],
];
for (const [name, options] of KINDS) {
  test(`clients see the server's state and their own writes, and converge: ${name}`, async () => {
    for (let history = 0; history < HISTORIES; history += 1) {
      const seed = SEED + history;
      try {
        await live(new Chance(seed), options);
      } catch (error) {
        error.message = `SEED=${seed}: ${error.message}`;
        throw error;
      }
    }
  });
}
