import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Heartbeat } from '../heartbeat.js';
import { FakeMachine } from '../testing/fake_machine.js';
import { KEEP_ALIVE, PING } from '../wire.js';

const setUp = () => {
  const machine = new FakeMachine();
  const sent = [];
  let deaths = 0;
  const send = (frame) => {
    sent.push(frame);
    heartbeat.sent();
  };
  const heartbeat = new Heartbeat(machine, send, () => {
    deaths += 1;
  });
  heartbeat.received();
  return { machine, sent, heartbeat, deaths: () => deaths };
};

test('a keep-alive goes out after 45 s of silence', () => {
  const { machine, sent } = setUp();
  machine.advance(44_999);
  assert.deepEqual(sent, []);
  machine.advance(1);
  assert.deepEqual(sent, [KEEP_ALIVE]);
});

test('traffic either way puts the keep-alive off', () => {
  const { machine, sent, heartbeat } = setUp();
  for (let count = 0; count < 5; count += 1) {
    machine.advance(40_000);
    if (count % 2 === 0) heartbeat.sent();
    else heartbeat.received();
  }
  assert.deepEqual(sent, []);
});

test('a server that is silent for two periods is asked for a sign of life', () => {
  const { machine, sent, heartbeat, deaths } = setUp();
  machine.advance(90_000);
  assert.deepEqual(sent, [KEEP_ALIVE, PING]);
  heartbeat.received();
  machine.advance(44_000);
  assert.equal(deaths(), 0);
});

test('a ping without an answer within 10 s means the server is dead', () => {
  const { machine, heartbeat, deaths } = setUp();
  heartbeat.check();
  machine.advance(9_999);
  assert.equal(deaths(), 0);
  machine.advance(1);
  assert.equal(deaths(), 1);
});

test('asking twice pings once', () => {
  const { sent, heartbeat } = setUp();
  heartbeat.check();
  heartbeat.check();
  assert.deepEqual(sent, [PING]);
});

test('stopping leaves no timer', () => {
  const { machine, heartbeat } = setUp();
  heartbeat.check();
  heartbeat.stop();
  assert.equal(machine.timers, 0);
});
