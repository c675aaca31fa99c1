// What a client leaves to be written at its end, with the official SDK.
import assert from "node:assert/strict";
import { after, before, mock, test } from "node:test";
import {
  get, goOffline, goOnline, increment, onDisconnect, onValue, ref, serverTimestamp, set,
} from "firebase/database";
import { client, clientOf, endClients, putRules, shown } from "./clients.mjs";

const NAMESPACE = "leaving";
const DENIED = { code: "PERMISSION_DENIED" };
const reader = client(NAMESPACE);

before(() => {
  mock.method(console, "warn", () => {}); // the SDK warns of every denial
});
after(endClients);

/** Collect what a listener is shown, from now on. */
async function watch(place) {
  const seen = [];
  onValue(place, (snapshot) => seen.push(snapshot.val()));
  await shown(place, () => true);
  seen.length = 0;
  return seen;
}

/** Wait for the reader to have heard of everything written so far, the end of `leaver` included. */
async function left(leaver) {
  const mark = `mark-${Math.random()}`;
  await onDisconnect(ref(leaver, "marks/left")).set(mark);
  goOffline(leaver);
  await shown(ref(reader, "marks/left"), (value) => value === mark);
  await get(ref(reader, "marks/none")); // other listens may hear of that commit a little later
}

test("set, update and remove below one another come to one value and one event", async () => {
  const leaver = client(NAMESPACE);
  const seen = await watch(ref(reader, "android/foo"));
  const foo = ref(leaver, "android/foo");
  await onDisconnect(foo).set({ bar: "a", baz: "b" });
  await onDisconnect(foo).update({ bam: "c" });
  await onDisconnect(ref(leaver, "android/foo/baz")).remove();
  await left(leaver);
  assert.deepEqual(seen, [{ bar: "a", bam: "c" }]);
});

test("places apart from one another are one event for who listens above", async () => {
  const leaver = client(NAMESPACE);
  const place = ref(leaver, "apart");
  await set(place, { a: 1, gone: 1, stays: 1, at: 0, n: 5 });
  const seen = await watch(ref(reader, "apart"));
  const start = Date.now();
  await Promise.all([
    onDisconnect(ref(leaver, "apart/a")).set(2),
    onDisconnect(ref(leaver, "apart/gone")).remove(),
    onDisconnect(place).update({ "b/c": 3, at: serverTimestamp() }),
    onDisconnect(ref(leaver, "apart/n")).set(increment(1)),
    onDisconnect(ref(leaver, "apart/p")).setWithPriority("x", 10),
  ]);
  await set(ref(leaver, "apart/n"), 41);
  await left(leaver);
  assert.equal(seen.length, 2); // the 41, and the end
  const { at, ...rest } = seen[1];
  assert.deepEqual(rest, { a: 2, b: { c: 3 }, n: 42, p: "x", stays: 1 });
  assert.ok(at >= start - 1000 && at <= Date.now() + 1000, `${at} is not the time of the end`);
  assert.equal((await get(ref(reader, "apart/p"))).priority, 10);
});

test("what is cancelled is not written, above, below and at the place", async () => {
  const leaver = client(NAMESPACE);
  const at = (path) => onDisconnect(ref(leaver, `cancelled/${path}`));
  await set(ref(leaver, "cancelled"), { whole: { x: 0 }, some: { keep: 0, other: 0 }, place: 0 });
  await at("place").set(1);
  await at("place").cancel();
  await at("whole/x").set(1);
  await at("whole/y").set(1);
  await at("whole").cancel();
  await at("some").set({ keep: 1, drop: { deep: 1, beside: 1 } });
  await at("some/drop/deep").cancel();
  await at("leaf").set(1);
  await at("leaf/below").cancel();
  await left(leaver);
  assert.deepEqual((await get(ref(reader, "cancelled"))).val(), {
    whole: { x: 0 },
    some: { keep: 1, other: 0, drop: { beside: 1 } },
    place: 0,
    leaf: 1,
  });
});

test("what was cancelled and then left again is written", async () => {
  const leaver = client(NAMESPACE);
  const place = onDisconnect(ref(leaver, "again"));
  await place.set(1);
  await place.cancel();
  await place.set(2);
  await left(leaver);
  assert.equal((await get(ref(reader, "again"))).val(), 2);
});

test("it is written once: who comes back leaves it anew", async () => {
  const leaver = client(NAMESPACE);
  const place = ref(leaver, "once");
  await onDisconnect(place).set(increment(1));
  await left(leaver);
  goOnline(leaver);
  await set(ref(leaver, "once-mark"), 1);
  await left(leaver);
  assert.equal((await get(ref(reader, "once"))).val(), 1);
});

test("presence as the guides write it ends as it is", async () => {
  const leaver = client(NAMESPACE);
  const status = ref(leaver, "presence/ann");
  const states = [];
  onValue(ref(reader, "presence/ann/state"), (snapshot) => states.push(snapshot.val()));
  await shown(ref(reader, "presence/ann/state"), (value) => value === null);
  onValue(ref(leaver, ".info/connected"), async (snapshot) => {
    if (!snapshot.val()) return;
    await onDisconnect(status).set({ state: "offline", changed: serverTimestamp() });
    await set(status, { state: "online", changed: serverTimestamp() });
  });
  for (let round = 0; round < 3; round += 1) {
    await shown(ref(reader, "presence/ann/state"), (value) => value === "online");
    goOffline(leaver);
    await shown(ref(reader, "presence/ann/state"), (value) => value === "offline");
    goOnline(leaver);
  }
  await shown(ref(reader, "presence/ann/state"), (value) => value === "online");
  assert.deepEqual(states, [null, ...Array(3).fill(["online", "offline"]).flat(), "online"]);
});

test("rules are asked when something is left, and again at the end", async () => {
  const ruled = "leaving-ruled";
  const rules = (limit) => ({
    ".read": true,
    marks: { ".write": true },
    own: { $uid: { ".write": "auth.uid == $uid", n: { ".validate": `newData.val() < ${limit}` } } },
  });
  await putRules(ruled, rules(10));
  const ann = clientOf(ruled, { sub: "ann" });
  const own = (path) => onDisconnect(ref(ann, `own/ann/${path}`));
  await assert.rejects(onDisconnect(ref(ann, "own/bob/a")).set(1), DENIED);
  await assert.rejects(onDisconnect(ref(ann)).update({ "own/ann/a": 1, "own/bob/a": 1 }), DENIED);
  await assert.rejects(own("n").set(10), DENIED);
  await own("n").set(5);
  await own("b").set(6);
  await onDisconnect(ref(ann, "marks/left")).set(1);
  await putRules(ruled, rules(5));
  const other = client(ruled);
  goOffline(ann);
  await shown(ref(other, "marks/left"), (value) => value === 1);
  assert.deepEqual((await get(ref(other, "own"))).val(), { ann: { b: 6 } });
});
