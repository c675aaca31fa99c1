/** The address of the page names the room: it can be bookmarked, shared and gone back to. */

import { roomIdOf } from './format.js';

const MAX_ID_LENGTH = 200;
const FORBIDDEN = /[.#$[\]/\u0000-\u001f\u007f]/;

/** @returns {string | null} the id of the room the address names */
export function currentRoom() {
  const asked = new URLSearchParams(location.search).get('room') ?? '';
  // An address can hold anything; what cannot be a key is taken for a room's name.
  const isId = asked.length <= MAX_ID_LENGTH && !FORBIDDEN.test(asked);
  if (asked.trim() === '') return null;
  return (isId ? asked : roomIdOf(asked)) || null;
}

/**
 * Return the address of a room; everything else in the address stays.
 *
 * @param {string | null} roomId null for the list
 */
export function hrefOf(roomId) {
  const parameters = new URLSearchParams(location.search);
  if (roomId === null) parameters.delete('room');
  else parameters.set('room', roomId);
  const query = parameters.toString();
  return query === '' ? location.pathname : `?${query}`;
}

/** @param {string | null} roomId */
export function goTo(roomId, { replace = false } = {}) {
  if (replace) history.replaceState(null, '', hrefOf(roomId));
  else history.pushState(null, '', hrefOf(roomId));
}
