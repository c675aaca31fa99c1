import assert from 'node:assert/strict';
import { test } from 'node:test';

import { openMemory } from '../memory.js';
import { fakeStorage } from '../testing/fake_storage.js';

test('what is set is there at the next visit', () => {
  const storage = fakeStorage();
  openMemory(() => storage).set('a', { b: [1] });
  assert.deepEqual(openMemory(() => storage).get('a'), { b: [1] });
  assert.equal(openMemory(() => storage).get('other'), null);
});

test('without a storage it remembers until the page goes', () => {
  const missing = () => {
    throw new Error('not allowed');
  };
  for (const find of [missing, () => undefined, () => null]) {
    const memory = openMemory(find);
    memory.set('a', 1);
    assert.equal(memory.get('a'), 1);
  }
});

test('a full storage is no obstacle', () => {
  const storage = fakeStorage();
  storage.setItem = () => {
    throw new Error('full');
  };
  const memory = openMemory(() => storage);
  memory.set('a', 1);
  assert.equal(memory.get('a'), 1);
});

test('what others have left there is passed over', () => {
  const storage = fakeStorage();
  storage.items.set('treehouse.a', 'no json');
  assert.equal(openMemory(() => storage).get('a'), null);
});
