/** The examples of the README run, against a running server (see server.test.js). */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import * as client from '../index.js';

const { TREEDB_URL } = process.env;
const README = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
const examples = [...README.matchAll(/^```js\n([^]*?)^```$/gm)].map(([, code]) => code);
const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor;
/** What the page around an example would bring. */
const PAGE = { show: () => {}, insertAfter: () => {}, removeLine: () => {} };

test('every example of the README runs', async (context) => {
  assert.ok(TREEDB_URL, 'set TREEDB_URL to the address of a server, as http://localhost:9000');
  context.mock.method(console, 'log', () => {});
  context.mock.method(console, 'warn', () => {}); // of the index that an example has no rules for
  assert.ok(examples.length >= 5);
  const namespace = `test-readme-${Date.now().toString(36)}`;
  const made = [];
  const connect = () => {
    made.push(client.connect(TREEDB_URL, { namespace }));
    return made.at(-1);
  };
  try {
    for (const code of examples) {
      const body = code.replace(/^import .*$/gm, '');
      const known = { ...client, ...PAGE, connect };
      if (!/^const database/m.test(body)) known.database = connect();
      const run = new AsyncFunction(...Object.keys(known), body);
      await run(...Object.values(known));
    }
    // Answers come in order: each round outlasts what an example asked for before it.
    for (let round = 0; round < 3; round += 1) {
      await Promise.all(made.slice(1).map((database) => database.ref('/end').get()));
    }
  } finally {
    for (const database of made) database.close();
  }
});
