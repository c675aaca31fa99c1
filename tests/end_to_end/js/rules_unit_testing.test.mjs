// The npm package `@firebase/rules-unit-testing`, used as its documentation shows.
import assert from "node:assert/strict";
import { after, before, beforeEach, mock, test } from "node:test";
import {
  assertFails, assertSucceeds, initializeTestEnvironment,
} from "@firebase/rules-unit-testing";
import { get, onValue, ref, set, update } from "firebase/database";

const { hostname: host, port } = new URL(process.env.TREEDB_URL);
const RULES = `{
  // Posts are for all to read; who writes one is its author.
  "rules": {
    "posts": {
      ".read": true,
      "$post": {
        ".write": "auth != null && newData.child('author').val() == auth.uid",
        ".validate": "newData.hasChildren(['author', 'text'])",
        "author": { ".validate": true },
        "text": { ".validate": "newData.isString() && newData.val().length < 10" },
        "$other": { ".validate": false },
      },
    },
    "staff": { ".read": "auth.token.staff == true" },
  },
}`;
let testEnv;

const environment = (projectId, rules) =>
  initializeTestEnvironment({ projectId, database: { host, port: Number(port), rules } });

before(async () => {
  mock.method(console, "warn", () => {}); // the SDK warns of every denial
  mock.method(console, "log", () => {});
  testEnv = await environment("demo-rules", RULES);
});
beforeEach(() => testEnv.clearDatabase());
after(() => testEnv.cleanup());

test("the environment knows where the database is", () => {
  assert.equal(testEnv.projectId, "demo-rules");
  assert.deepEqual(testEnv.emulators.database, { host, port: Number(port) });
});

test("authenticatedContext acts as a user", async () => {
  const alice = testEnv.authenticatedContext("alice").database();
  await assertSucceeds(alice.ref("posts/one").set({ author: "alice", text: "hello" }));
  await assertFails(alice.ref("posts/two").set({ author: "bob", text: "hello" }));
  await assertFails(alice.ref("posts/two").set({ author: "alice" }));
  await assertFails(alice.ref("posts/two").set({ author: "alice", text: "far too long" }));
  await assertFails(alice.ref("posts/two").set({ author: "alice", text: "hello", likes: 7 }));
  await assertFails(alice.ref("elsewhere").set(1));
  const posts = (await alice.ref("posts").get()).val();
  assert.deepEqual(posts, { one: { author: "alice", text: "hello" } });
});

test("authenticatedContext has the claims it is given", async () => {
  const staff = testEnv.authenticatedContext("bob", { staff: true, email: "bob@example.com" });
  await assertSucceeds(staff.database().ref("staff").get());
  await assertFails(testEnv.authenticatedContext("bob").database().ref("staff").get());
});

test("unauthenticatedContext is nobody", async () => {
  const nobody = testEnv.unauthenticatedContext().database();
  await assertSucceeds(nobody.ref("posts").get());
  await assertFails(nobody.ref("posts/one").set({ author: "alice", text: "hello" }));
  await assertFails(nobody.ref("staff").get());
  await assertFails(nobody.ref("staff").once("value"));
});

test("withSecurityRulesDisabled does what no rule grants", async () => {
  await testEnv.withSecurityRulesDisabled(async (context) => {
    await context.database().ref("/").set({ staff: { bob: 1 }, posts: { old: "of any shape" } });
    assert.equal((await context.database().ref("staff/bob").get()).val(), 1);
  });
  const nobody = testEnv.unauthenticatedContext().database();
  assert.equal((await nobody.ref("posts/old").get()).val(), "of any shape");
});

test("clearDatabase leaves nothing but the rules", async () => {
  const alice = testEnv.authenticatedContext("alice").database();
  await alice.ref("posts/one").set({ author: "alice", text: "hello" });
  await testEnv.clearDatabase();
  await testEnv.withSecurityRulesDisabled(async (context) => {
    assert.equal((await context.database().ref("/").get()).exists(), false);
  });
  await assertFails(alice.ref("posts/two").set({ author: "bob", text: "hello" }));
});

test("contexts work with the functions of the modular SDK", async () => {
  const alice = testEnv.authenticatedContext("alice").database();
  await assertSucceeds(set(ref(alice, "posts/one"), { author: "alice", text: "hello" }));
  await assertSucceeds(update(ref(alice), { "posts/one/text": "again" }));
  await assertFails(update(ref(alice), { "posts/one/author": "bob" }));
  await assertFails(get(ref(alice, "staff")));
  await assertFails(
    new Promise((resolve, reject) => { onValue(ref(alice, "staff"), resolve, reject); }),
  );
});

test("assertFails does not take any other error for a denial", async () => {
  const alice = testEnv.authenticatedContext("alice").database();
  await assert.rejects(assertFails(alice.ref("posts").get()), /Expected request to fail/);
});

test("two projects have databases and rules of their own", async () => {
  const open = await environment("demo-open", '{"rules": {".read": true, ".write": true}}');
  const locked = await environment("demo-locked", '{"rules": {}}');
  try {
    const one = open.authenticatedContext("alice").database();
    const other = locked.authenticatedContext("alice").database();
    await assertSucceeds(one.ref("place").set("open"));
    await assertFails(other.ref("place").set("locked"));
    await assertFails(other.ref("place").get());
    await locked.withSecurityRulesDisabled(async (context) => {
      assert.equal((await context.database().ref("place").get()).exists(), false);
      await context.database().ref("place").set("locked");
    });
    assert.equal((await one.ref("place").get()).val(), "open");
    await open.clearDatabase();
    await locked.withSecurityRulesDisabled(async (context) => {
      assert.equal((await context.database().ref("place").get()).val(), "locked");
    });
  } finally {
    await Promise.all([open.cleanup(), locked.cleanup()]);
  }
});

test("wrong rules are refused with the place of the mistake", async () => {
  const wrong = '{"rules": {\n  ".read": "auth.uid === nobody"}}';
  await assert.rejects(environment("demo-wrong", wrong), /2:\d+: .*Unknown variable 'nobody'/);
});

test("after cleanup an environment does nothing more", async () => {
  const passing = await environment("demo-passing", RULES);
  await passing.cleanup();
  assert.throws(() => passing.authenticatedContext("alice"), /already been cleaned up/);
});
