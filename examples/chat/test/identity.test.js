import assert from 'node:assert/strict';
import { test } from 'node:test';

import { cleanName, findIdentity, randomUid } from '../identity.js';
import { openMemory } from '../memory.js';
import { fakeStorage } from '../testing/fake_storage.js';

const setUp = () => {
  const storage = fakeStorage();
  let count = 0;
  const find = (name) =>
    findIdentity(
      openMemory(() => storage),
      name,
      () => {
        count += 1;
        return `uid${count}`;
      },
    );
  return { find };
};

test('a stranger has a uid and no name', () => {
  const { find } = setUp();
  const me = find(null);
  assert.equal(me.uid, 'uid1');
  assert.equal(me.name, null);
});

test('who has said their name is known at the next visit', () => {
  const { find } = setUp();
  find(null).rename('Mary');
  const me = find(null);
  assert.equal(me.uid, 'uid1');
  assert.equal(me.name, 'Mary');
});

test('each name in the address is a person of their own, who may change their name', () => {
  const { find } = setUp();
  find(null).rename('Mary');
  const bob = find('Bob');
  bob.rename('Robert');
  assert.notEqual(find('Ann').uid, bob.uid);
  assert.equal(find('Bob').uid, bob.uid);
  assert.equal(find('Bob').name, 'Robert');
  assert.equal(find(null).name, 'Mary');
});

test('names are one line, trimmed, and not too long', () => {
  assert.equal(cleanName('  Mary \n Chen '), 'Mary Chen');
  assert.equal(cleanName('   '), '');
  assert.equal([...cleanName('😀'.repeat(60))].length, 40);
});

test('uids are legal keys and hard to guess', () => {
  const uids = Array.from({ length: 100 }, randomUid);
  assert.equal(new Set(uids).size, 100);
  for (const uid of uids) assert.match(uid, /^[0-9a-v]{20}$/);
});
