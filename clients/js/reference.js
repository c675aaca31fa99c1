/** A place in a database: write it, read it, listen to it. */

import { TreeError } from './errors.js';
import { PRIORITY, formatPath, parsePlace } from './keys.js';
import { OnDisconnect } from './on_disconnect.js';
import { Query } from './query.js';
import { EVERYTHING } from './selection.js';
import { Snapshot } from './snapshot.js';
import { toWire, toWirePriority, toWireUpdate, withPriority } from './values.js';

export class Reference extends Query {
  #data;
  #keys;

  /**
   * @param {import('./database.js').Database} database
   * @param {import('./data.js').Data} data
   * @param {readonly string[]} keys
   */
  constructor(database, data, keys) {
    super(data, keys, EVERYTHING);
    this.database = database;
    this.#data = data;
    this.#keys = keys;
  }

  /** The last part of the path; null at the root. */
  get key() {
    return this.#keys.at(-1) ?? null;
  }

  get path() {
    return formatPath(this.#keys);
  }

  /** The place above; null at the root. */
  get parent() {
    return this.#keys.length === 0 ? null : this.#at(this.#keys.slice(0, -1));
  }

  /** @param {string} path relative to this place, as in "name" or "address/street" */
  child(path) {
    return this.#at(parsePlace(path, this.#keys));
  }

  /** Replace everything here; null removes it. */
  async set(value) {
    await this.#data.set(this.#keys, toWire(value, this.#keys));
  }

  /** Replace everything here, and the priority: null, a number or a string. */
  async setWithPriority(value, priority) {
    const wire = toWire(value, this.#keys);
    const checked = toWirePriority(priority, this.#keys);
    await this.#data.set(this.#keys, withPriority(wire, checked));
  }

  /** Change the priority alone, of something that is there. */
  async setPriority(priority) {
    const checked = toWirePriority(priority, this.#keys);
    await this.#data.set([...this.#keys, PRIORITY], checked);
  }

  /** Remove everything here. */
  async remove() {
    await this.set(null);
  }

  /**
   * Write several places below this one, all or none; what is not named stays.
   *
   * @param {Record<string, unknown>} values relative path to value; null removes
   */
  async update(values) {
    await this.#data.update(this.#keys, toWireUpdate(values, this.#keys));
  }

  /**
   * Make a child with a new key that sorts after all earlier ones, and write the value to it.
   *
   * @param {unknown} [value] without it nothing is written
   * @returns {PushedReference} the child at once; awaiting it waits for the server
   */
  push(value = null) {
    const keys = Object.freeze([...this.#keys, this.#data.pushId()]);
    const child = this.#at(keys);
    const written = value === null ? Promise.resolve() : child.set(value);
    return new PushedReference(
      this.database,
      this.#data,
      keys,
      written.then(() => child),
    );
  }

  /**
   * Replace what is here by what a function makes of it, whoever else writes at the same time.
   *
   * @param {(value: any) => unknown} update gets plain data and returns what shall be here instead,
   *   or undefined to leave it. It is called at once with what is known, which may be null, and
   *   again for as long as the server has something else
   * @param {{applyLocally?: boolean}} [options] false shows nothing before the server has it
   * @returns {Promise<{committed: boolean, snapshot: Snapshot}>}
   */
  async transaction(update, { applyLocally = true } = {}) {
    if (typeof update !== 'function') {
      const problem = `transaction ${this.path}: takes a function`;
      throw new TreeError('INVALID_ARGUMENT', problem);
    }
    const begun = this.#data.transact(this.#keys, update, applyLocally);
    const { committed, node } = await begun;
    return { committed, snapshot: new Snapshot(node, this.key, () => this.#at(this.#keys)) };
  }

  /** What the server shall write here when this client is gone. */
  onDisconnect() {
    return new OnDisconnect(this.#data, this.#keys);
  }

  toString() {
    return this.path;
  }

  #at(keys) {
    return new Reference(this.database, this.#data, keys);
  }
}

/** What push() returns: a reference at once, and a promise of the same place once written. */
export class PushedReference extends Reference {
  #written;

  /** @param {Promise<Reference>} written resolves to a plain reference, never to this */
  constructor(database, data, keys, written) {
    super(database, data, keys);
    this.#written = written;
  }

  then(onWritten, onRefused) {
    return this.#written.then(onWritten, onRefused);
  }

  catch(onRefused) {
    return this.#written.catch(onRefused);
  }

  finally(onDone) {
    return this.#written.finally(onDone);
  }
}
