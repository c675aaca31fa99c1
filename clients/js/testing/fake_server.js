/**
 * The other end of a FakeSocket: keeps a tree and serves listens on it, as the protocol allows.
 *
 * What the protocol leaves to a server, chance decides each time: whether a change is pushed as the
 * whole, as a merge or part by part, and whether what did not change is pushed all the same.
 */

import { nodeHash } from '../hash.js';
import { parseNode, nodeAt, withNodeAt } from '../tree.js';
import { naiveWindow } from './naive_query.js';

export class FakeServer {
  #chance;
  #isTagging;
  #root = null;
  #socket = null;
  #listens = new Map();

  /**
   * @param {import('./chance.js').Chance} chance
   * @param {{isTagging: boolean}} options whether queries are filtered, with tags, or told all
   */
  constructor(chance, { isTagging }) {
    this.#chance = chance;
    this.#isTagging = isTagging;
  }

  /** Greet a client that has dialled; the one before is gone. */
  attach(socket) {
    this.#socket = socket;
    this.#listens.clear();
    socket.greet();
  }

  /** The connection is lost. */
  drop() {
    this.#socket.drop();
    this.#socket = null;
    this.#listens.clear();
  }

  /** Answer what the client has asked since the last time. */
  work() {
    if (this.#socket === null) return;
    for (const [number, action, body] of this.#socket.taken()) {
      const data = HANDLERS[action](this, body);
      this.#socket.answer(number, 'ok', data ?? {});
    }
  }

  /**
   * Write for somebody else.
   *
   * @param {[string, any][]} changes path to value in export form, null removes
   */
  write(changes) {
    const before = this.#root;
    for (const [path, value] of changes) {
      this.#root = withNodeAt(this.#root, split(path), parseNode(value));
    }
    for (const listen of this.#listens.values()) this.#tell(listen, before, changes);
  }

  /** Return what is at a path, in export form. */
  at(path) {
    return exported(nodeAt(this.#root, split(path)));
  }

  listen({ p, q, t, h }) {
    const listen = { path: p, query: q, tag: this.#isTagging ? t : undefined };
    this.#listens.set(nameOf(p, q), listen);
    const data = this.#windowOf(listen, this.#root);
    const isSame = nodeHash(parseNode(data)) === h;
    if (!isSame || this.#chance.onceIn(2)) this.#push('d', listen, data);
  }

  unlisten({ p, q }) {
    this.#listens.delete(nameOf(p, q));
  }

  get({ p, q }) {
    return naiveWindow(this.at(p), q);
  }

  #tell(listen, rootBefore, changes) {
    const [before, after] = [rootBefore, this.#root].map((root) => this.#windowOf(listen, root));
    const isSame = JSON.stringify(before) === JSON.stringify(after);
    if (isSame && !this.#chance.onceIn(5)) return;
    if (isSame || after === null || this.#chance.onceIn(3)) this.#push('d', listen, after);
    else if (listen.tag === undefined) this.#pushParts(listen, changes);
    else this.#pushMembers(listen, before, after);
  }

  /** Push what was written, where it was written. */
  #pushParts(listen, changes) {
    if (changes.some(([path]) => !path.startsWith(`${listen.path}/`))) {
      this.#push('d', listen, this.at(listen.path));
      return;
    }
    const below = changes.map(([path, value]) => [path.slice(listen.path.length + 1), value]);
    this.#pushMerge(listen, below);
  }

  /** Push the children that entered, left or changed; of what stays perhaps the changed parts. */
  #pushMembers(listen, before, after) {
    const inParts = this.#chance.onceIn(2);
    const keys = [...Object.keys(before ?? {}), ...Object.keys(after)];
    const below = [];
    for (const key of new Set(keys)) {
      const [old, child] = [before?.[key] ?? null, after[key] ?? null];
      if (JSON.stringify(old) === JSON.stringify(child)) continue;
      const parts = inParts ? partsBetween(old, child) : null;
      if (parts === null) below.push([key, child]);
      else for (const [part, value] of parts) below.push([`${key}/${part}`, value]);
    }
    // One after the other the parts could empty a child in between; in a merge they cannot.
    if (inParts) this.#push('m', listen, Object.fromEntries(below));
    else this.#pushMerge(listen, below);
  }

  #pushMerge(listen, below) {
    if (this.#chance.onceIn(3)) {
      for (const [path, value] of below) this.#push('d', listen, value, `/${path}`);
    } else {
      this.#push('m', listen, Object.fromEntries(below));
    }
  }

  #push(action, { path, tag }, data, below = '') {
    this.#socket.push(action, { p: `${path}${below}`.slice(1), d: data, t: tag });
  }

  #windowOf({ path, query, tag }, root) {
    const data = exported(nodeAt(root, split(path)));
    return tag === undefined ? data : naiveWindow(data, query);
  }
}

const HANDLERS = {
  q: (server, body) => server.listen(body),
  n: (server, body) => server.unlisten(body),
  g: (server, body) => server.get(body),
  p: (server, { p, d }) => server.write([[p, d]]),
  m: (server, { p, d }) =>
    server.write(Object.entries(d).map(([path, value]) => [`${p}/${path}`, value])),
};

/** What makes one object of another, member by member; null if that does not say it all. */
function partsBetween(old, child) {
  if (!isObject(old) || !isObject(child)) return null;
  const names = [...new Set([...Object.keys(old), ...Object.keys(child)])];
  return names
    .filter((name) => JSON.stringify(old[name]) !== JSON.stringify(child[name]))
    .map((name) => [name, child[name] ?? null]);
}

function isObject(data) {
  return typeof data === 'object' && data !== null && !('.value' in data);
}

/** Return a node in export form. */
export function exported(node) {
  if (node === null) return null;
  const priority = node.priority === null ? {} : { '.priority': node.priority };
  if (node.children !== null) {
    const children = node.keys().map((key) => [key, exported(node.children.get(key))]);
    return { ...Object.fromEntries(children), ...priority };
  }
  return node.priority === null ? node.leaf : { '.value': node.leaf, ...priority };
}

function nameOf(path, query) {
  return `${path} ${JSON.stringify(query)}`;
}

function split(path) {
  return path.split('/').filter((key) => key !== '');
}
