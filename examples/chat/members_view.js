/** Who is in the room: a panel at the side, or a drawer where there is no room for one. */

import { makeAvatar, showAvatar } from './avatar.js';
import { element, find, reconcile, setText } from './dom.js';
import { longAgo } from './format.js';

const FACES = 3;

export class MembersView {
  #app = find('#app');
  #list = find('#members');
  #count = find('#members-count');
  #button = find('#members-button');
  #faces = find('#faces');
  #close = find('#members-close');

  constructor() {
    this.#button.addEventListener('click', () => this.#setOpen(!this.#isOpen()));
    this.#close.addEventListener('click', () => this.close());
    find('#veil').addEventListener('click', () => this.close());
    document.addEventListener('keydown', (event) => {
      if (event.key === 'Escape' && this.#isOpen()) this.close();
    });
  }

  close() {
    if (!this.#isOpen()) return;
    this.#setOpen(false);
    this.#button.focus();
  }

  /**
   * @param {readonly import('./model.js').Member[]} members
   * @param {Map<string, number>} lastWrote uid to time
   * @param {{uid: string, now: number}} reader
   */
  show(members, lastWrote, reader) {
    const sorted = sortMembers(members, lastWrote, reader.uid);
    setText(this.#count, members.length === 0 ? '' : String(members.length));
    this.#button.setAttribute('aria-label', `Members (${members.length})`);
    reconcile(this.#list, sorted, {
      keyOf: (member) => member.uid,
      create: createMember,
      update: (item, member) => updateMember(item, member, lastWrote.get(member.uid), reader),
    });
    reconcile(this.#faces, sorted.slice(0, FACES), {
      keyOf: (member) => member.uid,
      create: makeAvatar,
      update: (avatar, member) => showAvatar(avatar, member.uid, member.name),
    });
  }

  #isOpen() {
    return this.#app.dataset.members === 'open';
  }

  #setOpen(isOpen) {
    this.#app.dataset.members = isOpen ? 'open' : 'closed';
    this.#button.setAttribute('aria-expanded', String(isOpen));
    if (isOpen) this.#close.focus();
  }
}

function sortMembers(members, lastWrote, uid) {
  const rank = (member) => (member.uid === uid ? Infinity : (lastWrote.get(member.uid) ?? 0));
  return [...members].sort((a, b) => rank(b) - rank(a) || a.name.localeCompare(b.name));
}

function createMember() {
  const words = element('span', { class: 'member-words' });
  words.append(
    element('span', { class: 'member-name' }),
    element('span', { class: 'member-note' }),
  );
  return element('li', { class: 'member', 'data-test': 'member' }, makeAvatar(), words);
}

function updateMember(item, member, wroteAt, { uid, now }) {
  const [avatar, words] = item.children;
  showAvatar(avatar, member.uid, member.name);
  setText(words.children[0], member.name);
  const isMe = member.uid === uid;
  item.classList.toggle('is-me', isMe);
  setText(words.children[1], isMe ? 'you' : memberNote(member, wroteAt, now));
}

function memberNote(member, wroteAt, now) {
  if (wroteAt !== undefined) return `wrote ${longAgo(wroteAt, now)}`;
  return member.joined === null ? 'reads along' : `joined ${longAgo(member.joined, now)}`;
}
