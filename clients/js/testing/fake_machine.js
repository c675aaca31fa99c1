/** A machine whose clock, chance and network a test decides. */

export class FakeMachine {
  #time = 1_700_000_000_000;
  #timers = new Map();
  #lastTimer = 0;
  /** What random() returns. */
  chance = 1;
  /** The networks being watched. */
  watched = new Set();

  now = () => this.#time;

  random = () => this.chance;

  randomDigits = (count) => Array.from({ length: count }, () => 0);

  setTimer = (callback, ms) => {
    this.#lastTimer += 1;
    this.#timers.set(this.#lastTimer, { callback, due: this.#time + ms });
    return this.#lastTimer;
  };

  clearTimer = (timer) => {
    this.#timers.delete(timer);
  };

  watchNetwork = (network) => {
    this.watched.add(network);
    return () => this.watched.delete(network);
  };

  get timers() {
    return this.#timers.size;
  }

  /** Let time pass, ringing every timer that falls due, in order. */
  advance(ms) {
    const end = this.#time + ms;
    for (let next = this.#next(end); next !== null; next = this.#next(end)) {
      const [timer, { callback, due }] = next;
      this.#time = due;
      this.#timers.delete(timer);
      callback();
    }
    this.#time = end;
  }

  awake() {
    for (const network of [...this.watched]) network.onAwake();
  }

  offline() {
    for (const network of [...this.watched]) network.onOffline();
  }

  #next(end) {
    const due = [...this.#timers].filter(([, timer]) => timer.due <= end);
    due.sort(([, a], [, b]) => a.due - b.due);
    return due[0] ?? null;
  }
}

/** Wait until every promise that can settle has. */
export function settled() {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
