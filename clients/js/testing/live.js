/** What tests against a running server share: TREEDB_URL=http://localhost:9000, in development mode. */

import assert from 'node:assert/strict';
import { after, before } from 'node:test';

import { connect } from '../index.js';

export const { TREEDB_URL } = process.env;

/** Return a function that connects to a namespace; what it made is closed after the tests. */
export const connecting = (namespace) => {
  const open = [];
  before(() => {
    assert.ok(TREEDB_URL, 'set TREEDB_URL to the address of a server, as http://localhost:9000');
  });
  after(() => {
    for (const made of open) made.close();
  });
  return (options = {}) => {
    const made = connect(TREEDB_URL, { namespace, ...options });
    open.push(made);
    return made;
  };
};

/** Return a promise that is kept after some milliseconds. */
export const pause = (ms) =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });

/** Wait until a condition holds; `what` tells what was waited for. */
export const until = async (condition, what) => {
  const end = Date.now() + 20_000;
  while (!condition()) {
    assert.ok(Date.now() < end, `waited 20 s for ${what()}`);
    await pause(5);
  }
};
