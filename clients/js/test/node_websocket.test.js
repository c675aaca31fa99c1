import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { test } from 'node:test';

import { NodeWebSocket } from '../node_websocket.js';

const accept = (key) =>
  createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');

/** Start a server that upgrades as `handshake` says, and a client; both end with the test. */
const setUp = async (
  context,
  handshake = ({ headers }) => accept(headers['sec-websocket-key']),
) => {
  const server = createServer((_, response) => response.writeHead(426).end());
  const upgraded = new Promise((resolve) => {
    server.on('upgrade', (request, socket) => {
      const head = [
        'HTTP/1.1 101 Switching Protocols',
        'Upgrade: websocket',
        'Connection: Upgrade',
      ];
      socket.write(
        `${[...head, `Sec-WebSocket-Accept: ${handshake(request)}`].join('\r\n')}\r\n\r\n`,
      );
      socket.on('error', () => {});
      resolve(socket);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = new NodeWebSocket(`ws://127.0.0.1:${server.address().port}/.ws?v=5`);
  const heard = [];
  client.onmessage = ({ data }) => heard.push(data);
  const closed = new Promise((resolve) => {
    client.onclose = ({ code, reason }) => resolve([code, reason]);
  });
  const opened = new Promise((resolve) => {
    client.onopen = () => resolve();
  });
  context.after(() => {
    client.close();
    server.close();
    server.closeAllConnections();
  });
  return { client, heard, closed, opened, upgraded, server };
};
const bare = (first, text) => Buffer.concat([Buffer.from([first, text.length]), Buffer.from(text)]);

/** Read the next frame of a client: its first byte and its text. */
const readFrame = async (socket) => {
  const [bytes] = await once(socket, 'data');
  const payload = bytes.subarray(6).map((byte, index) => byte ^ bytes[2 + (index & 3)]);
  return [bytes[0], Buffer.from(payload).toString('latin1')];
};

test('texts go both ways', async (context) => {
  const { client, heard, opened, upgraded } = await setUp(context);
  const socket = await upgraded;
  await opened;
  const frame = readFrame(socket);
  client.send('hello');
  assert.deepEqual(await frame, [0x81, 'hello']);
  const echoed = new Promise((resolve) => {
    client.onmessage = ({ data }) => resolve(data);
  });
  socket.write(bare(0x81, 'world'));
  assert.equal(await echoed, 'world');
  assert.deepEqual(heard, []);
});

test('a ping is answered with its own words', async (context) => {
  const { opened, upgraded } = await setUp(context);
  const socket = await upgraded;
  await opened;
  const frame = readFrame(socket);
  socket.write(bare(0x89, 'still there?'));
  assert.deepEqual(await frame, [0x8a, 'still there?']);
});

test('the close of the server is answered and told', async (context) => {
  const { closed, opened, upgraded } = await setUp(context);
  const socket = await upgraded;
  await opened;
  const frame = readFrame(socket);
  socket.write(Buffer.concat([Buffer.from([0x88, 5, 0x03, 0xe9]), Buffer.from('bye')]));
  assert.deepEqual(await frame, [0x88, '\u0003\u00e9']);
  assert.deepEqual(await closed, [1001, 'bye']);
});

test('our close waits for the server to agree', async (context) => {
  const { client, closed, opened, upgraded } = await setUp(context);
  const socket = await upgraded;
  await opened;
  const frame = readFrame(socket);
  client.close();
  assert.deepEqual(await frame, [0x88, '\u0003\u00e8']);
  socket.write(Buffer.from([0x88, 2, 0x03, 0xe8]));
  assert.deepEqual(await closed, [1000, '']);
});

test('a connection that breaks is told as abnormal', async (context) => {
  const { closed, opened, upgraded } = await setUp(context);
  const socket = await upgraded;
  await opened;
  socket.destroy();
  assert.equal((await closed)[0], 1006);
});

test('what is not UTF-8 or not text is refused', async (context) => {
  for (const [bytes, code] of [
    [bare(0x82, 'x'), 1003],
    [Buffer.from([0x81, 1, 0xff]), 1007],
  ]) {
    const { closed, opened, upgraded } = await setUp(context);
    const socket = await upgraded;
    await opened;
    socket.write(bytes);
    assert.equal((await closed)[0], code);
  }
});

test('a server that does not know the handshake is refused', async (context) => {
  const { closed } = await setUp(context, () => 'nonsense');
  assert.match((await closed)[1], /did not accept/);
});

test('an address without a server, or without WebSockets, is told', async (context) => {
  const { server } = await setUp(context);
  const { port } = server.address();
  const plain = createServer((_, response) => response.writeHead(404).end());
  plain.listen(0, '127.0.0.1');
  await once(plain, 'listening');
  context.after(() => plain.close());
  for (const [target, reason] of [
    [plain.address().port, /answered 404/],
    [1, /ECONNREFUSED/],
  ]) {
    assert.notEqual(target, port);
    const client = new NodeWebSocket(`ws://127.0.0.1:${target}/`);
    const [code, why] = await new Promise((resolve) => {
      client.onclose = (event) => resolve([event.code, event.reason]);
    });
    assert.equal(code, 1006);
    assert.match(why, reason);
  }
});

test('closing before it is open opens nothing', async (context) => {
  const { client, closed } = await setUp(context);
  client.close();
  assert.equal((await closed)[0], 1006);
});
