// A listener that knows nothing but child events, and builds its list from them.
//
// The SDK raises the events of one change together: removed, added, moved, changed, and last the
// value. Each names the sibling before it *in the list as it is after the change*. Hence what came
// and what moved is put in place from the front: behind a sibling that is in place already.
//
// Example: [a, m] becomes [m, x, a], because x came and m moved. Added x is behind m, moved m is
// first. Were x put behind m at once, and m moved then, [m, a, x] would be the end of it.
import assert from "node:assert/strict";
import {
  onChildAdded, onChildChanged, onChildMoved, onChildRemoved, onValue,
} from "firebase/database";

export class Replay {
  keys = [];
  values = new Map();
  hasValue = false;
  #removed = [];
  #placed = new Map(); // what came or moved -> the sibling before it
  #changed = new Map();
  #stops;

  constructor(query) {
    this.#stops = [
      onChildRemoved(query, (child) => this.#removed.push(child.key)),
      onChildAdded(query, (child, before) => {
        assert.ok(!this.values.has(child.key) || this.#removed.includes(child.key), `came twice: ${child.key}`);
        this.values.set(child.key, child.exportVal());
        this.#placed.set(child.key, before);
      }),
      onChildMoved(query, (child, before) => {
        assert.ok(this.keys.includes(child.key), `moved, but was not there: ${child.key}`);
        this.values.set(child.key, child.exportVal());
        this.#placed.set(child.key, before);
      }),
      onChildChanged(query, (child, before) => {
        assert.ok(this.keys.includes(child.key), `changed, but was not there: ${child.key}`);
        this.values.set(child.key, child.exportVal());
        this.#changed.set(child.key, before);
      }),
      onValue(query, (snapshot) => this.#finish(snapshot)),
    ];
  }

  stop() {
    for (const stop of this.#stops) stop();
  }

  #finish(snapshot) {
    for (const key of this.#removed) this.#remove(key);
    this.keys = this.keys.filter((key) => !this.#placed.has(key));
    while (this.#placed.size > 0) this.#placeOne();
    for (const [key, before] of this.#changed) {
      assert.equal(this.keys[this.keys.indexOf(key) - 1] ?? null, before, `before ${key}`);
    }
    this.#removed = [];
    this.#changed.clear();
    this.hasValue = true;
    this.value = snapshot.exportVal();
    const shown = [];
    snapshot.forEach((child) => { shown.push([child.key, child.exportVal()]); });
    assert.deepEqual(this.keys.map((key) => [key, this.values.get(key)]), shown);
  }

  #remove(key) {
    assert.ok(this.keys.includes(key), `removed, but was not there: ${key}`);
    this.keys = this.keys.filter((each) => each !== key);
    if (!this.#placed.has(key)) this.values.delete(key);
  }

  #placeOne() {
    const [key, before] = [...this.#placed].find(([, each]) => !this.#placed.has(each)) ?? [];
    assert.notEqual(key, undefined, "the siblings named go in a circle");
    assert.ok(before === null || this.keys.includes(before), `${key} is behind ${before}, which is not there`);
    this.keys.splice(this.keys.indexOf(before) + 1, 0, key);
    this.#placed.delete(key);
  }
}
