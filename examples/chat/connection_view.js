/** The state of the connection, in a few quiet words. */

import { find, setText } from './dom.js';

const PATIENCE_MS = 1500; // a reconnect that takes less is not worth a word

export class ConnectionView {
  #label = find('#connection');
  #note = find('#offline-note');
  #state = { state: 'connecting', retryAt: null };
  #troubleSince = Date.now();

  /** @param {{state: string, retryAt: number | null}} state */
  take(state) {
    if (state.state === 'online') this.#troubleSince = null;
    else this.#troubleSince ??= Date.now();
    this.#state = state;
    this.show();
    if (this.#troubleSince !== null) setTimeout(() => this.show(), PATIENCE_MS);
  }

  /** Show the state as it is by now: while waiting, the seconds count down. */
  show() {
    const { state } = this.#state;
    const isTrouble = this.#troubleSince !== null && Date.now() - this.#troubleSince >= PATIENCE_MS;
    this.#label.dataset.state = state;
    setText(this.#label, LABELS[state](this.#secondsLeft()));
    this.#note.hidden = !isTrouble;
    const note = 'No connection. You can go on writing: it is sent as soon as we are back.';
    setText(this.#note, isTrouble ? note : '');
  }

  #secondsLeft() {
    return Math.max(0, Math.ceil(((this.#state.retryAt ?? 0) - Date.now()) / 1000));
  }
}

const LABELS = {
  connecting: () => 'Connecting…',
  online: () => 'Connected',
  waiting: (seconds) => (seconds < 2 ? 'Reconnecting…' : `Reconnecting in ${seconds} s`),
  offline: () => 'Offline',
  closed: () => 'Disconnected',
};
