/**
 * The data of one database as a client has it: copies, listens, writes, transactions and what is
 * to happen on disconnect, across connections.
 *
 * On each new connection the listens come first, then the writes that wait, then transactions.
 */

import { TreeError } from './errors.js';
import { estimate } from './estimates.js';
import { Info } from './info.js';
import { INFO, checkWritable, formatPath, splitPath } from './keys.js';
import { KeptPlaces } from './kept_places.js';
import { LastWrites } from './last_writes.js';
import { PendingWrites } from './pending.js';
import { Places } from './places.js';
import { PushIds } from './push_id.js';
import { Requests } from './requests.js';
import { EVERYTHING } from './selection.js';
import { Transactions } from './transactions.js';
import { parseNode } from './tree.js';
import { Writes } from './writes.js';

export class Data {
  #machine;
  #pushIds;
  #requests = new Requests();
  #pending = new PendingWrites();
  #places = new Places(this.#requests, this.#pending);
  #info = new Info();
  #lastWrites = new LastWrites();
  #kept = new KeptPlaces((...asked) => this.listen(...asked));
  #transactions;
  #writes;
  #isClosed = false;

  /** Milliseconds to add to this machine's clock to get the server's. */
  timeOffset = 0;

  /** @param {import('./machine.js').Machine} machine */
  constructor(machine) {
    this.#machine = machine;
    this.#pushIds = new PushIds(machine.randomDigits);
    const parts = {
      requests: this.#requests,
      pending: this.#pending,
      places: this.#places,
      now: () => this.#now(),
    };
    this.#transactions = new Transactions(parts);
    this.#writes = new Writes({ ...parts, transactions: this.#transactions });
  }

  /** Take the server's time. */
  setTime(time) {
    this.timeOffset = time - this.#machine.now();
    this.#info.setTimeOffset(this.timeOffset);
  }

  /**
   * Make the session anew on a new connection.
   *
   * @param {(message: string) => void} send
   */
  attach(send) {
    this.#places.attach(send);
    this.#requests.attach(send);
    this.#transactions.attach(send);
  }

  /** Tell the application that the session is in place. */
  setConnected() {
    this.#info.setConnected(true);
  }

  /** The connection is gone: the server does what it was told to do then, and so do we. */
  detach() {
    this.#requests.detach();
    this.#places.detach();
    this.#places.together(() => {
      this.#transactions.detach();
      this.#carryOutLastWrites();
    });
    this.#info.setConnected(false);
  }

  close() {
    this.#isClosed = true;
    this.#requests.close();
    this.#transactions.close();
    this.#places.close();
    this.#info.close();
  }

  /** Take an answer of the server. */
  answer(message) {
    this.#requests.answer(message);
  }

  /** Take a push of the server. */
  push(action, body) {
    this.#places.push(action, body);
  }

  /** Ask something that concerns this connection alone. */
  askOnce(send, action, body, onAnswer) {
    this.#requests.askOnce(send, action, body, onAnswer);
  }

  /** Make a key that sorts by time, by the server's clock as far as we know it. */
  pushId() {
    return this.#pushIds.next(this.#now());
  }

  /**
   * Set a place; null removes it.
   *
   * @param {readonly string[]} keys may end in ".priority"
   * @param {unknown} wire
   */
  async set(keys, wire) {
    this.#checkWrite('set', keys);
    await this.#writes.set(keys, wire);
  }

  /**
   * Write several places below one, all or none.
   *
   * @param {readonly string[]} keys
   * @param {Record<string, unknown>} values relative path to wire form
   */
  async update(keys, values) {
    this.#checkWrite('update', keys);
    await this.#writes.update(keys, values);
  }

  /**
   * Replace a place by what a function makes of it.
   *
   * @param {readonly string[]} keys
   * @param {(value: any) => unknown} update
   * @param {boolean} isVisible whether it shows before the server has it
   * @returns {Promise<import('./transactions.js').Outcome>}
   */
  async transact(keys, update, isVisible) {
    this.#checkWrite('transaction', keys);
    return this.#transactions.begin(keys, update, isVisible);
  }

  /** Read a selection of a place once; sees every write made before. */
  async get(keys, selection = EVERYTHING) {
    if (keys[0] === INFO) return this.#info.get(keys, selection);
    const path = formatPath(keys);
    this.#checkOpen(`get ${path}`);
    const query = { p: path, q: selection.toWire() };
    return selection.windowOf(parseNode(await this.#requests.ask('g', query, `get ${path}`)));
  }

  listen(keys, selection, registration) {
    this.#checkOpen(`listen to ${formatPath(keys)}`);
    return this.#heardFrom(keys).listen(keys, selection, registration);
  }

  unlisten(keys, selection, which) {
    this.#heardFrom(keys).unlisten(keys, selection, which);
  }

  keepSynced(keys, selection, isOn) {
    this.#kept.keep(keys, selection, isOn);
  }

  /** Have the server set a place when we are gone. */
  async setLast(keys, wire) {
    await this.#askLast('o', keys, wire, () => this.#lastWrites.set(keys, wire));
  }

  /** Have the server write several places below one when we are gone. */
  async updateLast(keys, values) {
    await this.#askLast('om', keys, values, () => {
      for (const [below, wire] of Object.entries(values)) {
        this.#lastWrites.set([...keys, ...splitPath(below)], wire);
      }
    });
  }

  /** Have the server forget what it was to do at a place and below. */
  async cancelLast(keys) {
    await this.#askLast('oc', keys, null, () => this.#lastWrites.cancel(keys));
  }

  async #askLast(action, keys, wire, remember) {
    this.#checkWrite('onDisconnect', keys);
    const path = formatPath(keys);
    const onAnswered = (isGranted) => {
      if (isGranted) remember();
    };
    await this.#requests.ask(action, { p: path, d: wire }, `onDisconnect ${path}`, onAnswered);
  }

  #carryOutLastWrites() {
    const now = this.#now();
    const changes = this.#lastWrites
      .take()
      .map(([keys, wire]) => [keys, estimate(wire, this.#places.nodeAt(keys), now)]);
    if (changes.length > 0) this.#places.presume(changes);
  }

  #heardFrom(keys) {
    return keys[0] === INFO ? this.#info : this.#places;
  }

  #checkWrite(asked, keys) {
    checkWritable(keys);
    this.#checkOpen(`${asked} ${formatPath(keys)}`);
  }

  #checkOpen(asked) {
    if (this.#isClosed) throw new TreeError('CLOSED', `${asked}: the database is closed`);
  }

  /** The server's time, as far as we know it. */
  #now() {
    return Math.round(this.#machine.now() + this.timeOffset);
  }
}
