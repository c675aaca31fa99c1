/** A place in a database: write it, read it, listen to it. */

import { TreeError } from './errors.js';
import { checkDepth, formatPath, parsePath } from './keys.js';
import { Query } from './query.js';
import { EVERYTHING } from './selection.js';
import { toWire } from './values.js';

export class Reference extends Query {
  #session;
  #keys;

  /**
   * @param {import('./database.js').Database} database
   * @param {import('./session.js').Session} session
   * @param {readonly string[]} keys
   */
  constructor(database, session, keys) {
    super(session, keys, EVERYTHING);
    this.database = database;
    this.#session = session;
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
    const keys = [...this.#keys, ...parsePath(path)];
    checkDepth(keys);
    return this.#at(Object.freeze(keys));
  }

  /** Replace everything here; null removes it. */
  async set(value) {
    await this.#session.set(this.#keys, toWire(value, this.#keys));
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
    if (typeof values !== 'object' || values === null || Array.isArray(values)) {
      throw new TreeError('INVALID_ARGUMENT', `update ${this.path}: takes an object of values`);
    }
    const wire = Object.create(null);
    for (const [path, value] of Object.entries(values)) {
      const keys = parsePath(path, { allowPriority: true });
      wire[keys.join('/')] = toWire(value, [...this.#keys, ...keys]);
    }
    await this.#session.update(this.#keys, wire);
  }

  /**
   * Make a child with a new key that sorts after all earlier ones, and write the value to it.
   *
   * @param {unknown} [value] without it nothing is written
   * @returns {PushedReference} the child at once; awaiting it waits for the server
   */
  push(value = null) {
    const keys = Object.freeze([...this.#keys, this.#session.pushId()]);
    const child = this.#at(keys);
    const written = value === null ? Promise.resolve() : child.set(value);
    return new PushedReference(
      this.database,
      this.#session,
      keys,
      written.then(() => child),
    );
  }

  toString() {
    return this.path;
  }

  #at(keys) {
    return new Reference(this.database, this.#session, keys);
  }
}

/** What push() returns: a reference at once, and a promise of the same place once written. */
export class PushedReference extends Reference {
  #written;

  /** @param {Promise<Reference>} written resolves to a plain reference, never to this */
  constructor(database, session, keys, written) {
    super(database, session, keys);
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
