/** Messages of one's own that the server has not acknowledged yet, by room. */

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

  /** Send a new message; it shows as pending until the server has it. */
  send(room, isNewRoom, me, text) {
    const id = this.#model.newMessageId(room.id);
    const at = this.#model.now();
    const message = { id, sender: me.uid, name: me.name, text, at, state: 'pending' };
    this.#attempt({ room, isNewRoom, message });
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
    const { id } = entry.message;
    this.#put(id, entry, 'pending');
    try {
      await this.#model.send(entry.room, entry.isNewRoom, entry.message);
      this.#waiting.delete(id);
      this.#onChange();
    } catch (error) {
      console.warn(error.message);
      this.#put(id, entry, 'failed');
    }
  }

  #put(id, entry, state) {
    this.#waiting.set(id, { ...entry, message: { ...entry.message, state } });
    this.#onChange();
  }
}
