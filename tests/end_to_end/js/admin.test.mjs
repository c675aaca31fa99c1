// The npm package `firebase-admin`, pointed here as one points it at the emulator.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { deleteApp, initializeApp } from "firebase-admin/app";
import { getDatabase, ServerValue } from "firebase-admin/database";

const app = initializeApp({ databaseURL: `${process.env.TREEDB_URL}?ns=admin` });
const db = getDatabase(app);
after(() => deleteApp(app));

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
