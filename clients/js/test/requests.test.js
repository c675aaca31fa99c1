import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Requests } from '../requests.js';

const setUp = () => {
  const requests = new Requests();
  const sent = [];
  const send = (message) => {
    const { r, a, b } = JSON.parse(message).d;
    sent.push([r, a, b]);
  };
  return { requests, sent, send };
};
const answer = (requests, number, status = 'ok', data = '') =>
  requests.answer({ number, status, data });

test('a request waits for a connection and is then sent at once', async () => {
  const { requests, sent, send } = setUp();
  const first = requests.ask('p', { p: '/a', d: 1 }, 'set /a');
  assert.deepEqual(sent, []);
  requests.attach(send);
  const second = requests.ask('g', { p: '/a' }, 'get /a');
  assert.deepEqual(sent, [
    [1, 'p', { p: '/a', d: 1 }],
    [2, 'g', { p: '/a' }],
  ]);
  answer(requests, 2, 'ok', 5);
  answer(requests, 1);
  assert.deepEqual(await Promise.all([first, second]), ['', 5]);
});

test('a refusal rejects with the status as code and the sentence of the server', async () => {
  const { requests, send } = setUp();
  requests.attach(send);
  const asked = requests.ask('p', {}, 'set /a');
  answer(requests, 1, 'permission_denied', 'Permission denied');
  await assert.rejects(asked, {
    name: 'TreeError',
    code: 'PERMISSION_DENIED',
    message: 'set /a: Permission denied',
  });
});

test('who asked hears of the answer at once, and of the next message later', () => {
  const { requests, send } = setUp();
  requests.attach(send);
  const heard = [];
  for (const name of ['a', 'b']) {
    requests.ask('p', {}, name, (isGranted) => heard.push([name, isGranted])).catch(() => {});
  }
  answer(requests, 1);
  assert.deepEqual(heard, [['a', true]]);
  answer(requests, 2, 'permission_denied');
  assert.deepEqual(heard.at(-1), ['b', false]);
});

test('what is unanswered is sent again, in order, under new numbers', () => {
  const { requests, sent, send } = setUp();
  requests.attach(send);
  for (const path of ['/a', '/b', '/c']) requests.ask('p', { p: path }, '');
  answer(requests, 2);
  requests.detach();
  requests.ask('p', { p: '/d' }, '');
  sent.length = 0;
  requests.attach(send);
  assert.deepEqual(sent, [
    [4, 'p', { p: '/a' }],
    [5, 'p', { p: '/c' }],
    [6, 'p', { p: '/d' }],
  ]);
});

test("an answer to a number of the last connection is nobody's", async () => {
  const { requests, send } = setUp();
  requests.attach(send);
  let isSettled = false;
  requests.ask('p', {}, '').then(() => {
    isSettled = true;
  });
  requests.detach();
  requests.attach(send);
  answer(requests, 1);
  await Promise.resolve();
  assert.equal(isSettled, false);
});

test('a request made once is forgotten with its connection', () => {
  const { requests, sent, send } = setUp();
  const answers = [];
  requests.askOnce(send, 'q', { p: '/a' }, (status) => answers.push(status));
  answer(requests, 1);
  requests.askOnce(send, 'q', { p: '/b' }, (status) => answers.push(status));
  requests.detach();
  requests.attach(send);
  answer(requests, 2);
  assert.deepEqual(answers, ['ok']);
  assert.equal(sent.length, 2);
});

test('the value is taken when it is written, not when it is sent', () => {
  const { requests, sent, send } = setUp();
  const value = { a: 1 };
  requests.ask('p', { p: '/', d: value }, '');
  value.a = 2;
  requests.attach(send);
  assert.equal(sent[0][2].d.a, 1);
});

test('a request too big for any server is refused here, both numbers told', () => {
  const { requests, sent, send } = setUp();
  requests.attach(send);
  const body = { d: 'é'.repeat(8 * 1024 * 1024) };
  assert.throws(() => requests.ask('p', body, 'set /a'), {
    code: 'TOO_BIG',
    message: 'set /a: has 16777224 bytes, at most 16777152 fit in one request',
  });
  assert.deepEqual(sent, []);
});

test('closing rejects what waits', async () => {
  const { requests, send } = setUp();
  requests.attach(send);
  const asked = requests.ask('p', {}, '');
  requests.close();
  await assert.rejects(asked, { code: 'CLOSED' });
});
