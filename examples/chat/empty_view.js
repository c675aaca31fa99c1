/** What stands where messages would stand: an invitation. */

import { find, setText } from './dom.js';

export class EmptyView {
  #box = find('#empty');
  #title = find('#empty-title');
  #text = find('#empty-text');
  #actions = find('#empty-actions');

  /**
   * @param {readonly object[] | null} rooms null while they are not known yet
   * @param {{name: string} | null} room the open one
   * @param {readonly object[] | null} messages null while they are not known yet
   * @param {string | null} problem why nothing can be seen, as a sentence
   */
  show(rooms, room, messages, problem) {
    const kind = kindOf(rooms, room, messages, problem);
    this.#box.hidden = kind === null;
    this.#box.dataset.kind = kind ?? '';
    if (kind === null) return;
    const [title, text] = WORDS[kind](room, problem);
    setText(this.#title, title);
    setText(this.#text, text);
    this.#actions.hidden = kind !== 'no-rooms';
  }
}

function kindOf(rooms, room, messages, problem) {
  if (problem !== null) return (messages ?? []).length === 0 ? 'denied' : null;
  if (room !== null) return messages?.length === 0 ? 'no-messages' : null;
  if (rooms === null) return 'loading';
  return rooms.length === 0 ? 'no-rooms' : 'no-choice';
}

const WORDS = {
  denied: (_, problem) => ['This door is locked', problem],
  loading: () => ['One moment', 'The rooms appear as soon as the server answers.'],
  'no-rooms': () => [
    'It is quiet up here',
    'Rooms are where people talk. Make the first one, then send its address to a friend.',
  ],
  'no-choice': () => ['Choose a room', 'Or make a new one with the plus above the list.'],
  'no-messages': ({ name }) => [
    `This is where ${name} begins`,
    'Say hello. Whoever comes in later will read it too.',
  ],
};
