import assert from 'node:assert/strict';
import { test } from 'node:test';

import { NodeWebSocket } from '../node_websocket.js';
import { findSocketClass } from '../socket_class.js';

class Given {}

test("the given class comes first, then the platform's, then our own", async (context) => {
  const before = globalThis.WebSocket;
  context.after(() => {
    globalThis.WebSocket = before;
  });
  globalThis.WebSocket = undefined;
  assert.equal(await findSocketClass(undefined), NodeWebSocket);
  class Platform {}
  globalThis.WebSocket = Platform;
  assert.equal(await findSocketClass(undefined), Platform);
  assert.equal(await findSocketClass(Given), Given);
});
