/**
 * A server for several clients, whose messages are on their way for as long as the test likes.
 *
 * What a client sends waits until receive(), what it is sent waits until deliver(). All pushes of
 * one change go together, and come before the answer to whoever made it. Among them those for a
 * place come before those for places below it: what has no tag is for all who listen, and a part
 * of a change would make a state in between.
 */

import { estimate } from '../estimates.js';
import { nodeHash } from '../hash.js';
import { inMergeOrder } from '../pending.js';
import { nodeAt, parseNode, withNodeAt } from '../tree.js';
import { exported } from './fake_server.js';
import { naiveWindow } from './naive_query.js';

const OK = ['ok', {}];
const STALE = ['datastale', 'Transaction hash does not match'];

export class ModelServer {
  #chance;
  /** The tree after each change. */
  states = [null];
  connections = new Set();

  /** @param {import('./chance.js').Chance} chance */
  constructor(chance) {
    this.#chance = chance;
  }

  get version() {
    return this.states.length - 1;
  }

  get root() {
    return this.states.at(-1);
  }

  connect(socket, time) {
    const connection = new ModelConnection(socket);
    this.connections.add(connection);
    socket.greet('session', time);
    return connection;
  }

  /** The connection ends; the server has perhaps had some of what was on its way. */
  drop(connection) {
    connection.look();
    for (let count = this.#chance.below(connection.inbox.length + 1); count > 0; count -= 1) {
      this.receive(connection);
    }
    this.connections.delete(connection);
    connection.socket.drop();
    this.#commit([...connection.last].map(([path, wire]) => [split(path), wire]));
  }

  /** Handle the next request of a connection. */
  receive(connection) {
    connection.look();
    const request = connection.inbox.shift();
    if (request === undefined) return;
    const [number, action, body] = request;
    const [status, data] = HANDLERS[action](this, connection, body);
    const name = action === 'q' ? nameOf(body) : null;
    connection.outbox.push({ version: this.version, answer: [number, status, data], name });
  }

  listen(connection, body) {
    connection.listens.set(nameOf(body), body);
    const window = this.windowOf(body, this.root);
    if (nodeHash(window) !== body.h) this.#push(connection, [pushOf(body, window)]);
    return OK;
  }

  write(parts) {
    if (this.#chance.onceIn(8)) return ['permission_denied', 'Permission denied'];
    this.#commit(parts);
    return OK;
  }

  windowOf({ p, q }, root) {
    const node = nodeAt(root, split(p));
    return q === undefined ? node : parseNode(naiveWindow(exported(node), q));
  }

  #commit(parts) {
    const before = this.root;
    const changes = parts.map(([keys, wire]) => [keys, estimate(wire, nodeAt(before, keys), 7)]);
    let after = before;
    for (const change of inMergeOrder(changes)) after = withNodeAt(after, ...change);
    this.states.push(after);
    for (const connection of this.connections) {
      const listens = [...connection.listens.values()];
      listens.sort((a, b) => split(a.p).length - split(b.p).length);
      const pushes = listens.flatMap((listen) =>
        this.#news(listen, this.windowOf(listen, before), this.windowOf(listen, after)),
      );
      this.#push(connection, pushes);
    }
  }

  #push(connection, pushes) {
    if (pushes.length > 0) connection.outbox.push({ version: this.version, pushes });
  }

  /** The whole, or only the children that differ. */
  #news(listen, before, after) {
    if (nodeHash(before) === nodeHash(after)) return [];
    const isObject = before?.children && after?.children && before.priority === after.priority;
    if (!isObject || this.#chance.onceIn(2)) return [pushOf(listen, after)];
    const keys = new Set([...before.children.keys(), ...after.children.keys()]);
    const differing = [...keys].filter(
      (key) => nodeHash(nodeAt(before, [key])) !== nodeHash(nodeAt(after, [key])),
    );
    const merged = differing.map((key) => [key, exported(nodeAt(after, [key]))]);
    return [['m', { p: listen.p.slice(1), d: Object.fromEntries(merged), t: listen.t }]];
  }
}

class ModelConnection {
  inbox = [];
  outbox = [];
  listens = new Map();
  /** What to do on disconnect, by path. */
  last = new Map();
  /** How many listens of a name are not answered. */
  asked = new Map();

  constructor(socket) {
    this.socket = socket;
  }

  /** Take what the client has sent. */
  look() {
    for (const request of this.socket.taken()) {
      if (request[1] === 'q') this.#count(nameOf(request[2]), 1);
      this.inbox.push(request);
    }
  }

  /** Deliver the next message; returns the version that the client knows by then. */
  deliver() {
    const { version, pushes = [], answer, name } = this.outbox.shift();
    for (const [action, body] of pushes) this.socket.push(action, body);
    if (answer !== undefined) this.socket.answer(...answer);
    if (name) this.#count(name, -1);
    return version;
  }

  /** Tell whether a listen was answered, and no other one of that name is on its way. */
  hasAnswered(body) {
    return this.asked.get(nameOf(body)) === 0;
  }

  #count(name, difference) {
    this.asked.set(name, (this.asked.get(name) ?? 0) + difference);
  }
}

const HANDLERS = {
  q: (server, connection, body) => server.listen(connection, body),
  n: (_, connection, body) => (connection.listens.delete(nameOf(body)), OK),
  g: (server, _, body) => ['ok', exported(server.windowOf(body, server.root))],
  m: (server, _, { p, d }) => server.write(under(p, d)),
  p: (server, _, { p, d, h }) => {
    if (h !== undefined && h !== nodeHash(nodeAt(server.root, split(p)))) return STALE;
    return server.write([[split(p), d]]);
  },
  o: (_, connection, { p, d }) => (connection.last.set(p, d), OK),
};

const under = (path, parts) =>
  Object.entries(parts).map(([below, wire]) => [[...split(path), ...split(below)], wire]);
const pushOf = ({ p, t }, window) => ['d', { p: p.slice(1), d: exported(window), t }];
const nameOf = ({ p, q }) => `${p} ${JSON.stringify(q)}`;
const split = (path) => path.split('/').filter((key) => key !== '');
