// Values as the official SDK writes and reads them.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  child, get, increment, push, ref, remove, runTransaction, serverTimestamp, set, setPriority,
  setWithPriority, update,
} from "firebase/database";
import { client, endClients, shown } from "./clients.mjs";

const one = client("values");
const two = client("values");
after(endClients);

/** Write as one client, read as the other. */
async function across(path, value) {
  await set(ref(one, path), value);
  return (await get(ref(two, path))).val();
}

const SAME = {
  text: "Grüße, 世界 🌍",
  nothing: "",
  whole: 42,
  negative: -7,
  fraction: 0.1,
  tiny: 5e-324,
  huge: 1.7976931348623157e308,
  exact: 2 ** 53,
  yes: true,
  no: false,
  deep: { a: { b: { c: { d: 1 } } } },
  list: ["a", "b", "c"],
  "key with spaces": { "ключ 🔑": 1, "%2F": 2, "-0": 3, "007": 4 },
};

for (const [name, value] of Object.entries(SAME)) {
  test(`what one client sets another gets: ${name}`, async () => {
    assert.deepEqual(await across(`same/${name}`, value), value);
  });
}

const CHANGED = [
  ["null is nothing", null, null],
  ["an empty object is nothing", {}, null],
  ["an empty list is nothing", [], null],
  ["a null child is no child", { a: null, b: 1 }, { b: 1 }],
  ["an object of nothing vanishes", { a: { b: {} }, c: 1 }, { c: 1 }],
  ["a null in a list is a hole", ["a", null, "c"], ["a", , "c"]],
  ["number keys from zero make a list", { 0: "a", 1: "b" }, ["a", "b"]],
  ["few number keys stay an object", { 5: "a", 100: "b" }, { 5: "a", 100: "b" }],
  ["a mixed object stays one", { 0: "a", x: "b" }, { 0: "a", x: "b" }],
];

for (const [name, written, read] of CHANGED) {
  test(name, async () => {
    assert.deepEqual(await across("changed", written), read);
  });
}

test("a long value travels in pieces both ways", async () => {
  const value = { text: "0123456789".repeat(20_000), list: Array.from({ length: 5_000 }, (_, i) => `item ${i}`) };
  assert.deepEqual(await across("long", value), value);
});

test("a key may be as long as the SDK lets a path be", async () => {
  const key = `${"é".repeat(383)}x`; // a slash and 767 bytes
  assert.equal(await across(key, 1), 1);
  assert.equal((await get(ref(two))).child(key).val(), 1);
});

test("update changes the children it names", async () => {
  await set(ref(one, "update"), { a: 1, b: { c: 2, d: 3 } });
  await update(ref(one, "update"), { a: null, "b/c": 4, e: 5 });
  assert.deepEqual((await get(ref(two, "update"))).val(), { b: { c: 4, d: 3 }, e: 5 });
});

test("push makes keys that keep their order", async () => {
  const list = ref(one, "push");
  const keys = [];
  for (const text of ["first", "second", "third"]) {
    keys.push((await push(list, text)).key);
  }
  assert.deepEqual(keys, [...keys].sort());
  assert.ok(keys.every((key) => key.length === 20));
  const snapshot = await get(ref(two, "push"));
  const read = [];
  snapshot.forEach((each) => { read.push([each.key, each.val()]); });
  assert.deepEqual(read, [[keys[0], "first"], [keys[1], "second"], [keys[2], "third"]]);
});

test("remove takes the value and its emptied parents", async () => {
  await set(ref(one, "remove/a/b"), 1);
  await remove(ref(one, "remove/a/b"));
  const snapshot = await get(ref(two, "remove"));
  assert.equal(snapshot.exists(), false);
  assert.equal(snapshot.val(), null);
});

test("serverTimestamp becomes the server's time", async () => {
  const before = Date.now();
  const value = await across("time", { at: serverTimestamp() });
  assert.ok(Math.abs(value.at - before) < 60_000, `${value.at} is near ${before}`);
});

test("increments of two clients add up", async () => {
  await set(ref(one, "count"), 10);
  const steps = Array.from({ length: 20 }, (_, i) => set(ref(i % 2 ? one : two, "count"), increment(1)));
  await Promise.all(steps);
  assert.equal((await get(ref(two, "count"))).val(), 30);
});

test("transactions of two clients add up", async () => {
  const steps = [one, two].flatMap((db) =>
    Array.from({ length: 5 }, () => runTransaction(ref(db, "sum"), (value) => (value ?? 0) + 1)),
  );
  await Promise.all(steps);
  assert.equal((await get(ref(one, "sum"))).val(), 10);
});

test("priorities are kept and order the children", async () => {
  await setWithPriority(ref(one, "prio/a"), "second", 2);
  await setWithPriority(ref(one, "prio/b"), { text: "first" }, 1);
  await set(ref(one, "prio/c"), "zeroth");
  await setPriority(ref(one, "prio/c"), 0);
  await shown(ref(two, "prio/c"), (value) => value === "zeroth");
  const snapshot = await get(ref(two, "prio"));
  assert.deepEqual(snapshot.exportVal().a, { ".value": "second", ".priority": 2 });
  assert.equal(child(ref(two, "prio"), "a").key, "a");
  assert.equal(snapshot.child("b").priority, 1);
});

test("a refused key does not end the connection", async () => {
  assert.throws(() => ref(one, "a.b"));
  assert.equal(await across("after", "still here"), "still here");
});
