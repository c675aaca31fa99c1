import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { test } from 'node:test';

import * as client from '../index.js';

const read = (name) => readFileSync(new URL(`../${name}`, import.meta.url), 'utf8');
const types = read('index.d.ts');

test('what is exported has its types, and the other way round', () => {
  const declared = [...types.matchAll(/^export (?:class|function) (\w+)/gm)].map(
    ([, name]) => name,
  );
  assert.deepEqual(declared.sort(), Object.keys(client).sort());
});

test('every public member of a class has its type', () => {
  const classes = ['Database', 'OnDisconnect', 'Query', 'Reference', 'PushedReference', 'Snapshot'];
  for (const name of classes) {
    const [, body] = new RegExp(`^export class ${name}\\b[^]*?{\\n([^]*?)\\n}`, 'm').exec(types);
    const members = Object.getOwnPropertyNames(client[name].prototype);
    for (const member of members.filter((member) => member !== 'constructor')) {
      assert.match(body, new RegExp(`^  (readonly )?${member}\\b`, 'm'), `${name}.${member}`);
    }
  }
});

test('modules and functions stay small', () => {
  const folder = new URL('../', import.meta.url);
  for (const name of readdirSync(folder).filter((file) => file.endsWith('.js'))) {
    const lines = read(name).split('\n');
    assert.ok(lines.length <= 400, `${name} has ${lines.length} lines`);
    lines.forEach((line, index) =>
      assert.ok(line.length <= 100, `${name}:${index + 1} is too long`),
    );
  }
});

test('only the module for Node imports from Node', () => {
  const folder = new URL('../', import.meta.url);
  const importers = readdirSync(folder).filter(
    (name) => name.endsWith('.js') && /from 'node:/.test(read(name)),
  );
  assert.deepEqual(importers, ['node_websocket.js']);
});
