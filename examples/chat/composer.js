/** Where one writes: Enter sends, Shift + Enter starts a new line, the box grows with the text. */

import { find } from './dom.js';

const MAX_HEIGHT_PX = 180;

export class Composer {
  #form = find('#composer');
  #input = find('#composer-input');
  #send = find('#send');
  #drafts = new Map();
  #roomId = null;

  /** @param {(text: string) => void} onSend */
  constructor(onSend) {
    this.#form.addEventListener('submit', (event) => {
      event.preventDefault();
      this.#submit(onSend);
    });
    this.#input.addEventListener('keydown', (event) => {
      // Enter also chooses a word in an input method: that one is not ours.
      if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.#submit(onSend);
    });
    this.#input.addEventListener('input', () => this.#fit());
  }

  /** Turn to a room; what was begun in another stays there. */
  turnTo(roomId, roomName) {
    this.#form.hidden = roomId === null;
    this.#input.placeholder = `Message ${roomName}`;
    if (roomId === this.#roomId) return;
    if (this.#roomId !== null) this.#drafts.set(this.#roomId, this.#input.value);
    this.#roomId = roomId;
    this.#input.value = this.#drafts.get(roomId) ?? '';
    this.#fit();
  }

  focus() {
    this.#input.focus({ preventScroll: true });
  }

  #submit(onSend) {
    // Half of a surrogate pair, as a cut emoji leaves behind, is no text a database takes.
    const text = this.#input.value.replace(/\p{Surrogate}/gu, '\ufffd').trim();
    if (text === '') return;
    this.#input.value = '';
    this.#fit();
    this.focus();
    onSend(text);
  }

  #fit() {
    this.#send.disabled = this.#input.value.trim() === '';
    this.#input.style.height = 'auto';
    this.#input.style.height = `${Math.min(this.#input.scrollHeight, MAX_HEIGHT_PX)}px`;
  }
}
