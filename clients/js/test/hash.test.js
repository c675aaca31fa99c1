import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { doubleHex, nodeHash } from '../hash.js';
import { parseNode } from '../tree.js';

const file = new URL('../../../tests/spec/hashes.json', import.meta.url);
const { hashes, doubles } = JSON.parse(readFileSync(file, 'utf8'));

test("hashes are those of Firebase's SDK", () => {
  for (const { value, hash } of hashes) {
    assert.equal(nodeHash(parseNode(value)), hash, JSON.stringify(value));
  }
});

test('numbers enter as the bits of their double', () => {
  for (const { number, hex } of doubles) assert.equal(doubleHex(number), hex, String(number));
});
