/**
 * From messages to what stands in the list: days, groups, the line above what is new.
 *
 * Messages of one person within five minutes form a group: the name stands above the first, and
 * the bubbles close up.
 */

import { dayLabel, dayOf } from './format.js';

const GROUP_MS = 5 * 60 * 1000;

/**
 * @typedef {object} Message
 * @property {string} id
 * @property {string} sender uid
 * @property {string} name as it was when the message was written
 * @property {string} text
 * @property {number | null} at milliseconds
 * @property {'sent' | 'pending' | 'failed'} state
 * @property {string} [problem] why it failed, as the end of a sentence
 */

/**
 * @param {readonly Message[]} messages in order
 * @param {{uid: string, now: number, firstUnread: string | null}} reader
 * @returns {Array<{kind: 'day' | 'unread' | 'message', key: string} & Record<string, any>>}
 */
export function arrange(messages, { uid, now, firstUnread }) {
  const items = [];
  messages.forEach((message, index) => {
    const before = messages[index - 1];
    const after = messages[index + 1];
    if (startsDay(before, message)) {
      const label = dayLabel(message.at, now);
      items.push({ kind: 'day', key: `day ${dayOf(message.at)} ${index}`, label });
    }
    const isFirstUnread = message.id === firstUnread;
    if (isFirstUnread) items.push({ kind: 'unread', key: 'unread' });
    items.push({
      kind: 'message',
      key: message.id,
      message,
      isOwn: message.sender === uid,
      startsGroup: isFirstUnread || !isGroup(before, message),
      endsGroup: after === undefined || after.id === firstUnread || !isGroup(message, after),
    });
  });
  return items;
}

function startsDay(before, message) {
  if (message.at === null) return false;
  return !before || before.at === null || dayOf(before.at) !== dayOf(message.at);
}

function isGroup(before, message) {
  if (!before || before.sender !== message.sender) return false;
  if (startsDay(before, message)) return false;
  return before.at === null || message.at === null || message.at - before.at < GROUP_MS;
}
