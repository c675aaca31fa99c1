/** The list of rooms: name, last words, time, and how much was not read yet. */

import { element, find, reconcile, setText } from './dom.js';
import { hueOf, initials, shortTime } from './format.js';

/**
 * @typedef {object} Row
 * @property {import('./model.js').Room} room
 * @property {number} unread
 * @property {boolean} isOpen
 * @property {string} href
 */

export class RoomsView {
  #list = find('#rooms');
  #empty = find('#rooms-empty');

  /** @param {(roomId: string) => void} onOpen */
  constructor(onOpen) {
    this.#list.addEventListener('click', (event) => {
      const link = event.target.closest('a');
      const isPlain = !event.metaKey && !event.ctrlKey && !event.shiftKey && event.button === 0;
      if (link === null || !isPlain) return; // a new tab is the browser's business
      event.preventDefault();
      onOpen(link.dataset.room);
    });
  }

  /**
   * @param {readonly Row[] | null} rows null while they are not known yet
   * @param {{uid: string, now: number}} reader
   */
  show(rows, reader) {
    this.#empty.hidden = rows === null || rows.length > 0;
    reconcile(this.#list, rows ?? [], {
      keyOf: (row) => row.room.id,
      create,
      update: (item, row) => update(item, row, reader),
    });
  }
}

function create() {
  const link = element('a', { class: 'room', 'data-test': 'room' });
  const first = element('span', { class: 'room-line' });
  first.append(element('span', { class: 'room-name' }), element('time', { class: 'room-time' }));
  const second = element('span', { class: 'room-line' });
  const badge = element('span', { class: 'badge', 'data-test': 'unread' });
  second.append(element('span', { class: 'room-last' }), badge);
  const words = element('span', { class: 'room-words' }, first, second);
  link.append(element('span', { class: 'tile', 'aria-hidden': 'true' }), words);
  return element('li', {}, link);
}

function update(item, { room, unread, isOpen, href }, { now, uid }) {
  const link = item.firstElementChild;
  const [tile, words] = link.children;
  const [name, time, last, badge] = [...words.children].flatMap((line) => [...line.children]);
  link.href = href;
  link.dataset.room = room.id;
  link.classList.toggle('unread', unread > 0);
  if (isOpen) link.setAttribute('aria-current', 'page');
  else link.removeAttribute('aria-current');
  tile.style.setProperty('--hue', String(hueOf(room.id)));
  setText(tile, initials(room.name));
  setText(name, room.name);
  setText(time, room.last === null ? '' : shortTime(room.last.at, now));
  setText(last, lastWords(room.last, uid));
  badge.hidden = unread === 0;
  setText(badge, unread > 99 ? '99+' : String(unread));
  badge.setAttribute('aria-label', `${unread} unread`);
}

function lastWords(last, uid) {
  if (last === null) return 'Nothing said yet';
  return `${last.sender === uid ? 'You' : last.name}: ${last.text}`;
}
