/**
 * The chat's data, flat: what is read together lies together, and nothing else does.
 *
 *     /rooms/<room>              name, created, count of messages, a few words of the last one
 *     /members/<room>/<uid>      name, joined
 *     /messages/<room>/<push id> sender (uid), name, message, timestamp
 *
 * The list of rooms costs a few bytes a room, however much was written in them. What is stored
 * twice (the last message, the count) is written in one update with the message itself.
 */

import { increment, serverTimestamp } from '/.client/index.js';
import { preview } from './format.js';

const PREVIEW_LENGTH = 80;
const PUSH_ALPHABET = '-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz';
const PUSH_ID = /^[-\w]{20}$/;

/** @typedef {{id: string, name: string, created: number, count: number, last: Last | null}} Room */
/** @typedef {{sender: string, name: string, text: string, at: number}} Last */
/** @typedef {{uid: string, name: string, joined: number | null}} Member */

export class Model {
  #database;

  /** @param {import('/.client/index.js').Database} database */
  constructor(database) {
    this.#database = database;
  }

  /** The server's time, as well as we know it. */
  now() {
    return Date.now() + this.#database.serverTimeOffset;
  }

  /**
   * @param {(rooms: Room[]) => void} callback
   * @param {(error: Error) => void} onRefused the server does not let us look, or no longer
   */
  onRooms(callback, onRefused) {
    return this.#database.ref('/rooms').onValue((snapshot) => {
      callback([...snapshot].map(readRoom));
    }, onRefused);
  }

  /** @param {(members: Member[]) => void} callback */
  onMembers(room, callback, onRefused) {
    return this.#place('members', room).onValue((snapshot) => {
      callback([...snapshot].map(readMember));
    }, onRefused);
  }

  /** @param {(messages: import('./timeline.js').Message[]) => void} callback */
  onMessages(room, callback, onRefused) {
    return this.#place('messages', room).onValue((snapshot) => {
      callback([...snapshot].map(readMessage).filter((message) => message !== null));
    }, onRefused);
  }

  async createRoom(id, name) {
    await this.#place('rooms', id).update({ name, created: serverTimestamp() });
  }

  async join(room, me) {
    await this.#place('members', room).child(me.uid).set(newMember(me.name));
  }

  /** Change one's name in all of these rooms that one is a member of, at once. */
  async rename(rooms, { uid, name }) {
    const places = rooms.map((room) => `${room}/${uid}/name`);
    const names = await Promise.all(
      places.map((place) => this.#database.ref('/members').child(place).get()),
    );
    const standing = places.filter((_, index) => names[index].exists());
    if (standing.length === 0) return;
    const changes = Object.fromEntries(standing.map((place) => [place, name]));
    await this.#database.ref('/members').update(changes);
  }

  newMessageId(room) {
    return this.#place('messages', room).push().key;
  }

  /**
   * Send a message: itself, the room's count and its last words, in one step; if need be also the
   * room, and its writer's coming in.
   *
   * @param {Room} room
   * @param {{isNewRoom: boolean, isMember: boolean}} standing
   * @param {{id: string, sender: string, name: string, text: string}} message
   */
  async send(room, { isNewRoom, isMember }, { id, sender, name, text }) {
    const timestamp = serverTimestamp();
    const last = { sender, name, message: preview(text, PREVIEW_LENGTH), timestamp };
    const made = { [`rooms/${room.id}/name`]: room.name, [`rooms/${room.id}/created`]: timestamp };
    await this.#database.ref('/').update({
      ...(isNewRoom ? made : {}),
      ...(isMember ? {} : { [`members/${room.id}/${sender}`]: newMember(name) }),
      [`messages/${room.id}/${id}`]: { sender, name, message: text, timestamp },
      [`rooms/${room.id}/count`]: increment(1),
      [`rooms/${room.id}/last`]: last,
    });
  }

  #place(kind, room) {
    return this.#database.ref(`/${kind}`).child(room);
  }
}

function newMember(name) {
  return { name, joined: serverTimestamp() };
}

// Anybody may write anything into an open database: what is read is checked.

function readRoom(snapshot) {
  const last = snapshot.child('last');
  return {
    id: snapshot.key,
    name: text(snapshot.child('name').val()) ?? snapshot.key,
    created: number(snapshot.child('created').val()) ?? 0,
    count: number(snapshot.child('count').val()) ?? 0,
    last: last.exists() ? readLast(last) : null,
  };
}

function readLast(snapshot) {
  return {
    sender: text(snapshot.child('sender').val()) ?? '',
    name: text(snapshot.child('name').val()) ?? '',
    text: text(snapshot.child('message').val()) ?? '',
    at: number(snapshot.child('timestamp').val()) ?? 0,
  };
}

function readMember(snapshot) {
  return {
    uid: snapshot.key,
    name: text(snapshot.child('name').val()) ?? snapshot.key,
    joined: number(snapshot.child('joined').val()),
  };
}

function readMessage(snapshot) {
  const words = text(snapshot.child('message').val()) ?? text(snapshot.val());
  if (words === null) return null;
  const sender = text(snapshot.child('sender').val()) ?? 'somebody';
  return {
    id: snapshot.key,
    sender,
    name: text(snapshot.child('name').val()) ?? (sender === 'somebody' ? 'Somebody' : sender),
    text: words,
    at: number(snapshot.child('timestamp').val()) ?? timeOf(snapshot.key),
    state: 'sent',
  };
}

function text(value) {
  return typeof value === 'string' && value.trim() !== '' ? value : null;
}

function number(value) {
  return typeof value === 'number' ? value : null;
}

/** A push id tells when it was made. */
function timeOf(key) {
  if (!PUSH_ID.test(key)) return null;
  return [...key.slice(0, 8)].reduce((time, digit) => time * 64 + PUSH_ALPHABET.indexOf(digit), 0);
}
