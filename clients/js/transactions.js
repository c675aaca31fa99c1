/**
 * Transactions under way: run at once on what is known, shown at once, sent with the hash of what
 * they were run on, and run again for as long as the server finds something else there.
 *
 *     ours      run on 4, gives 5                 send 5, hash of 4
 *     server    7 is there: stale, pushes 7
 *     ours      run on 7, gives 8                 send 8, hash of 7
 *
 * All those of one place are sent as one write, of what the last one came to: a hundred increments
 * cost one request. Those whose places overlap otherwise wait for each other. A write of ours to
 * the place ends them, unless they were sent already and the server takes them.
 */

import { TreeError, refusal } from './errors.js';
import { nodeHash } from './hash.js';
import { overlaps } from './pending.js';
import { checkSize } from './requests.js';
import { EVERYTHING } from './selection.js';
import { Transaction } from './transaction.js';

const MAX_TRIES = 25;

/** @typedef {{committed: boolean, node: import('./tree.js').Node | null}} Outcome */

export class Transactions {
  #requests;
  #pending;
  #places;
  #now;
  #send = null;
  #running = 0; // functions being called: one may begin another transaction
  /** @type {Map<Transaction, {stop: () => void, settle: (result: Outcome | TreeError) => void}>} */
  #underWay = new Map();
  /** @type {(readonly string[])[]} places that are to be shown anew */
  #touched = [];

  /**
   * @param {object} parts
   * @param {import('./requests.js').Requests} parts.requests
   * @param {import('./pending.js').PendingWrites} parts.pending
   * @param {import('./places.js').Places} parts.places
   * @param {() => number} parts.now the server's time, as far as we know it
   */
  constructor({ requests, pending, places, now }) {
    this.#requests = requests;
    this.#pending = pending;
    this.#places = places;
    this.#now = now;
  }

  /**
   * Begin a transaction; the function is called before this returns.
   *
   * @param {readonly string[]} keys
   * @param {(value: any) => unknown} update
   * @param {boolean} isVisible
   * @returns {Promise<Outcome>}
   */
  begin(keys, update, isVisible) {
    const transaction = new Transaction(keys, update, isVisible);
    return new Promise((resolve, reject) => {
      const settle = (result) => (isOutcome(result) ? resolve(result) : reject(result));
      // Listening is what brings the news that a second try runs on.
      const onError = (error) => {
        transaction.problem ??= error;
      };
      const watch = { event: 'value', onNews: () => {}, onError, isOurs: true };
      const stop = this.#places.listen(keys, EVERYTHING, watch);
      this.#underWay.set(transaction, { stop, settle });
      this.#runOn(transaction, this.#inputOf(transaction));
      if (this.#send === null) this.#show();
      else this.#advance();
    });
  }

  /**
   * Send what waits, and from now on send at once.
   *
   * @param {(message: string) => void} send
   */
  attach(send) {
    this.#send = send;
    this.#advance();
  }

  /** The connection is gone: whether what was sent came to anything we shall never know. */
  detach() {
    this.#send = null;
    const sent = [...this.#underWay.keys()].filter(({ isSent }) => isSent);
    for (const transaction of sent) this.#fail(transaction, 'disconnect', LOST);
    this.#advance();
  }

  /** End all of them. */
  close() {
    this.#send = null;
    const error = new TreeError('CLOSED', 'the database was closed before the server answered');
    for (const transaction of [...this.#underWay.keys()]) this.#end(transaction, error);
    this.#touched = [];
  }

  /**
   * End those that a write of ours overlaps; those that were sent end if the server refuses them.
   *
   * @param {readonly (readonly string[])[]} paths
   */
  overwrite(paths) {
    for (const transaction of [...this.#underWay.keys()]) {
      if (!paths.some((keys) => overlaps(keys, transaction.keys))) continue;
      const error = refusal(transaction.asked, 'set', OVERWRITTEN);
      if (transaction.isSent) transaction.problem ??= error;
      else this.#end(transaction, error);
    }
    this.#advance();
  }

  /** Run and send whatever need not wait for another one; then show what is different. */
  #advance() {
    if (this.#running > 0) return; // whoever called the function goes on later
    const busy = [];
    for (const transaction of [...this.#underWay.keys()]) {
      if (!this.#underWay.has(transaction)) continue; // ended meanwhile
      const mustWait = busy.some((keys) => overlaps(keys, transaction.keys));
      const batch = mustWait || transaction.isSent ? [] : this.#runBatch(transaction);
      const isIdle = !mustWait && !transaction.isSent && batch.length === 0;
      if (!isIdle) busy.push(transaction.keys);
      if (batch.length > 0 && this.#send !== null) this.#sendBatch(batch);
    }
    this.#show();
  }

  #show() {
    const touched = this.#touched;
    this.#touched = [];
    if (touched.length > 0) this.#places.show(touched);
  }

  /** Run a transaction, and those behind it that can go with it, as far as they have to be. */
  #runBatch(first) {
    const all = [...this.#underWay.keys()];
    const batch = [];
    for (const transaction of all.slice(all.indexOf(first))) {
      if (!overlaps(transaction.keys, first.keys) || !this.#underWay.has(transaction)) continue;
      if (transaction.path !== first.path) break;
      const input = this.#inputOf(transaction);
      if (transaction.hasSeen(input) || this.#runOn(transaction, input)) batch.push(transaction);
    }
    return batch;
  }

  /** What is there, without this transaction and those behind it. */
  #inputOf(transaction) {
    const all = [...this.#underWay.keys()];
    const behind = all.slice(all.indexOf(transaction)).map(({ writeId }) => writeId);
    return this.#places.nodeAt(transaction.keys, {
      without: new Set(behind),
      includesHidden: true,
    });
  }

  /** @returns {boolean} whether there is something to send */
  #runOn(transaction, input) {
    if (transaction.tries >= MAX_TRIES) {
      this.#fail(transaction, 'maxretry', `the data changed under each of ${MAX_TRIES} attempts`);
      return false;
    }
    const outcome = this.#outcomeOf(transaction, input);
    if (!this.#underWay.has(transaction)) return false; // it wrote there itself, which ends it
    if (outcome === null) this.#put(transaction);
    else this.#end(transaction, outcome);
    return outcome === null;
  }

  /** Call the application's function; null means that there is something to send. */
  #outcomeOf(transaction, input) {
    this.#running += 1;
    try {
      return transaction.run(input, this.#now()) ? null : { committed: false, node: input };
    } catch (error) {
      return error;
    } finally {
      this.#running -= 1;
    }
  }

  #put(transaction) {
    const { keys, output, writeId, isVisible } = transaction;
    if (writeId === null) transaction.writeId = this.#pending.add([[keys, output]], isVisible);
    else this.#pending.replace(writeId, [[keys, output]]);
    this.#touched.push(keys);
  }

  #sendBatch(batch) {
    const { path, input, asked } = batch[0];
    const body = { p: path, d: batch.at(-1).wire, h: nodeHash(input) };
    try {
      checkSize(JSON.stringify(body), asked);
    } catch (error) {
      for (const transaction of batch) this.#end(transaction, error);
      return;
    }
    for (const transaction of batch) {
      transaction.isSent = true;
      transaction.tries += 1;
    }
    const onAnswer = (status, data) => this.#answered(batch, status, data);
    this.#requests.askOnce(this.#send, 'p', body, onAnswer);
  }

  #answered(batch, status, data) {
    for (const transaction of batch) {
      transaction.isSent = false;
      if (status === 'ok') this.#end(transaction, { committed: true, node: transaction.output });
      else if (status !== 'datastale') this.#fail(transaction, status, data);
      else if (transaction.problem !== null) this.#end(transaction, transaction.problem);
      else transaction.forget();
    }
    this.#advance();
  }

  #fail(transaction, status, reason) {
    this.#end(transaction, refusal(transaction.asked, status, reason));
  }

  #end(transaction, result) {
    const { stop, settle } = this.#underWay.get(transaction);
    this.#underWay.delete(transaction);
    if (transaction.writeId !== null) {
      this.#pending.remove(transaction.writeId);
      this.#touched.push(transaction.keys);
    }
    stop();
    settle(result);
  }
}

/** Tell it from an error, which may be whatever the application threw. */
function isOutcome(result) {
  return Object.getPrototypeOf(Object(result)) === Object.prototype && 'committed' in result;
}

const LOST = 'the connection was lost before the server answered';
const OVERWRITTEN = 'a later write of this client took its place';
