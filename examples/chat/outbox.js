/** Messages of one's own that the server has not acknowledged yet, by room. */

import { whyRefused } from './refusal.js';

export class Outbox {
  #waiting = new Map();
  #model;
  #onChange;

  /**
   * @param {import('./model.js').Model} model
   * @param {() => void} onChange
   */
  constructor(model, onChange) {
    this.#model = model;
    this.#onChange = onChange;
  }

  /**
   * Send a new message; it shows as pending until the server has it.
   *
   * @param {import('./model.js').Room} room
   * @param {() => {isNewRoom: boolean, isMember: boolean}} standing asked anew for each attempt
   * @param {{uid: string, name: string}} me
   * @param {string} text
   */
  send(room, standing, me, text) {
    const id = this.#model.newMessageId(room.id);
    const at = this.#model.now();
    const message = { id, sender: me.uid, name: me.name, text, at, state: 'pending' };
    this.#attempt({ room, standing, message });
  }

  /** Send a message again that was refused. */
  retry(id) {
    const entry = this.#waiting.get(id);
    if (entry?.message.state === 'failed') this.#attempt(entry);
  }

  /** Return the messages of a room, those of the server first, then what is still on its way. */
  merge(roomId, messages) {
    const known = new Set(messages.map(({ id }) => id));
    const mine = [...this.#waiting.values()].filter(
      ({ room, message }) => room.id === roomId && !known.has(message.id),
    );
    const merged = messages.map((message) => {
      // The data comes just before its acknowledgement: pending until that is here too.
      const isWaiting = this.#waiting.get(message.id)?.message.state === 'pending';
      return isWaiting ? { ...message, state: 'pending' } : message;
    });
    return [...merged, ...mine.map(({ message }) => message)];
  }

  async #attempt(entry) {
    const { room, message } = entry;
    this.#put(entry, { state: 'pending' });
    const standing = entry.standing();
    try {
      await this.#model.send(room, standing, message);
      this.#waiting.delete(message.id);
      this.#onChange();
    } catch (error) {
      console.warn(error.message);
      // Somebody made the room just before us: then it is there, and needs only the message.
      if (standing.isNewRoom && !entry.standing().isNewRoom) this.#attempt(entry);
      else this.#put(entry, { state: 'failed', problem: whyRefused(error) });
    }
  }

  #put(entry, news) {
    const message = { ...entry.message, ...news };
    this.#waiting.set(message.id, { ...entry, message });
    this.#onChange();
  }
}
