/** Places that are kept up to date although perhaps nobody listens to them. */

import { idOf } from './listen.js';

export class KeptPlaces {
  #listen;
  #kept = new Map();

  /** @param {import('./places.js').Places['listen']} listen */
  constructor(listen) {
    this.#listen = listen;
  }

  /**
   * Keep a selection of a place, or no longer.
   *
   * @param {readonly string[]} keys
   * @param {import('./selection.js').Selection} selection
   * @param {boolean} isOn
   */
  keep(keys, selection, isOn) {
    const id = idOf(keys, selection);
    if (isOn === this.#kept.has(id)) return;
    if (isOn) this.#kept.set(id, this.#listen(keys, selection, this.#registration(id)));
    else {
      this.#kept.get(id)();
      this.#kept.delete(id);
    }
  }

  #registration(id) {
    const onError = (error) => {
      this.#kept.delete(id);
      console.warn(`treedb: no longer kept: ${error.message}`);
    };
    return { event: 'value', onNews: () => {}, onError, isOurs: true };
  }
}
