/** A database on a fake machine and fake sockets, and what is heard from it. */

import { openDatabase } from '../database.js';
import { FakeMachine, settled } from './fake_machine.js';
import { fakeSockets } from './fake_socket.js';

export const DENIED = ['permission_denied', 'Permission denied'];

/** A database whose first connection was greeted; reconnect() makes the next one. */
export async function opened() {
  const machine = new FakeMachine();
  const { FakeSocket, sockets } = fakeSockets();
  const database = openDatabase('http://h:1', { WebSocket: FakeSocket }, machine);
  const greet = async () => {
    await settled();
    sockets.at(-1).greet('session', machine.now());
  };
  const reconnect = async () => {
    await settled();
    while (sockets.at(-1).isClosed) machine.advance(1000);
    await greet();
  };
  await greet();
  return {
    machine,
    database,
    reconnect,
    socket: () => sockets.at(-1),
    sent: () => sockets.at(-1).taken(),
  };
}

/** Listen to values; returns the list of what is heard. */
export function heardFrom(query) {
  const heard = [];
  query.onValue(
    (snapshot) => heard.push(snapshot.val()),
    (error) => heard.push(error.code),
  );
  return heard;
}
