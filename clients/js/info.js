/** What the client tells of itself, as places that can be listened to: below /.info. */

import { INFO } from './keys.js';
import { PendingWrites } from './pending.js';
import { Places } from './places.js';
import { nodeAt, parseNode } from './tree.js';

export class Info {
  #values = { connected: false, serverTimeOffset: 0 };
  #places = new Places(this, new PendingWrites());

  constructor() {
    this.#places.attach(() => {});
  }

  /** Tell whether there is a session with the server. */
  setConnected(isConnected) {
    this.#set('connected', isConnected);
  }

  /** Tell how many milliseconds the server's clock is ahead of ours. */
  setTimeOffset(milliseconds) {
    this.#set('serverTimeOffset', milliseconds);
  }

  listen(keys, selection, registration) {
    return this.#places.listen(keys, selection, registration);
  }

  unlisten(keys, selection, which) {
    this.#places.unlisten(keys, selection, which);
  }

  get(keys, selection) {
    return selection.windowOf(nodeAt(parseNode(this.#values), keys.slice(1)));
  }

  close() {
    this.#places.close();
  }

  /** Be the server of our own places, whose requests come here. */
  askOnce(_send, action, _body, onAnswer) {
    if (action === 'q') this.#places.push('d', { p: INFO, d: this.#values });
    onAnswer('ok', {});
  }

  #set(name, value) {
    this.#values[name] = value;
    this.#places.push('d', { p: `${INFO}/${name}`, d: value });
  }
}
