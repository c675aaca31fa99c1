import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Session } from '../session.js';
import { EVERYTHING } from '../selection.js';
import { FakeMachine, settled } from '../testing/fake_machine.js';
import { fakeSockets } from '../testing/fake_socket.js';
import { toPlain } from '../tree.js';

const ADDRESS = { scheme: 'ws:', host: 'h:1', namespace: '' };

const valueHeardBy = (onNews) => ({ event: 'value', onNews, onError: () => {} });

const setUp = async (token = null) => {
  const machine = new FakeMachine();
  const { FakeSocket, sockets } = fakeSockets();
  const authErrors = [];
  const onAuthError = (error) => authErrors.push(error.code);
  const session = new Session(ADDRESS, { token, WebSocket: FakeSocket, onAuthError }, machine);
  session.goOnline();
  await settled();
  return { machine, sockets, session, authErrors };
};

test('writes wait for the connection and keep their order', async () => {
  const { sockets, session } = await setUp();
  const writes = [
    session.data.set(['a'], 1),
    session.data.update(['b'], { 'c/d': 2 }),
    session.data.set(['e'], null),
  ];
  assert.deepEqual(sockets[0].taken(), []);
  sockets[0].greet();
  assert.deepEqual(sockets[0].taken(), [
    [1, 'p', { p: '/a', d: 1 }],
    [2, 'm', { p: '/b', d: { 'c/d': 2 } }],
    [3, 'p', { p: '/e', d: null }],
  ]);
  for (const number of [1, 2, 3]) sockets[0].answer(number);
  await Promise.all(writes);
});

test('after a reconnect come sign-in, listens, then unanswered writes', async () => {
  const { machine, sockets, session } = await setUp('t');
  sockets[0].greet();
  await settled();
  sockets[0].answer(1);
  await settled();
  session.data.listen(
    ['a'],
    EVERYTHING,
    valueHeardBy(() => {}),
  );
  const write = session.data.set(['b'], 1);
  assert.deepEqual(
    sockets[0].taken().map(([, action]) => action),
    ['auth', 'q', 'p'],
  );
  sockets[0].drop();
  machine.advance(1000);
  sockets[1].greet();
  await settled();
  assert.deepEqual(sockets[1].taken(), [[4, 'auth', { cred: 't' }]]);
  sockets[1].answer(4);
  await settled();
  assert.deepEqual(sockets[1].taken(), [
    [5, 'q', { p: '/a', h: '' }],
    [6, 'p', { p: '/b', d: 1 }],
  ]);
  sockets[1].answer(6);
  await write;
});

test('a read returns what the server answers', async () => {
  const { sockets, session } = await setUp();
  const read = session.data.get(['a']);
  sockets[0].greet();
  assert.deepEqual(sockets[0].taken(), [[1, 'g', { p: '/a', q: {} }]]);
  sockets[0].answer(1, 'ok', { 0: 'x' });
  assert.deepEqual(toPlain(await read), ['x']);
});

test('a listener hears pushes', async () => {
  const { sockets, session } = await setUp();
  const heard = [];
  session.data.listen(
    ['a'],
    EVERYTHING,
    valueHeardBy((node) => heard.push(toPlain(node))),
  );
  sockets[0].greet();
  sockets[0].push('d', { p: 'a', d: 1 });
  sockets[0].answer(1, 'ok', {});
  sockets[0].push('m', { p: 'a', d: { x: 2 } });
  assert.deepEqual(heard, [1, { x: 2 }]);
});

test('the clock of the server makes the push ids', async () => {
  const { machine, sockets, session } = await setUp();
  sockets[0].greet('s', 1_435_000_000_000);
  assert.equal(session.data.timeOffset, 1_435_000_000_000 - machine.now());
  assert.equal(session.data.pushId(), '-JsReZs-------------');
  assert.equal(session.data.pushId(), '-JsReZs------------0');
});

test('the state is told at once and with each change', async () => {
  const { sockets, session } = await setUp();
  const states = [];
  const stop = session.onState(({ state }) => states.push(state));
  assert.deepEqual(states, []);
  await settled();
  sockets[0].greet();
  stop();
  session.goOffline();
  assert.deepEqual(states, ['connecting', 'online']);
});

test('a refused text token is reported, and the session goes on as nobody', async () => {
  const { machine, sockets, session, authErrors } = await setUp('bad');
  const write = session.data.set(['a'], 1);
  sockets[0].greet();
  await settled();
  sockets[0].answer(1, 'invalid_token', 'Could not parse auth token.');
  await settled();
  assert.deepEqual(authErrors, ['INVALID_TOKEN']);
  sockets[0].answer(2, 'permission_denied', 'Permission denied');
  await assert.rejects(write, { code: 'PERMISSION_DENIED' });
  sockets[0].drop();
  machine.advance(1000);
  sockets[1].greet();
  assert.deepEqual(sockets[1].taken(), []);
});

test('a token that can be fetched anew is fetched for each connection', async () => {
  const tokens = ['old', 'new'];
  const { machine, sockets, authErrors } = await setUp(async () => tokens.shift());
  sockets[0].greet();
  await settled();
  assert.deepEqual(sockets[0].taken(), [[1, 'auth', { cred: 'old' }]]);
  sockets[0].answer(1, 'expired_token', 'Auth token is expired.');
  await settled();
  assert.deepEqual(authErrors, ['EXPIRED_TOKEN']);
  machine.advance(1000);
  sockets[1].greet();
  await settled();
  assert.deepEqual(sockets[1].taken(), [[2, 'auth', { cred: 'new' }]]);
});

test('no write is judged while the token is still being fetched', async () => {
  let give;
  const { machine, sockets, session } = await setUp(
    () =>
      new Promise((resolve) => {
        give = resolve;
      }),
  );
  session.data.set(['a'], 1);
  sockets[0].greet();
  await settled();
  assert.deepEqual(sockets[0].taken(), []);
  sockets[0].drop();
  machine.advance(1000);
  give('late');
  await settled();
  assert.deepEqual(sockets[1].taken(), [], 'the answer of a connection that is gone');
});

test('why something is denied is warned of, where the server tells', async (context) => {
  const warn = context.mock.method(console, 'warn', () => {});
  const { sockets } = await setUp();
  sockets[0].greet();
  sockets[0].push('sd', { msg: 'DENIED set /a\n  no rule grants it' });
  const said = warn.mock.calls.map(({ arguments: [text] }) => text);
  assert.deepEqual(said, ['treedb: DENIED set /a\n  no rule grants it']);
});

test('a token revoked by the server leads to a new connection', async () => {
  const { machine, sockets, authErrors } = await setUp(() => 't');
  sockets[0].greet();
  await settled();
  sockets[0].answer(1);
  await settled();
  sockets[0].push('ac', { s: 'expired_token', d: 'Auth token is expired.' });
  assert.deepEqual(authErrors, ['EXPIRED_TOKEN']);
  assert.equal(sockets[0].isClosed, true);
  machine.advance(1000);
  sockets[1].greet();
  await settled();
  assert.deepEqual(sockets[1].taken(), [[2, 'auth', { cred: 't' }]]);
});

test('signing in and out works on a live connection', async () => {
  const { sockets, session } = await setUp();
  sockets[0].greet();
  const signedIn = session.signIn('t');
  await settled();
  sockets[0].answer(1);
  await signedIn;
  const signedOut = session.signIn(null);
  await settled();
  sockets[0].answer(2, 'ok', 'unauthenticated');
  await signedOut;
  assert.deepEqual(sockets[0].taken(), [
    [1, 'auth', { cred: 't' }],
    [2, 'unauth', {}],
  ]);
});

test('a token that changes while another is being fetched wins', async () => {
  let give;
  const { sockets, session } = await setUp(
    () =>
      new Promise((resolve) => {
        give = resolve;
      }),
  );
  sockets[0].greet();
  await settled();
  session.signIn('second');
  await settled();
  give('first');
  await settled();
  const credentials = sockets[0].taken().map(([, , body]) => body.cred);
  assert.deepEqual([...new Set(credentials)], ['second']);
});

test('closing rejects what waits and refuses what comes', async () => {
  const { machine, sockets, session } = await setUp();
  sockets[0].greet();
  const write = session.data.set(['a'], 1);
  session.close();
  await assert.rejects(write, { code: 'CLOSED' });
  await assert.rejects(session.data.get(['a']), { code: 'CLOSED' });
  assert.throws(
    () =>
      session.data.listen(
        ['a'],
        EVERYTHING,
        valueHeardBy(() => {}),
      ),
    { code: 'CLOSED' },
  );
  assert.equal(machine.timers, 0);
});
