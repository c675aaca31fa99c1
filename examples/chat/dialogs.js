/** The two questions the chat asks: what is your name, what shall the room be called. */

import { find } from './dom.js';
import { roomIdOf } from './format.js';
import { cleanName } from './identity.js';

export class NameDialog {
  #dialog = find('#name-dialog');
  #input = find('#name-input');
  #title = find('#name-title');
  #text = find('#name-text');
  #submit = find('#name-submit');
  #cancel = find('#name-cancel');
  #isFirst = false;

  /** @param {(name: string) => void} onName */
  constructor(onName) {
    find('#name-form').addEventListener('submit', (event) => {
      event.preventDefault();
      const name = cleanName(this.#input.value);
      if (name === '') return;
      this.#isFirst = false;
      this.#dialog.close();
      onName(name);
    });
    this.#cancel.addEventListener('click', () => this.#dialog.close());
    // Without a name nobody can write: Escape does not lead past the first question.
    this.#dialog.addEventListener('close', () => {
      if (this.#isFirst) this.#dialog.showModal();
    });
  }

  /** @param {string | null} name the present one; null at the first visit */
  ask(name) {
    this.#isFirst = name === null;
    this.#dialog.classList.toggle('first', this.#isFirst);
    this.#title.textContent = this.#isFirst ? 'Welcome to the Treehouse' : 'Change your name';
    this.#text.textContent = this.#isFirst
      ? 'What shall people call you?'
      : 'It changes for everybody, also at what you wrote before.';
    this.#submit.textContent = this.#isFirst ? 'Come in' : 'Save';
    this.#cancel.hidden = this.#isFirst;
    this.#input.value = name ?? '';
    this.#dialog.showModal();
    this.#input.focus();
    this.#input.select();
  }
}

export class RoomDialog {
  #dialog = find('#room-dialog');
  #input = find('#room-input');
  #problem = find('#room-problem');

  /** @param {(name: string) => void} onRoom */
  constructor(onRoom) {
    find('#room-form').addEventListener('submit', (event) => {
      event.preventDefault();
      const name = cleanName(this.#input.value);
      if (roomIdOf(name) === '') {
        this.#problem.textContent = 'A name needs at least one letter or digit.';
        return;
      }
      this.#dialog.close();
      onRoom(name);
    });
    this.#input.addEventListener('input', () => {
      this.#problem.textContent = '';
    });
    find('#room-cancel').addEventListener('click', () => this.#dialog.close());
  }

  ask() {
    this.#input.value = '';
    this.#problem.textContent = '';
    this.#dialog.showModal();
    this.#input.focus();
  }
}
