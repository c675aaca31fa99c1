import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Connection } from '../connection.js';
import { FakeMachine } from '../testing/fake_machine.js';
import { fakeSockets } from '../testing/fake_socket.js';

const setUp = () => {
  const machine = new FakeMachine();
  const { FakeSocket, sockets } = fakeSockets();
  const heard = [];
  const connection = new Connection(FakeSocket, 'ws://h:1/.ws', machine, {
    onHello: (hello) => heard.push(['hello', hello]),
    onMessage: (message) => heard.push(['message', message]),
    onEnd: ({ error, ...more }) => heard.push(['end', error.message, more]),
  });
  return { machine, socket: sockets[0], heard, connection };
};

test('the greeting tells time and session', () => {
  const { socket, heard } = setUp();
  socket.greet('abc', 1234);
  assert.deepEqual(heard, [['hello', { time: 1234, session: 'abc' }]]);
});

test('a long message is sent in pieces, and received in pieces', () => {
  const { socket, heard, connection } = setUp();
  socket.greet();
  connection.send(`"${'x'.repeat(40000)}"`);
  assert.deepEqual(
    socket.frames.map((frame) => frame.length),
    [1, 16384, 16384, 7234],
  );
  const text = JSON.stringify({ t: 'd', d: { a: 'd', b: { p: 'a', d: '😀'.repeat(9000) } } });
  const half = text.length / 2;
  for (const data of ['2', text.slice(0, half), text.slice(half)]) socket.onmessage({ data });
  assert.equal(heard[1][1].body.d, '😀'.repeat(9000));
});

test('without a greeting for 30 s the connection ends', () => {
  const { machine, heard, socket } = setUp();
  machine.advance(30_000);
  assert.deepEqual(heard, [['end', 'the server sent no greeting within 30 s', {}]]);
  assert.equal(socket.isClosed, true);
});

test('a socket that closes ends the connection, once', () => {
  const { socket, heard, machine } = setUp();
  const { onclose } = socket;
  onclose({ code: 1006, reason: '' });
  onclose({ code: 1006, reason: '' });
  assert.equal(heard.length, 2);
  assert.deepEqual(heard[0], ['end', 'the server cannot be reached (code 1006)', {}]);
  assert.equal(machine.timers, 0);
});

test('what is not the protocol ends the connection', () => {
  for (const data of ['{"t":', '{"t":"z","d":{}}', new Uint8Array(3)]) {
    const { socket, heard } = setUp();
    socket.greet();
    socket.onmessage({ data });
    assert.equal(heard[1][0], 'end');
    assert.equal(socket.isClosed, true);
  }
});

test('a reset names the host to go to, a shutdown is final', () => {
  const reset = setUp();
  reset.socket.control('r', 'other:2');
  assert.deepEqual(reset.heard[0][2], { host: 'other:2' });
  const shutdown = setUp();
  shutdown.socket.control('s', 'moved away');
  assert.deepEqual(shutdown.heard[0], ['end', 'shut down: moved away', { isFinal: true }]);
});

test('control messages of later versions are passed over', () => {
  const { socket, heard } = setUp();
  socket.control('zz', { a: 1 });
  socket.control('o', null);
  assert.deepEqual(heard, []);
});

test('an unanswered check ends the connection', () => {
  const { machine, socket, heard, connection } = setUp();
  connection.check();
  assert.deepEqual(socket.taken(), []);
  socket.greet();
  connection.check();
  assert.deepEqual(socket.taken(), [{ t: 'p', d: {} }]);
  machine.advance(10_000);
  assert.deepEqual(heard[1], ['end', 'the server no longer answers', {}]);
});

test('after close() nothing is heard and no timer is left', () => {
  const { machine, socket, heard, connection } = setUp();
  socket.greet();
  connection.close();
  socket.push('d', { p: 'a', d: 1 });
  socket.drop();
  assert.equal(heard.length, 1);
  assert.equal(machine.timers, 0);
});
