// The npm package `firebase-admin` with a token of its own: CRUD, queries, transactions, listeners.
import assert from "node:assert/strict";
import { after, before, mock, test } from "node:test";
import { deleteApp, initializeApp } from "firebase-admin/app";
import { getDatabase, ServerValue } from "firebase-admin/database";

const { ADMIN_URL: databaseURL, ADMIN_TOKEN: token } = process.env;
const credential = { getAccessToken: async () => ({ access_token: token, expires_in: 3600 }) };
const apps = [];
const open = (options) => {
  apps.push(initializeApp({ databaseURL, credential, ...options }, `admin-${apps.length}`));
  return getDatabase(apps.at(-1));
};
const db = open({});
const other = open({});

before(() => {
  mock.method(console, "warn", () => {}); // the SDK warns of every denial
  mock.method(console, "log", () => {});
});
after(() => Promise.all(apps.map((app) => deleteApp(app))));

/** Wait until a client has heard of all that is committed: an answer to it comes after that. */
const settle = (client) => client.ref("settled").remove();

test("it creates, reads, changes and deletes", async () => {
  const users = db.ref("node/users");
  await users.set({ ann: { name: "Ann 👩‍🚀", age: 33 }, list: ["a", "b"] });
  await users.update({ "ann/age": ServerValue.increment(1), "bob/name": "Bob", list: null });
  const { key } = await users.child("log").push({ at: ServerValue.TIMESTAMP });
  const found = (await other.ref("node/users").get()).val();
  assert.ok(Math.abs(found.log[key].at - Date.now()) < 60_000);
  delete found.log;
  assert.deepEqual(found, { ann: { name: "Ann 👩‍🚀", age: 34 }, bob: { name: "Bob" } });
  await users.remove();
  assert.equal((await other.ref("node/users").once("value")).exists(), false);
});

test("it queries", async () => {
  const list = db.ref("list");
  await list.set({ a: { n: 3 }, b: { n: 1 }, c: { n: 2 }, d: { n: "text" } });
  const keys = async (query) => {
    const found = [];
    (await query.once("value")).forEach((child) => { found.push(child.key); });
    return found;
  };
  const byN = other.ref("list").orderByChild("n");
  assert.deepEqual(await keys(byN), ["b", "c", "a", "d"]);
  assert.deepEqual(await keys(byN.startAt(2).limitToFirst(2)), ["c", "a"]);
  assert.deepEqual(await keys(byN.endBefore(3).limitToLast(1)), ["c"]);
  assert.deepEqual(await keys(byN.equalTo("text")), ["d"]);
  assert.deepEqual(await keys(other.ref("list").orderByKey().startAfter("b")), ["c", "d"]);
});

test("its transactions add up against another's", async () => {
  await db.ref("node/count").set(100);
  const add = (client) => client.ref("node/count").transaction((count) => (count ?? 0) + 1);
  const results = await Promise.all(
    [db, other].flatMap((client) => Array.from({ length: 25 }, () => add(client))),
  );
  assert.ok(results.every(({ committed }) => committed));
  assert.equal((await db.ref("node/count").get()).val(), 150);
  const undecided = await other.ref("node/count").transaction(() => undefined);
  assert.equal(undecided.committed, false);
});

test("its listeners hear of what another writes, in order", async () => {
  const live = other.ref("node/live");
  await live.remove();
  const values = [];
  const children = [];
  live.on("value", (snapshot) => values.push(snapshot.val()));
  live.limitToLast(1).on("child_added", (child) => children.push(child.key));
  await settle(other);
  await db.ref("node/live/a").set(1);
  await db.ref("node/live").update({ a: 2, b: 3 });
  await db.ref("node/live/a").remove();
  await settle(other);
  live.off();
  live.limitToLast(1).off();
  await db.ref("node/live").remove();
  await settle(other);
  assert.deepEqual(values, [null, { a: 1 }, { a: 2, b: 3 }, { b: 3 }]);
  assert.deepEqual(children, ["a", "b"]);
});

test("what it leaves is written when it goes", async () => {
  const leaver = open({});
  await leaver.ref("node/left").set("here");
  await leaver.ref("node/left").onDisconnect().set("gone");
  const gone = new Promise((resolve) => {
    db.ref("node/left").on("value", (snapshot) => { if (snapshot.val() === "gone") resolve(); });
  });
  leaver.goOffline();
  await gone;
  db.ref("node/left").off();
});

test("as a user it is bound by the rules, as nobody even more", async () => {
  const ann = open({ databaseAuthVariableOverride: { uid: "ann" } });
  await ann.ref("own/ann").set("hers");
  assert.equal((await ann.ref("own/ann").get()).val(), "hers");
  await assert.rejects(ann.ref("own/bob").set(1), { code: "PERMISSION_DENIED" });
  const nobody = open({ databaseAuthVariableOverride: null });
  await assert.rejects(nobody.ref("own/ann").get(), /Permission denied/);
});
