// Queries as the official SDK asks them: once with `get`, and as the first value of a listener.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  endAt, endBefore, equalTo, get, limitToFirst, limitToLast, onValue, orderByChild, orderByKey,
  orderByPriority, orderByValue, query, ref, set, startAfter, startAt,
} from "firebase/database";
import { client, endClients } from "./clients.mjs";

console.warn = () => {}; // the SDK warns of every index that is missing
const writer = client("queries");
const reader = client("queries");
after(endClients);

const keysOf = (snapshot) => {
  const keys = [];
  snapshot.forEach((child) => { keys.push(child.key); });
  return keys;
};

/** Give what the query shows, once `get` and a listener of another client agree on it. */
async function answered(path, ...constraints) {
  const listened = await new Promise((resolve, reject) => {
    const stop = onValue(query(ref(reader, path), ...constraints), (snapshot) => {
      setTimeout(() => stop());
      resolve(snapshot);
    }, reject);
  });
  const got = await get(query(ref(writer, path), ...constraints));
  assert.deepEqual(got.exportVal(), listened.exportVal());
  assert.deepEqual(keysOf(got), keysOf(listened));
  return listened;
}

const prioritised = (priorities) =>
  Object.fromEntries(Object.entries(priorities).map(([key, priority]) => [
    key, priority === null ? { at: key } : { at: key, ".priority": priority },
  ]));
const NUMBERED = { "-3": 1, 0: 1, 5: 1, 2147483647: 1, a: 1 };
const PEOPLE = {
  ann: { age: 33, home: { town: "Kisumu" } },
  bob: { age: 8, home: { town: "Aarhus" } },
  cem: { home: { town: "Izmir" } },
  dee: { age: "old", home: { town: "Kisumu" } },
  eve: { age: 33 },
};
const PLAIN = { a: 3, b: true, c: "x", d: false, e: -1, f: { g: 1 } };

// the name, the data, the constraints, the keys
const ROWS = [
  ["a leaf has no children to choose", "leaf", [orderByChild("foo"), limitToLast(1)], []],
  [
    "from null to null are those without a priority",
    prioritised({ a: null, b: null, c: "2", d: 3, e: "hi" }), [startAt(null), endAt(null)], ["a", "b"],
  ],
  ["an end takes in what has no priority", prioritised({ a: null, b: 1, c: 2, d: 3 }), [endAt(2)], ["a", "b", "c"]],
  ["an exclusive end likewise", prioritised({ a: null, b: 1, c: 2, d: 3 }), [endBefore(2)], ["a", "b"]],
  ["a start leaves out what has no priority", prioritised({ a: null, b: 1, c: 2, d: 3 }), [startAt(2)], ["c", "d"]],
  ["an exclusive start likewise", prioritised({ a: null, b: 1, c: 2, d: 3 }), [startAfter(2)], ["d"]],
  ["after the largest whole number come texts", NUMBERED, [startAfter(null, "2147483647")], ["a"]],
  ["before the smallest whole number is nothing", { 1: true }, [endBefore(null, "-2147483648")], []],
  [
    "before the largest whole number are the others", NUMBERED,
    [endBefore(null, "2147483647")], ["-3", "0", "5"],
  ],
  ["keys from one on, the first two", PLAIN, [orderByKey(), startAt("b"), limitToFirst(2)], ["b", "c"]],
  ["keys between two, without them", PLAIN, [orderByKey(), startAfter("b"), endBefore("e")], ["c", "d"]],
  ["one key", PLAIN, [orderByKey(), equalTo("c")], ["c"]],
  ["values in the order of their kinds", PLAIN, [orderByValue(), limitToFirst(9)], ["d", "b", "e", "a", "c", "f"]],
  ["the last values", PLAIN, [orderByValue(), limitToLast(2)], ["c", "f"]],
  ["one value", PLAIN, [orderByValue(), equalTo(true)], ["b"]],
  ["by a child, ties by key", PEOPLE, [orderByChild("age"), startAt(8), endAt(33)], ["bob", "ann", "eve"]],
  ["by a child, those without it first", PEOPLE, [orderByChild("age"), limitToFirst(2)], ["cem", "bob"]],
  ["by a child, behind one of several", PEOPLE, [orderByChild("age"), startAfter(33, "ann")], ["eve", "dee"]],
  ["by a child, one value and key", PEOPLE, [orderByChild("age"), equalTo(33, "eve")], ["eve"]],
  ["by a child that is missing", PEOPLE, [orderByChild("age"), equalTo(null)], ["cem"]],
  ["by a child further down", PEOPLE, [orderByChild("home/town"), equalTo("Kisumu")], ["ann", "dee"]],
  ["by a child further down, the last", PEOPLE, [orderByChild("home/town"), limitToLast(3)], ["cem", "ann", "dee"]],
  ["all, by a child", PEOPLE, [orderByChild("age")], ["cem", "bob", "ann", "eve", "dee"]],
];

for (const [index, [name, data, constraints, keys]] of ROWS.entries()) {
  test(name, async () => {
    await set(ref(writer, `rows/${index}`), data);
    const snapshot = await answered(`rows/${index}`, ...constraints);
    assert.deepEqual(keysOf(snapshot), keys);
    const chosen = Object.fromEntries(keys.map((key) => [key, data[key]]));
    assert.deepEqual(snapshot.exportVal(), keys.length === 0 ? null : chosen);
  });
}

test("a window has no priority of its own", async () => {
  await set(ref(writer, "own"), { a: "blah", ".priority": "priority" });
  assert.deepEqual((await answered("own", limitToLast(2))).exportVal(), { a: "blah" });
  const all = await answered("own", orderByPriority());
  assert.deepEqual(all.exportVal(), { a: "blah", ".priority": "priority" });
});
