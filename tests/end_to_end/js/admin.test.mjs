// The npm package `firebase-admin`, pointed here as one points it at the emulator.
import assert from "node:assert/strict";
import { after, before, mock, test } from "node:test";
import { deleteApp, initializeApp } from "firebase-admin/app";
import { getDatabase, ServerValue } from "firebase-admin/database";
import { putRules } from "./clients.mjs";

const databaseURL = `${process.env.TREEDB_URL}?ns=admin`;
const apps = [];
const open = (options) => {
  apps.push(initializeApp({ databaseURL, ...options }, `admin-${apps.length}`));
  return getDatabase(apps.at(-1));
};
const db = open({});
before(async () => {
  mock.method(console, "warn", () => {}); // the SDK warns of every denial
  mock.method(console, "log", () => {});
  const own = { ".read": "auth.uid == $uid", ".write": "auth.uid == $uid" };
  await putRules("admin", { bound: { $uid: own } });
});
after(() => Promise.all(apps.map((app) => deleteApp(app))));

test("the admin SDK sets, updates, pushes, reads and removes", async () => {
  const users = db.ref("users");
  await users.child("mchen").set({ name: "Mary Chen", at: ServerValue.TIMESTAMP });
  await users.child("mchen").update({ age: 33 });
  const key = (await users.push({ name: "Brian" })).key;
  const value = (await users.once("value")).val();
  assert.equal(value.mchen.name, "Mary Chen");
  assert.equal(value.mchen.age, 33);
  assert.equal(typeof value.mchen.at, "number");
  assert.deepEqual(value[key], { name: "Brian" });
  await users.child(key).remove();
  assert.equal((await users.child(key).get()).exists(), false);
});

test("the admin SDK hears of changes", async () => {
  const seen = [];
  await new Promise((resolve) => {
    db.ref("live").on("value", (snapshot) => {
      seen.push(snapshot.val());
      if (seen.length === 1) db.ref("live").set("changed");
      if (snapshot.val() === "changed") resolve();
    });
  });
  db.ref("live").off();
  assert.deepEqual(seen, [null, "changed"]);
});

test("databaseAuthVariableOverride makes the admin a user whom the rules bind", async () => {
  const ann = open({ databaseAuthVariableOverride: { uid: "ann" } });
  await ann.ref("bound/ann").set("hers");
  assert.equal((await ann.ref("bound/ann").get()).val(), "hers");
  await assert.rejects(ann.ref("bound/bob").set(1), { code: "PERMISSION_DENIED" });
  await assert.rejects(ann.ref("users").get(), /Permission denied/);
});

test("databaseAuthVariableOverride null makes the admin nobody", async () => {
  const nobody = open({ databaseAuthVariableOverride: null });
  await assert.rejects(nobody.ref("bound/ann").set(1), { code: "PERMISSION_DENIED" });
  await assert.rejects(nobody.ref("bound/ann").get(), /Permission denied/);
});

test("the admin SDK gets and sets the rules", async () => {
  const credential = { getAccessToken: async () => ({ access_token: "owner", expires_in: 3600 }) };
  const keeper = open({ credential, databaseURL: `${process.env.TREEDB_URL}?ns=kept` });
  const text = '{\n  // for all to read\n  "rules": {".read": true}\n}';
  await keeper.setRules(text);
  assert.equal(await keeper.getRules(), text);
  assert.deepEqual(await keeper.getRulesJSON(), { rules: { ".read": true } });
  await assert.rejects(keeper.setRules('{"rules": {".read": "who"}}'), /Unknown variable 'who'/);
  assert.equal(await keeper.getRules(), text);
});
