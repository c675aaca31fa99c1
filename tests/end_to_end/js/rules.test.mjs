// Rules as the official SDK meets them: who may, who may not, and who is told why.
import assert from "node:assert/strict";
import { after, before, mock, test } from "node:test";
import {
  enableLogging, get, onValue, push, ref, remove, runTransaction, serverTimestamp, set, update,
} from "firebase/database";
import { client, clientOf, endClients, putRules, shown } from "./clients.mjs";
import { signable } from "./signable.mjs";

const NAMESPACE = "ruled";
const RULES = {
  users: { $uid: { ".read": "auth.uid == $uid", ".write": "auth.uid == $uid" } },
  groups: {
    $gid: { ".read": "root.child('members/' + $gid + '/' + auth.uid).exists()" },
  },
  roles: {
    ".read": "auth.token.role == 'editor' && auth.token.email == 'ann@example.com'",
    ".write": "auth.token.role == 'editor'",
  },
  providers: { ".read": "auth.provider == 'custom'" },
  stamps: { ".write": "auth != null", $id: { ".validate": "newData.val() == now" } },
  counters: { ".read": true, ".write": "auth != null", ".validate": "newData.val() <= 2" },
};
const DENIED = { code: "PERMISSION_DENIED" };
const owner = clientOf(NAMESPACE, "owner");

before(async () => {
  mock.method(console, "warn", () => {}); // the SDK warns of every denial
  mock.method(console, "log", () => {});
  await putRules(NAMESPACE, RULES);
});
after(endClients);

/** Listen; return a function that waits for what is heard next, a value or an error's code. */
function listen(place) {
  const heard = [];
  let wake = () => {};
  const take = (news) => { heard.push(news); wake(); };
  onValue(place, (snapshot) => take(snapshot.val()), (error) => take(error));
  return async () => {
    while (heard.length === 0) await new Promise((resolve) => { wake = resolve; });
    return heard.shift();
  };
}

test("nobody may do nothing", async () => {
  const nobody = client(NAMESPACE);
  await assert.rejects(set(ref(nobody, "users/ann"), 1), DENIED);
  await assert.rejects(update(ref(nobody), { "users/ann": 1 }), DENIED);
  await assert.rejects(remove(ref(nobody, "users/ann")), DENIED);
  await assert.rejects(push(ref(nobody, "users/ann"), 1), DENIED);
  await assert.rejects(get(ref(nobody, "users/ann")), /Permission denied/);
});

test("mockUserToken says who one is, and what one may", async () => {
  const ann = clientOf(NAMESPACE, { sub: "ann" });
  await set(ref(ann, "users/ann"), { name: "Ann" });
  assert.deepEqual((await get(ref(ann, "users/ann"))).val(), { name: "Ann" });
  await assert.rejects(set(ref(ann, "users/bob"), 1), DENIED);
  await assert.rejects(get(ref(ann, "users/bob")), /Permission denied/);
  await assert.rejects(get(ref(ann, "users")), /Permission denied/);
  await assert.rejects(get(ref(ann, "roles")), /Permission denied/);
});

test("claims of a mockUserToken are auth.token", async () => {
  const claims = { sub: "ann", email: "ann@example.com", role: "editor" };
  const editor = clientOf(NAMESPACE, claims);
  await set(ref(editor, "roles/one"), 1);
  assert.deepEqual((await get(ref(editor, "roles"))).val(), { one: 1 });
  assert.equal((await get(ref(editor, "providers"))).exists(), false);
});

test("an update with one denied path changes nothing", async () => {
  const ann = clientOf(NAMESPACE, { sub: "ann" });
  await set(ref(ann, "users/ann/n"), 1);
  await assert.rejects(update(ref(ann), { "users/ann/n": 2, "users/bob/n": 2 }), DENIED);
  assert.equal((await get(ref(owner, "users/ann/n"))).val(), 1);
  assert.equal((await get(ref(owner, "users/bob"))).exists(), false);
});

test("the sender of a denied write is shown the old value again", async () => {
  const ann = clientOf(NAMESPACE, { sub: "ann" });
  await set(ref(ann, "counters"), 1);
  const next = listen(ref(ann, "counters"));
  assert.equal(await next(), 1);
  const refused = assert.rejects(set(ref(ann, "counters"), 7), DENIED);
  assert.deepEqual([await next(), await next()], [7, 1]);
  await refused;
});

test("a transaction that the rules deny fails", async () => {
  const ann = clientOf(NAMESPACE, { sub: "ann" });
  await set(ref(ann, "counters"), 1);
  const add = () => runTransaction(ref(ann, "counters"), (value) => (value ?? 0) + 1);
  assert.equal((await add()).snapshot.val(), 2);
  await assert.rejects(add(), /permission_denied/i);
  assert.equal((await get(ref(ann, "counters"))).val(), 2);
});

test("a server timestamp is the now of the rules", async () => {
  const ann = clientOf(NAMESPACE, { sub: "ann" });
  await set(ref(ann, "stamps/one"), serverTimestamp());
  await assert.rejects(set(ref(ann, "stamps/two"), Date.now() - 1), DENIED);
});

test("a listen that is denied ends with its cancel callback", async () => {
  const ann = clientOf(NAMESPACE, { sub: "ann" });
  const error = await listen(ref(ann, "users/bob"))();
  assert.equal(error.code, "PERMISSION_DENIED");
  assert.match(error.message, /^permission_denied at \/users\/bob: /);
  assert.deepEqual((await get(ref(ann, "users/ann"))).ref.key, "ann", "the connection goes on");
});

test("owner reads and writes what no rule grants", async () => {
  await set(ref(owner, "secret"), 1);
  await shown(ref(owner), (value) => value?.secret === 1);
  await assert.rejects(get(ref(clientOf(NAMESPACE, { sub: "ann" }), "secret")));
});

test("in development the SDK prints why something was denied", async () => {
  const ann = clientOf(NAMESPACE, { sub: "ann" });
  console.log.mock.resetCalls();
  await assert.rejects(set(ref(ann, "users/bob"), "x"), DENIED);
  const said = console.log.mock.calls.map(({ arguments: [text] }) => text).join("\n");
  assert.match(said, /^FIREBASE: /);
  assert.match(said, /DENIED set \/users\/bob/);
  assert.match(said, /auth\.uid == \$uid/);
  console.log.mock.resetCalls();
  await listen(ref(ann, "users/bob"))();
  assert.match(console.log.mock.calls[0].arguments[0], /FIREBASE: .*DENIED read \/users\/bob/s);
  console.log.mock.resetCalls();
  await set(ref(ann, "users/ann"), "x");
  assert.equal(console.log.mock.callCount(), 0, "of what is allowed nothing is said");
});

test("the SDK's log shows the denial as it came", async () => {
  const lines = [];
  enableLogging((line) => lines.push(line));
  await assert.rejects(set(ref(clientOf(NAMESPACE, { sub: "ann" }), "users/bob"), 1), DENIED);
  enableLogging(false);
  assert.ok(lines.some((line) => line.includes('"s":"permission_denied","d":"Permission denied"')));
});

test("a listen ends when the data goes that let it in", async () => {
  await update(ref(owner), { "members/alpha/ann": true, "groups/alpha": "hello" });
  const next = listen(ref(clientOf(NAMESPACE, { sub: "ann" }), "groups/alpha"));
  assert.equal(await next(), "hello");
  await set(ref(owner, "groups/alpha"), "again");
  assert.equal(await next(), "again");
  await remove(ref(owner, "members/alpha/ann"));
  assert.equal((await next()).code, "PERMISSION_DENIED");
});

test("a listen ends when other rules come into force", async () => {
  const space = "changing";
  await putRules(space, { ".read": "auth != null", ".write": "auth != null" });
  const ann = clientOf(space, { sub: "ann" });
  await set(ref(ann, "place"), 1);
  const next = listen(ref(ann, "place"));
  assert.equal(await next(), 1);
  await putRules(space, { other: { ".read": true } });
  assert.equal((await next()).code, "PERMISSION_DENIED");
  await assert.rejects(set(ref(ann, "place"), 2), DENIED);
});

test("signing out takes the rights away, signing in brings others", async () => {
  await set(ref(owner, "users"), { ann: "hers", bob: "his" });
  let signIn;
  const db = client(NAMESPACE, (app) => { signIn = signable(app); });
  signIn({ sub: "ann" });
  const next = listen(ref(db, "users/ann"));
  assert.equal(await next(), "hers");
  signIn(null);
  assert.equal((await next()).code, "PERMISSION_DENIED");
  await assert.rejects(set(ref(db, "users/ann"), 1), DENIED);
  signIn({ sub: "bob" });
  assert.equal(await listen(ref(db, "users/bob"))(), "his");
  await assert.rejects(get(ref(db, "users/ann")), /Permission denied/);
});
