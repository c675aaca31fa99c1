import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';

import { sha1 } from '../sha1.js';

test("texts of every length up to three blocks hash as Node's own function hashes them", () => {
  for (let length = 0; length <= 192; length += 1) {
    const text = 'aé😀'.repeat(length).slice(0, 2 * length).replace(/[\ud800-\udbff]$/, 'x');
    assert.equal(sha1(text), createHash('sha1').update(text).digest('base64'), `of ${length}`);
  }
});

test('so does a long one', () => {
  const text = 'tree'.repeat(50_000);
  assert.equal(sha1(text), createHash('sha1').update(text).digest('base64'));
});
