// Queries in the SDK's older form: `on`, `once` and `off`.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { compatClient, endCompatClients } from "./compat_clients.mjs";

console.warn = () => {}; // the SDK warns of every index that is missing
const writer = compatClient("compat-queries");
const reader = compatClient("compat-queries");
after(endCompatClients);

const settle = () => reader.ref("settle").set(Math.random());

test("setWithPriority and setPriority move children through a window", async () => {
  const list = writer.ref("prio");
  await list.child("a").setWithPriority("a", 10);
  await list.child("b").setWithPriority("b", 20);
  await list.child("c").setWithPriority("c", 30);
  const seen = [];
  reader.ref("prio").limitToLast(2).on("value", (snapshot) => seen.push(snapshot.val()));
  await settle();
  await list.child("a").setPriority(25);
  await settle();
  assert.deepEqual(seen, [{ b: "b", c: "c" }, { a: "a", c: "c" }]);
});

test("child events name the sibling before, in the query's order", async () => {
  await writer.ref("scores").set({ ann: { score: 3 }, bob: { score: 1 }, cem: { score: 2 } });
  const asked = reader.ref("scores").orderByChild("score").limitToLast(2);
  const seen = [];
  for (const event of ["child_added", "child_changed", "child_moved", "child_removed"]) {
    asked.on(event, (child, before) => seen.push([event, child.key, before]));
  }
  await settle();
  assert.deepEqual(seen.splice(0), [["child_added", "cem", null], ["child_added", "ann", "cem"]]);
  await writer.ref("scores/bob/score").set(9);
  await settle();
  assert.deepEqual(seen.splice(0).map((event) => event.slice(0, 2)), [["child_removed", "cem"], ["child_added", "bob"]]);
  await writer.ref("scores/bob/score").set(2.5);
  await settle();
  assert.deepEqual(seen, [["child_moved", "bob", null], ["child_changed", "bob", null]]);
});

test("once on a query, beside a listener and without one", async () => {
  await writer.ref("once").set({ a: 1, b: 2, c: 3 });
  const asked = reader.ref("once").orderByKey().startAt("b").limitToFirst(1);
  assert.deepEqual((await asked.once("value")).val(), { b: 2 });
  const seen = [];
  reader.ref("once").on("value", (snapshot) => seen.push(snapshot.val()));
  await settle();
  assert.deepEqual((await asked.once("value")).val(), { b: 2 });
  reader.ref("once").off();
  await writer.ref("once/b").set(4);
  assert.deepEqual((await asked.once("value")).val(), { b: 4 });
  assert.deepEqual(seen, [{ a: 1, b: 2, c: 3 }]);
});

test("an order alone outlives the plain listener beside it", async () => {
  await writer.ref("order").set({ a: { n: 2 }, b: { n: 1 } });
  const asked = reader.ref("order").orderByChild("n");
  const plain = reader.ref("order").on("value", () => {});
  const seen = [];
  asked.on("child_added", (child) => seen.push(child.key));
  await settle();
  reader.ref("order").off("value", plain);
  await writer.ref("order/c").set({ n: 0 });
  await settle();
  assert.deepEqual(seen, ["b", "a", "c"]);
});

test("a transaction inside a child brings it into the window", async () => {
  await writer.ref("votes").set({ a: { votes: 1 }, b: { votes: 2 } });
  const seen = [];
  reader.ref("votes").orderByChild("votes").limitToLast(1).on("value", (snapshot) => seen.push(snapshot.val()));
  await settle();
  const { committed } = await writer.ref("votes/a/votes").transaction((votes) => (votes ?? 0) + 5);
  await settle();
  assert.ok(committed);
  assert.deepEqual(seen, [{ b: { votes: 2 } }, { a: { votes: 6 } }]);
});
