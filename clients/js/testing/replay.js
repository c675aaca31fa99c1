/** An application that keeps a list by child events alone, and looks closely at each. */

import assert from 'node:assert/strict';

/** What of a snapshot is compared: the data, and the priority of the whole. */
export const shown = (snapshot) => [snapshot.val(), snapshot.priority];

export class Replay {
  /** @type {{key: string, child: unknown}[]} */
  list = [];
  /** @type {import('../snapshot.js').Snapshot | null} what the latest value was */
  value = null;
  #stops;

  /** @param {import('../query.js').Query} query */
  constructor(query) {
    this.#stops = [
      query.onChildRemoved((child) => this.#removed(child)),
      query.onChildMoved((child, previousKey) => this.#moved(child, previousKey)),
      query.onChildChanged((child) => this.#changed(child)),
      query.onChildAdded((child, previousKey) => this.#added(child, previousKey)),
      query.onValue((snapshot) => this.#valued(snapshot)),
    ];
  }

  get keys() {
    return this.list.map(({ key }) => key);
  }

  stop() {
    for (const stop of this.#stops) stop();
  }

  #added(child, previousKey) {
    assert.ok(!this.keys.includes(child.key), `${child.key} is added twice`);
    this.#insert({ key: child.key, child: shown(child) }, previousKey);
  }

  #removed(child) {
    const [gone] = this.list.splice(this.#find(child.key), 1);
    assert.deepEqual(shown(child), gone.child, 'what is removed is told as it was');
  }

  #moved(child, previousKey) {
    const [moved] = this.list.splice(this.#find(child.key), 1);
    this.#insert(moved, previousKey);
  }

  #changed(child) {
    const before = this.list[this.#find(child.key)];
    before.child = shown(child);
  }

  #valued(snapshot) {
    this.value = snapshot;
    // The value comes after the children's events: they have told the same by now.
    assert.deepEqual(
      this.list,
      [...snapshot].map((child) => ({ key: child.key, child: shown(child) })),
    );
  }

  #insert(member, previousKey) {
    const index = previousKey === null ? 0 : this.#find(previousKey) + 1;
    this.list.splice(index, 0, member);
  }

  #find(key) {
    const index = this.keys.indexOf(key);
    assert.ok(index >= 0, `${key} is not in the list`);
    return index;
  }
}
