/** Under rules, against a running server in development mode: TREEDB_URL=http://localhost:9000. */

import assert from 'node:assert/strict';
import { before, test } from 'node:test';

import { serverTimestamp } from '../index.js';
import { connecting, TREEDB_URL } from '../testing/live.js';

const NAMESPACE = `rules-${Date.now().toString(36)}`;
const RULES = {
  rules: {
    users: { $uid: { '.read': 'auth.uid == $uid', '.write': 'auth.uid == $uid' } },
    lists: { $list: { '.read': 'auth != null && root.child("open/" + $list).exists()' } },
    stamps: { '.write': 'auth != null', $stamp: { '.validate': 'newData.val() == now' } },
  },
};
const base64url = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
const tokenOf = (uid) => `${base64url({ alg: 'none' })}.${base64url({ sub: uid })}.`;

const database = connecting(NAMESPACE);
const owner = async (path, content) => {
  const headers = { authorization: 'Bearer owner' };
  const body = JSON.stringify(content);
  const url = `${TREEDB_URL}/${path}.json?ns=${NAMESPACE}`;
  assert.equal((await fetch(url, { method: 'PUT', headers, body })).status, 200);
};
/** Listen; return a function that gives what was heard next, values and error codes alike. */
const listen = (ref) => {
  const heard = [];
  let wake = () => {};
  const take = (news) => {
    heard.push(news);
    wake();
  };
  ref.onValue(
    (snapshot) => take(snapshot.val()),
    (error) => take(error.code),
  );
  return async () => {
    while (heard.length === 0) {
      await new Promise((resolve) => {
        wake = resolve;
      });
    }
    return heard.shift();
  };
};
const denied = { name: 'TreeError', code: 'PERMISSION_DENIED' };

before(async () => {
  console.warn = () => {}; // the server says why it denies, and the client warns of that
  await owner('.settings/rules', RULES);
});

test('nobody may do nothing, a user what is theirs', async () => {
  await assert.rejects(database().ref('/users/mary').set(1), denied);
  await assert.rejects(database().ref('/users/mary').get(), denied);
  const mary = database({ token: tokenOf('mary') });
  await mary.ref('/users/mary').set({ name: 'Mary' });
  assert.deepEqual((await mary.ref('/users/mary').get()).val(), { name: 'Mary' });
  await assert.rejects(mary.ref('/users/bob').set(1), denied);
  await assert.rejects(mary.ref('/users/bob').push(1), denied);
  await assert.rejects(mary.ref('/').update({ 'users/mary': 1, 'users/bob': 1 }), denied);
  assert.deepEqual((await mary.ref('/users/mary').get()).val(), { name: 'Mary' });
});

test('a listen that is denied ends with an error', async () => {
  const next = listen(database({ token: tokenOf('mary') }).ref('/users/bob'));
  assert.equal(await next(), 'PERMISSION_DENIED');
});

test('a listen ends when what its rule reads goes', async () => {
  await owner('open', { fruit: true });
  await owner('lists', { fruit: 'apple' });
  const next = listen(database({ token: tokenOf('mary') }).ref('/lists/fruit'));
  assert.equal(await next(), 'apple');
  await owner('open', null);
  assert.equal(await next(), 'PERMISSION_DENIED');
});

test('who signs in as somebody else loses what only the first may see', async () => {
  await owner('users/ann', 'hers');
  const client = database({ token: tokenOf('ann') });
  const next = listen(client.ref('/users/ann'));
  assert.equal(await next(), 'hers');
  await client.signIn(tokenOf('mary'));
  assert.equal(await next(), 'PERMISSION_DENIED');
  await assert.rejects(client.ref('/users/ann').get(), denied);
  await client.ref('/users/mary').set('mine');
  await client.signIn(null);
  await assert.rejects(client.ref('/users/mary').get(), denied);
});

test('a token that is no good is told of, and one goes on as nobody', async () => {
  const errors = [];
  const onAuthError = (error) => errors.push(error.code);
  const client = database({ token: 'no.good', onAuthError });
  await assert.rejects(client.ref('/users/mary').get(), denied);
  assert.deepEqual(errors, ['INVALID_TOKEN']);
});

test("the server's time is now, to the rules too", async () => {
  const mary = database({ token: tokenOf('mary') });
  await mary.ref('/stamps/one').set(serverTimestamp());
  await assert.rejects(mary.ref('/stamps/two').set(1), denied);
});

test('of writes in flight the denied ones fail, and the others do not', async () => {
  const mary = database({ token: tokenOf('mary') });
  const places = Array.from({ length: 40 }, (_, index) => `users/${index % 2 ? 'mary' : 'bob'}/n`);
  const results = await Promise.allSettled(
    places.map((place, index) => mary.ref(place).set(index)),
  );
  const states = results.map(({ status }) => status);
  assert.deepEqual(
    states,
    places.map((place) => (place.includes('mary') ? 'fulfilled' : 'rejected')),
  );
});
