import assert from 'node:assert/strict';
import { test } from 'node:test';

import { SYSTEM } from '../machine.js';

test('random digits are base 64 and fill the range', () => {
  const digits = SYSTEM.randomDigits(10_000);
  assert.equal(digits.length, 10_000);
  assert.equal(new Set(digits).size, 64);
  assert.ok(digits.every((digit) => Number.isInteger(digit) && digit >= 0 && digit < 64));
});

test('without a page there is no network news', () => {
  assert.doesNotThrow(SYSTEM.watchNetwork({ onAwake: () => {}, onOffline: () => {} }));
});

test('a page tells when it is seen again and when the network comes and goes', (context) => {
  const page = new EventTarget();
  const window = new EventTarget();
  page.hidden = true;
  globalThis.document = page;
  globalThis.addEventListener = window.addEventListener.bind(window);
  globalThis.removeEventListener = window.removeEventListener.bind(window);
  context.after(() => {
    for (const name of ['document', 'addEventListener', 'removeEventListener']) {
      delete globalThis[name];
    }
  });
  const heard = [];
  const stop = SYSTEM.watchNetwork({
    onAwake: () => heard.push('awake'),
    onOffline: () => heard.push('offline'),
  });
  page.dispatchEvent(new Event('visibilitychange'));
  page.hidden = false;
  page.dispatchEvent(new Event('visibilitychange'));
  window.dispatchEvent(new Event('offline'));
  window.dispatchEvent(new Event('online'));
  stop();
  window.dispatchEvent(new Event('online'));
  page.dispatchEvent(new Event('visibilitychange'));
  assert.deepEqual(heard, ['awake', 'offline', 'awake']);
});
