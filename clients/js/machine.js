/** The only place that asks the machine for time, chance and news of the network. */

/**
 * @typedef {object} Machine
 * @property {() => number} now milliseconds since 1970
 * @property {(callback: () => void, ms: number) => unknown} setTimer
 * @property {(timer: unknown) => void} clearTimer
 * @property {() => number} random from 0 to 1
 * @property {(count: number) => number[]} randomDigits numbers from 0 to 63
 * @property {(network: Network) => () => void} watchNetwork returns a function that ends the watch
 */

/**
 * @typedef {object} Network
 * @property {() => void} onAwake the page became visible or the machine came back online
 * @property {() => void} onOffline the machine lost its network
 */

/** @type {Machine} */
export const SYSTEM = Object.freeze({
  now: () => Date.now(),
  setTimer: (callback, ms) => setTimeout(callback, ms),
  clearTimer: (timer) => clearTimeout(timer),
  random: () => Math.random(),
  randomDigits: (count) => {
    const bytes = globalThis.crypto.getRandomValues(new Uint8Array(count));
    return Array.from(bytes, (byte) => byte & 63);
  },
  watchNetwork,
});

function watchNetwork({ onAwake, onOffline }) {
  const { document } = globalThis;
  if (document === undefined) return () => {}; // no page: Node has no such news
  const onVisibility = () => {
    if (!document.hidden) onAwake();
  };
  document.addEventListener('visibilitychange', onVisibility);
  globalThis.addEventListener('online', onAwake);
  globalThis.addEventListener('offline', onOffline);
  return () => {
    document.removeEventListener('visibilitychange', onVisibility);
    globalThis.removeEventListener('online', onAwake);
    globalThis.removeEventListener('offline', onOffline);
  };
}
