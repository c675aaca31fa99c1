import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Link } from '../link.js';
import { FakeMachine } from '../testing/fake_machine.js';
import { fakeSockets } from '../testing/fake_socket.js';

const ADDRESS = { scheme: 'ws:', host: 'h:1', namespace: '' };

const setUp = (SocketClass) => {
  const machine = new FakeMachine();
  const { FakeSocket, sockets } = fakeSockets();
  const states = [];
  let losses = 0;
  const link = new Link(ADDRESS, SocketClass ?? FakeSocket, machine, {
    onHello: () => link.online(),
    onMessage: () => {},
    onLost: () => {
      losses += 1;
    },
    onState: ({ state }) => states.push(state),
  });
  // With a class at hand dialling needs one turn of the loop the first time, none later.
  const start = async () => {
    link.goOnline();
    await Promise.resolve();
    await Promise.resolve();
  };
  return { machine, sockets, states, link, start, losses: () => losses };
};

test('a link dials, is greeted, and is online', async () => {
  const { sockets, states, start } = setUp();
  await start();
  sockets[0].greet();
  assert.deepEqual(states, ['connecting', 'online']);
});

test('a lost connection is dialled again after the wait, naming the last session', async () => {
  const { machine, sockets, states, link, start, losses } = setUp();
  await start();
  sockets[0].greet('s1');
  sockets[0].drop();
  assert.equal(losses(), 1);
  assert.equal(link.state.retryAt, machine.now() + 1000);
  machine.advance(999);
  assert.equal(sockets.length, 1);
  machine.advance(1);
  assert.equal(sockets[1].url.searchParams.get('ls'), 's1');
  sockets[1].greet('s2');
  assert.deepEqual(states, ['connecting', 'online', 'waiting', 'connecting', 'online']);
});

test('waits grow while the server is away', async () => {
  const { machine, sockets, link, start } = setUp();
  await start();
  const waits = [];
  for (let count = 0; count < 4; count += 1) {
    sockets.at(-1).drop();
    waits.push(link.state.retryAt - machine.now());
    machine.advance(waits.at(-1));
  }
  assert.deepEqual(waits.map(Math.round), [1000, 1300, 1690, 2197]);
});

test('a page that wakes up reconnects at once', async () => {
  const { machine, sockets, start } = setUp();
  await start();
  sockets[0].drop();
  machine.awake();
  assert.equal(sockets.length, 2);
  machine.advance(10_000);
  assert.equal(sockets.length, 2);
});

test('a page that wakes up makes sure of its connection', async () => {
  const { machine, sockets, states, start } = setUp();
  await start();
  sockets[0].greet();
  machine.awake();
  assert.deepEqual(sockets[0].taken(), [{ t: 'p', d: {} }]);
  machine.advance(10_000);
  assert.deepEqual(states.slice(2), ['waiting', 'connecting']);
});

test('a machine that goes offline gives its connection up', async () => {
  const { machine, sockets, link, start } = setUp();
  await start();
  sockets[0].greet();
  machine.offline();
  assert.equal(link.state.state, 'waiting');
  assert.equal(sockets[0].isClosed, true);
});

test('offline stays offline until told otherwise', async () => {
  const { machine, sockets, states, link, start } = setUp();
  await start();
  sockets[0].greet();
  link.goOffline();
  machine.awake();
  machine.advance(1_000_000);
  assert.equal(sockets.length, 1);
  assert.equal(machine.timers, 0);
  await start();
  assert.equal(sockets.length, 2);
  assert.deepEqual(states.slice(2), ['offline', 'connecting']);
});

test('going offline while waiting or dialling leaves nothing behind', async () => {
  const waiting = setUp();
  await waiting.start();
  waiting.sockets[0].drop();
  waiting.link.goOffline();
  assert.equal(waiting.machine.timers, 0);
  const dialling = setUp();
  await dialling.start();
  dialling.link.goOffline();
  assert.equal(dialling.machine.timers, 0);
  assert.equal(dialling.sockets[0].isClosed, true);
  assert.equal(dialling.machine.watched.size, 0);
});

test('going offline before the socket class is found opens no socket', async () => {
  const { sockets, link } = setUp();
  link.goOnline();
  link.goOffline();
  await Promise.resolve();
  await Promise.resolve();
  assert.equal(sockets.length, 0);
});

test('closed is for good', async () => {
  const { sockets, states, link, start } = setUp();
  await start();
  link.close();
  link.goOnline();
  link.goOffline();
  assert.equal(sockets.length, 1);
  assert.deepEqual(states, ['connecting', 'closed']);
});

test('a server that shuts down is not dialled again', async () => {
  const { machine, sockets, link, start } = setUp();
  await start();
  sockets[0].control('s', 'the database is gone');
  machine.advance(1_000_000);
  assert.equal(sockets.length, 1);
  assert.equal(link.state.state, 'closed');
  assert.match(link.state.error.message, /the database is gone/);
});

test('a reset leads to the other host at once, and back home after the next loss', async () => {
  const { machine, sockets, start } = setUp();
  await start();
  sockets[0].control('r', 'other:2');
  assert.equal(sockets[1].url.host, 'other:2');
  sockets[1].drop();
  machine.advance(1000);
  assert.equal(sockets[2].url.host, 'h:1');
});

test('servers that send us in a circle have to wait', async () => {
  const { machine, sockets, link, start } = setUp();
  await start();
  for (let count = 0; count < 6; count += 1) sockets.at(-1).control('r', `h:${count}`);
  assert.equal(sockets.length, 6);
  assert.equal(link.state.state, 'waiting');
  machine.advance(1000);
  assert.equal(sockets.length, 7);
});

test('a socket that cannot even be made is tried again later', async () => {
  const { link, start } = setUp(
    class {
      constructor() {
        throw new Error('insecure');
      }
    },
  );
  await start();
  assert.equal(link.state.state, 'waiting');
  assert.match(link.state.error.message, /cannot open a socket: insecure/);
  link.close();
});
