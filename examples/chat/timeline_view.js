/** The messages of a room, as a list of days, lines and bubbles. */

import { makeAvatar, showAvatar } from './avatar.js';
import { element, find, reconcile, setText } from './dom.js';
import { fullTime, hueOf, isOnlyEmoji, messageTime, splitLinks } from './format.js';

export class TimelineView {
  #list = find('#timeline');

  /** @param {(messageId: string) => void} onRetry */
  constructor(onRetry) {
    this.#list.addEventListener('click', (event) => {
      const button = event.target.closest('button.retry');
      if (button !== null) onRetry(button.closest('li').dataset.key);
    });
  }

  /**
   * @param {ReturnType<import('./timeline.js').arrange>} items
   * @param {{now: number, nameOf: (message: object) => string}} context
   */
  show(items, context) {
    reconcile(this.#list, items, {
      keyOf: (item) => item.key,
      create: (item) => CREATE[item.kind](),
      update: (made, item) => UPDATE[item.kind](made, item, context),
    });
  }
}

const CREATE = {
  day: () => element('li', { class: 'day' }, element('span')),
  unread: () => element('li', { class: 'day unread-line' }, element('span', {}, 'New')),
  message: createMessage,
};

const UPDATE = {
  day: (made, { label }) => setText(made.firstElementChild, label),
  unread: () => {},
  message: updateMessage,
};

function createMessage() {
  const head = element('p', { class: 'message-head' }, element('span', { class: 'message-name' }));
  const text = element('p', { 'data-test': 'message-text', dir: 'auto' });
  const bubble = element('div', { class: 'bubble' }, text);
  const note = element('span', { 'data-test': 'message-note' });
  const foot = element('p', { class: 'message-foot' }, element('time'), note);
  const body = element('div', { class: 'message-body' }, head, bubble, foot);
  return element('li', { class: 'message', 'data-test': 'message' }, makeAvatar(), body);
}

function updateMessage(made, { message, isOwn, startsGroup, endsGroup }, { now, nameOf }) {
  const [avatar, body] = made.children;
  const [head, bubble, foot] = body.children;
  const name = nameOf(message);
  const isLarge = isOnlyEmoji(message.text);
  const classes = { own: isOwn, starts: startsGroup, ends: endsGroup, large: isLarge };
  for (const [className, isOn] of Object.entries(classes)) made.classList.toggle(className, isOn);
  made.dataset.state = message.state;
  made.style.setProperty('--hue', String(hueOf(message.sender)));
  showAvatar(avatar, message.sender, name);
  setText(head.firstElementChild, name);
  showText(bubble.firstElementChild, message.text);
  bubble.title = message.at === null ? '' : fullTime(message.at);
  showFoot(foot, message, now);
}

function showText(target, text) {
  if (target.textContent === text) return;
  const parts = splitLinks(text).map((part) => (part.isLink ? makeLink(part.text) : part.text));
  target.replaceChildren(...parts);
}

function makeLink(address) {
  const attributes = { href: address, target: '_blank', rel: 'noopener noreferrer nofollow' };
  return element('a', attributes, address);
}

function showFoot(foot, message, now) {
  const [time, note] = foot.children;
  const showsTime = message.state === 'sent' && message.at !== null;
  setText(time, showsTime ? messageTime(message.at, now) : '');
  if (message.at !== null) time.dateTime = new Date(message.at).toISOString();
  const shown = `${message.state} ${message.problem ?? ''}`;
  if (note.dataset.shown === shown) return;
  note.dataset.shown = shown;
  note.replaceChildren(...NOTES[message.state](message));
}

const NOTES = {
  sent: () => [],
  pending: () => ['Sending…'],
  failed: ({ problem }) => [
    `Not sent: ${problem}. `,
    element('button', { type: 'button', class: 'retry' }, 'Try again'),
  ],
};
