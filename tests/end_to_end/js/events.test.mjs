// Events as the official SDK raises them from what the server pushes.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  get, off, onChildAdded, onChildChanged, onChildRemoved, onValue, push, ref, remove,
  serverTimestamp, set, update,
} from "firebase/database";
import { client, endClients, shown } from "./clients.mjs";

const writer = client("events");
const reader = client("events");
after(endClients);

/** Wait for the reader to have heard of everything written so far. */
async function settle() {
  const mark = `mark-${Math.random()}`;
  await set(ref(writer, "settle"), mark);
  await shown(ref(reader, "settle"), (value) => value === mark);
}

test("onValue shows the value at once and after each change", async () => {
  const place = ref(reader, "value");
  await set(ref(writer, "value"), 1);
  const seen = [];
  onValue(place, (snapshot) => seen.push(snapshot.val()));
  await shown(place, (value) => value === 1);
  await set(ref(writer, "value"), { a: 1 });
  await update(ref(writer, "value"), { b: 2 });
  await remove(ref(writer, "value/a"));
  await remove(ref(writer, "value"));
  await settle();
  assert.deepEqual(seen, [1, { a: 1 }, { a: 1, b: 2 }, { b: 2 }, null]);
});

test("onValue where nothing is shows null, once", async () => {
  const seen = [];
  onValue(ref(reader, "nothing"), (snapshot) => seen.push(snapshot.val()));
  await settle();
  assert.deepEqual(seen, [null]);
});

test("a listener above and a listener below hear of one write", async () => {
  await set(ref(writer, "family"), { parent: { child: 1 } });
  const above = [];
  const below = [];
  onValue(ref(reader, "family"), (snapshot) => above.push(snapshot.val()));
  onValue(ref(reader, "family/parent/child"), (snapshot) => below.push(snapshot.val()));
  await settle();
  await set(ref(writer, "family/parent"), { child: 2, other: 3 });
  await settle();
  assert.deepEqual(above, [{ parent: { child: 1 } }, { parent: { child: 2, other: 3 } }]);
  assert.deepEqual(below, [1, 2]);
});

test("off ends the events", async () => {
  const seen = [];
  onValue(ref(reader, "off"), (snapshot) => seen.push(snapshot.val()));
  await settle();
  off(ref(reader, "off"));
  await set(ref(writer, "off"), 1);
  await settle();
  assert.deepEqual(seen, [null]);
  assert.equal((await get(ref(reader, "off"))).val(), 1);
});

test("child events tell what came, changed and went, in key order", async () => {
  await set(ref(writer, "children"), { b: 1, 10: 1, 2: 1, a: 1 });
  const seen = [];
  onChildAdded(ref(reader, "children"), (each, before) => seen.push(["added", each.key, before]));
  onChildChanged(ref(reader, "children"), (each) => seen.push(["changed", each.key]));
  onChildRemoved(ref(reader, "children"), (each) => seen.push(["removed", each.key]));
  await settle();
  await update(ref(writer, "children"), { a: 2, b: null, c: 3 });
  await settle();
  assert.deepEqual(seen.slice(0, 4), [
    ["added", "2", null], ["added", "10", "2"], ["added", "a", "10"], ["added", "b", "a"],
  ]);
  assert.deepEqual(seen.slice(4).sort(), [["added", "c", "a"], ["changed", "a"], ["removed", "b"]]);
});

test("onChildAdded hears of what another client pushes", async () => {
  const seen = [];
  onChildAdded(ref(reader, "messages"), (each) => seen.push(each.val()));
  await settle();
  for (const text of ["hello", "how are you?"]) {
    await push(ref(writer, "messages"), text);
  }
  await settle();
  assert.deepEqual(seen, ["hello", "how are you?"]);
});

test("the sender of a server value is shown the server's answer", async () => {
  const seen = [];
  onValue(ref(writer, "stamp"), (snapshot) => seen.push(snapshot.val()));
  await set(ref(writer, "stamp"), serverTimestamp());
  const kept = (await get(ref(reader, "stamp"))).val();
  await settle();
  assert.equal(seen.at(-1), kept);
});

test("writes of one client arrive in the order sent", async () => {
  const seen = [];
  onValue(ref(reader, "order"), (snapshot) => snapshot.exists() && seen.push(snapshot.val()));
  await settle();
  const sent = Array.from({ length: 50 }, (_, index) => index);
  await Promise.all(sent.map((index) => set(ref(writer, "order"), index)));
  await settle();
  assert.deepEqual(seen, sent);
});

test("many listeners on one connection each get their own", async () => {
  const seen = new Map();
  for (let index = 0; index < 200; index += 1) {
    onValue(ref(reader, `many/${index}`), (snapshot) => seen.set(index, snapshot.val()));
  }
  await settle();
  const all = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`many/${index}`, index + 1]));
  await update(ref(writer), all);
  await settle();
  assert.deepEqual([...seen], Array.from({ length: 200 }, (_, index) => [index, index + 1]));
});
