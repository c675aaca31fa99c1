// Live queries: what each change shows the listeners of a query, and nothing more than that.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  child, endAt, get, goOffline, goOnline, limitToFirst, limitToLast, off, onChildAdded,
  onChildChanged, onChildMoved, onChildRemoved, onValue, orderByChild, orderByKey, query, ref,
  remove, set, setPriority, setWithPriority, startAt, update,
} from "firebase/database";
import { client, endClients, putRules } from "./clients.mjs";

console.warn = () => {}; // the SDK warns of every index that is missing
const writer = client("live-queries");
const reader = client("live-queries");
after(endClients);
await putRules("live-queries", {
  ".read": true,
  ".write": true,
  indexed: { ".indexOn": "index" },
});

const there = (path) => ref(writer, path);
const here = (path, ...constraints) => query(ref(reader, path), ...constraints);

/** Wait until the reader has been told all there is: its own put is answered after that. */
async function settle() {
  await set(ref(reader, "settle"), Math.random());
}

/** Give the list of values that a listener is shown, which grows. */
function valuesOf(place) {
  const seen = [];
  onValue(place, (snapshot) => seen.push(snapshot.exportVal()));
  return seen;
}

function eventsOf(place) {
  const seen = [];
  onChildAdded(place, (each, before) => seen.push(["added", each.key, before]));
  onChildChanged(place, (each, before) => seen.push(["changed", each.key, before]));
  onChildMoved(place, (each, before) => seen.push(["moved", each.key, before]));
  onChildRemoved(place, (each) => seen.push(["removed", each.key]));
  return seen;
}

const keysOf = (snapshot) => {
  const keys = [];
  snapshot.forEach((each) => { keys.push(each.key); });
  return keys;
};

test("a priority alone brings a child into the window", async () => {
  await setWithPriority(there("prio/a"), 1, 10);
  await setWithPriority(there("prio/b"), 2, 20);
  await setWithPriority(there("prio/c"), 3, 30);
  const seen = [];
  onValue(here("prio", limitToLast(2)), (snapshot) => seen.push(keysOf(snapshot)));
  await settle();
  await setPriority(there("prio/a"), 25);
  await settle();
  assert.deepEqual(seen, [["b", "c"], ["a", "c"]]);
});

test("a change inside a member shows the whole member, once", async () => {
  await set(there("member"), { a: { name: "Mike", age: 3 } });
  const seen = valuesOf(here("member", limitToLast(1)));
  await settle();
  await set(there("member/a/name"), "Fred");
  await settle();
  assert.deepEqual(seen, [{ a: { age: 3, name: "Mike" } }, { a: { age: 3, name: "Fred" } }]);
});

test("an update of two places inside a member is shown once", async () => {
  await set(there("once"), { a: { name: "Mike" } });
  const seen = valuesOf(here("once", limitToLast(1)));
  await settle();
  await update(there("once/a"), { name: null, Name: "Fred" });
  await settle();
  assert.deepEqual(seen, [{ a: { name: "Mike" } }, { a: { Name: "Fred" } }]);
});

test("queries of a place and of its child are each right by themselves", async () => {
  await set(there("nested"), { a: { aa: { ".value": 1, ".priority": 1 }, ab: { ".value": 2, ".priority": 1 } } });
  const above = valuesOf(here("nested", limitToLast(1)));
  const below = [];
  onValue(here("nested/a", startAt(1), endAt(1)), (snapshot) => below.push(snapshot.val()));
  await settle();
  await setPriority(there("nested/a/ab"), 2);
  await settle();
  assert.deepEqual(below, [{ aa: 1, ab: 2 }, { aa: 1 }]);
  assert.deepEqual(above.at(-1), {
    a: { aa: { ".value": 1, ".priority": 1 }, ab: { ".value": 2, ".priority": 2 } },
  });
  assert.equal(above.length, 2);
});

test("an empty window shows null, then the child that comes", async () => {
  const seen = valuesOf(here("empty", limitToLast(1)));
  await settle();
  await set(there("empty/a"), { at: 1 });
  await settle();
  assert.deepEqual(seen, [null, { a: { at: 1 } }]);
});

test("who comes back learns what left the window meanwhile, and is told once", async () => {
  await set(there("away"), { a: 1, b: 2, c: 3 });
  await set(there("same"), { a: 1, b: 2, c: 3 });
  const seen = valuesOf(here("away", limitToLast(3)));
  const same = valuesOf(here("same", limitToLast(3)));
  await settle();
  goOffline(reader);
  await remove(there("away/b"));
  goOnline(reader);
  await settle();
  assert.deepEqual(seen, [{ a: 1, b: 2, c: 3 }, { a: 1, c: 3 }]);
  assert.deepEqual(same, [{ a: 1, b: 2, c: 3 }]);
});

test("in place of a member that is removed comes the next, if there is one", async () => {
  await set(there("refill"), { a: 1, b: 2, c: 3 });
  const seen = eventsOf(here("refill", limitToLast(2)));
  await settle();
  assert.deepEqual(seen.splice(0), [["added", "b", null], ["added", "c", "b"]]);
  await remove(there("refill/b"));
  await settle();
  assert.deepEqual(seen.splice(0), [["removed", "b"], ["added", "a", null]]);
  await remove(there("refill/c"));
  await settle();
  assert.deepEqual(seen, [["removed", "c"]]);
});

test("who comes in pushes another out", async () => {
  await set(there("full"), { b: 1, c: 2, d: 3 });
  const seen = eventsOf(here("full", limitToFirst(2)));
  await settle();
  seen.splice(0);
  await set(there("full/a"), 1);
  await settle();
  assert.deepEqual(seen.splice(0), [["removed", "c"], ["added", "a", null]]);
  await set(there("full/e"), 1);
  await settle();
  assert.deepEqual(seen, []);
});

for (const place of ["indexed", "unindexed"]) {
  test(`a child's index moves it in and out: ${place}`, async () => {
    await set(there(place), { one: { index: 1 }, two: { index: 2 }, three: { index: 3 } });
    const asked = here(place, orderByChild("index"), limitToLast(2));
    const seen = [];
    onValue(asked, (snapshot) => seen.push(keysOf(snapshot)));
    const events = eventsOf(asked);
    await settle();
    await set(there(`${place}/one/index`), 4);
    await settle();
    await set(there(`${place}/one/index`), 2.5);
    await settle();
    assert.deepEqual(seen, [["two", "three"], ["three", "one"], ["one", "three"]]);
    assert.deepEqual(events, [
      ["added", "two", null], ["added", "three", "two"],
      ["removed", "two"], ["added", "one", "three"],
      ["moved", "one", null], ["changed", "one", null],
    ]);
  });
}

test("a window of keys from one on follows what comes between", async () => {
  await set(there("keys"), { a: 1, b: 2, c: 3, d: 4 });
  const asked = here("keys", orderByKey(), startAt("b"), limitToFirst(2));
  const seen = valuesOf(asked);
  await settle();
  await set(there("keys/bb"), 9);
  await remove(there("keys/b"));
  await settle();
  assert.deepEqual(seen, [{ b: 2, c: 3 }, { b: 2, bb: 9 }, { bb: 9, c: 3 }]);
});

test("a query that only orders lives beside a plain listener, and after it", async () => {
  await set(there("only"), { a: { n: 2 }, b: { n: 1 } });
  const plain = valuesOf(here("only"));
  const asked = here("only", orderByChild("n"));
  const ordered = [];
  onValue(asked, (snapshot) => ordered.push(keysOf(snapshot)));
  await settle();
  off(here("only"));
  off(asked);
  await settle();
  const once = await new Promise((resolve) => { onValue(asked, resolve, { onlyOnce: true }); });
  await settle();
  assert.deepEqual(plain, [{ a: { n: 2 }, b: { n: 1 } }]);
  assert.deepEqual(ordered, [["b", "a"]]);
  assert.deepEqual(keysOf(once), ["b", "a"]);
});

test("a listener inside a child leaves no fragment of it in a query", async () => {
  const item = (index) => ({ testIndex: index, timestamp: 0, action: "move" });
  await set(there("fragment"), { i1: item(3), i2: item(1), i3: item(2) });
  const below = valuesOf(here("fragment/i1"));
  const asked = here("fragment", orderByChild("testIndex"), limitToFirst(2));
  const seen = valuesOf(asked);
  await settle();
  await update(there("fragment/i1"), { timestamp: 1 });
  await settle();
  await update(there("fragment/i1"), { testIndex: 0 });
  await settle();
  await update(there("fragment/i1"), { timestamp: 2 });
  await settle();
  assert.deepEqual(seen.map((window) => Object.keys(window)), [["i2", "i3"], ["i1", "i2"], ["i1", "i2"]]);
  for (const each of [...seen.flatMap(Object.values), ...below]) {
    assert.deepEqual(Object.keys(each).sort(), ["action", "testIndex", "timestamp"]);
  }
  assert.equal(below.length, 4);
});

test("an update of one's own leaves no fragment of a child beyond the window", async () => {
  await set(there("own"), { 10: 1, a: 1, b: { n: -1, d: { m: false } }, z: 1 });
  const seen = valuesOf(here("own", orderByChild("d/m"), limitToFirst(2)));
  await settle();
  await update(ref(reader, "own"), { 10: null, "a/d/m": true, "b/n": 0, "c/n": 10 });
  await settle();
  assert.deepEqual(seen[0], { 10: 1, a: 1 });
  assert.deepEqual(seen.at(-1), { c: { n: 10 }, z: 1 });
});

test("several queries of one place each get their own, and nothing twice", async () => {
  await set(there("several"), { a: 1, b: 2, c: 3 });
  const first = valuesOf(here("several", limitToFirst(1)));
  const last = valuesOf(here("several", limitToLast(1)));
  const middle = valuesOf(here("several", orderByKey(), startAt("b"), endAt("b")));
  await settle();
  await update(there("several"), { a: 10, b: 20, d: 40 });
  await settle();
  assert.deepEqual(first, [{ a: 1 }, { a: 10 }]);
  assert.deepEqual(last, [{ c: 3 }, { d: 40 }]);
  assert.deepEqual(middle, [{ b: 2 }, { b: 20 }]);
});

test("listening again and again gives complete data each time", async () => {
  await set(there("again"), { a: 1, b: 2, c: 3 });
  const asked = here("again", limitToLast(2));
  const once = [];
  for (let turn = 0; turn < 5; turn += 1) {
    off(asked);
    onValue(asked, (snapshot) => once.push(snapshot.val()), { onlyOnce: true });
  }
  await settle();
  assert.deepEqual(once, [{ b: 2, c: 3 }]);
  const seen = valuesOf(asked);
  await settle();
  off(asked);
  const more = valuesOf(asked);
  await settle();
  await set(there("again/d"), 4);
  await settle();
  assert.deepEqual(seen, [{ b: 2, c: 3 }]);
  assert.deepEqual(more, [{ b: 2, c: 3 }, { c: 3, d: 4 }]);
});

test("a query that a plain listener answers goes on when that one leaves", async () => {
  await set(there("shadow"), { a: 1, b: 2, c: 3 });
  const plain = [];
  const stop = onValue(here("shadow"), (snapshot) => plain.push(snapshot.val()));
  await settle();
  const seen = valuesOf(here("shadow", limitToLast(1)));
  await settle();
  stop();
  await set(there("shadow/d"), 4);
  await settle();
  assert.deepEqual(plain, [{ a: 1, b: 2, c: 3 }]);
  assert.deepEqual(seen, [{ c: 3 }, { d: 4 }]);
});

for (const [name, value] of [["removed", null], ["a leaf", "a leaf"]]) {
  test(`when the place becomes ${name}, each member is removed once`, async () => {
    const path = `gone-${name.length}`;
    await set(there(path), { a: 1, b: 2, c: 3 });
    const removed = [];
    onChildRemoved(here(path, limitToLast(2)), (each) => removed.push([each.key, each.val()]));
    await settle();
    await set(there(path), value);
    await settle();
    assert.deepEqual(removed.sort(), [["b", 2], ["c", 3]]);
  });
}

test("get beside listeners answers in full and tells them nothing", async () => {
  await set(there("beside"), { a: { n: 1, m: 1 }, b: { n: 2, m: 2 } });
  const window = valuesOf(here("beside", limitToLast(1)));
  const below = valuesOf(here("beside/a/n"));
  await settle();
  assert.deepEqual((await get(here("beside"))).val(), { a: { n: 1, m: 1 }, b: { n: 2, m: 2 } });
  assert.deepEqual((await get(here("beside/a"))).val(), { n: 1, m: 1 });
  assert.deepEqual((await get(here("beside", limitToFirst(1)))).val(), { a: { n: 1, m: 1 } });
  assert.deepEqual((await get(child(ref(reader, "beside"), "b/m"))).val(), 2);
  await update(there("beside"), { "a/m": 5, "b/m": 6 });
  await settle();
  assert.deepEqual(window, [{ b: { n: 2, m: 2 } }, { b: { n: 2, m: 6 } }]);
  assert.deepEqual(below, [1]);
  assert.deepEqual((await get(here("beside/a"))).val(), { n: 1, m: 5 });
});

test("get offline answers what a listener holds, and the rest when online again", async () => {
  await set(there("held"), { a: 1, b: 2 });
  valuesOf(here("held", limitToLast(1)));
  await settle();
  goOffline(reader);
  assert.deepEqual((await get(here("held", limitToLast(1)))).val(), { b: 2 });
  const waiting = get(here("held", limitToFirst(1)));
  await set(there("held/a"), 3);
  goOnline(reader);
  assert.deepEqual((await waiting).val(), { a: 3 });
});
