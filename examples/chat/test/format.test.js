import assert from 'node:assert/strict';
import { test } from 'node:test';

import {
  dayLabel,
  hueOf,
  initials,
  isOnlyEmoji,
  longAgo,
  messageTime,
  preview,
  roomIdOf,
  shortTime,
  splitLinks,
} from '../format.js';

const NOW = new Date(2026, 10, 18, 15, 30).getTime(); // a Wednesday, here
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

test('times get vaguer with age', () => {
  assert.equal(messageTime(NOW - 20_000, NOW), 'just now');
  assert.equal(messageTime(NOW + 5000, NOW), 'just now');
  assert.equal(messageTime(NOW - 50_000, NOW), '1 min ago');
  assert.equal(messageTime(NOW - 12 * MINUTE, NOW), '12 min ago');
  assert.match(messageTime(NOW - 2 * HOUR, NOW), /^\d+:30/);
  const ages = [0, 5 * MINUTE, DAY, 2 * DAY, 20 * DAY];
  const short = ages.map((age) => shortTime(NOW - age, NOW));
  assert.deepEqual(short, ['now', '5 min', 'Yesterday', 'Mon', 'Oct 29']);
  const long = [...ages, HOUR, 5 * HOUR].map((age) => longAgo(NOW - age, NOW));
  assert.deepEqual(long, [
    'just now',
    '5 min ago',
    'yesterday',
    'on Monday',
    'on Oct 29',
    'an hour ago',
    '5 hours ago',
  ]);
});

test('days are those of the reader, not of the last 24 hours', () => {
  const cases = [
    [0, 'Today'],
    [16 * HOUR, 'Yesterday'],
    [15 * HOUR, 'Today'],
    [3 * DAY, 'Sunday'],
    [20 * DAY, 'Thursday, October 29'],
    [400 * DAY, 'October 14, 2025'],
  ];
  for (const [age, label] of cases) assert.equal(dayLabel(NOW - age, NOW), label);
});

test('initials are one or two letters or digits of any script, else a picture', () => {
  const cases = [
    ['Mary Chen', 'MC'],
    ['mary', 'M'],
    ['Ana Maria de la Cruz', 'AC'],
    ['  ', '?'],
    ['', '?'],
    ['日本 太郎', '日太'],
    ['émile zola', 'ÉZ'],
    ['👩‍👩‍👧 family', 'F'],
    ['Hiking 🥾', 'H'],
    ['🥾Hiking 2024', 'H2'],
    ['(Mary) "Chen"', 'MC'],
    ['🥾 🎒', '🥾'],
    ['!!!', '?'],
    ['𝒜da', '𝒜'],
    ['ẹ̀kọ́', 'Ẹ̀'.normalize('NFC')],
    ['Ideas & plans #1', 'I1'],
  ];
  for (const [name, letters] of cases) {
    assert.equal(initials(name), letters);
    assert.ok(initials(name).isWellFormed(), 'no character is cut in half');
  }
});

test('an id has the same hue each time, and ids differ', () => {
  assert.equal(hueOf('abc'), hueOf('abc'));
  const hues = new Set(Array.from({ length: 100 }, (_, index) => hueOf(`uid-${index}`)));
  assert.ok(hues.size > 15);
  for (const hue of hues) assert.ok(hue >= 0 && hue < 360);
});

test('a room id is a legal key that can be read', () => {
  const cases = [
    ['General', 'general'],
    ['  Kitchen   table ', 'kitchen-table'],
    ['Ideas & plans: a.b/c #1 $[x]', 'ideas-plans:-a-b-c-1-x'],
    ['日本 の 部屋', '日本-の-部屋'],
    ['...', ''],
    ['x'.repeat(100), 'x'.repeat(60)],
  ];
  for (const [name, id] of cases) assert.equal(roomIdOf(name), id);
});

test('up to three emoji alone are shown large', () => {
  for (const text of ['😀', '👍🏽👍🏽', '👩‍👩‍👧‍👦', ' 🎉 ']) {
    assert.equal(isOnlyEmoji(text), true, text);
  }
  for (const text of ['', 'a', '😀 yes', '12', '😀😀😀😀'])
    assert.equal(isOnlyEmoji(text), false, text);
});

test('a preview is one line and never half a character', () => {
  assert.equal(preview('one\ntwo', 80), 'one');
  assert.equal(preview('😀😀😀', 2), '😀😀…');
});

test('web addresses are found, and nothing else becomes a link', () => {
  const links = (text) =>
    splitLinks(text)
      .filter((part) => part.isLink)
      .map((part) => part.text);
  assert.deepEqual(links('see https://a.example/x?y=1#z, or (http://b.example).'), [
    'https://a.example/x?y=1#z',
    'http://b.example',
  ]);
  for (const text of [
    'javascript:alert(1)',
    'data:text/html,x',
    'ftp://x',
    'https://',
    'a.example',
  ]) {
    assert.deepEqual(links(text), [], text);
  }
  for (const text of ['plain', 'a https://b.c d', 'https://b.c']) {
    assert.equal(
      splitLinks(text)
        .map((part) => part.text)
        .join(''),
      text,
    );
  }
});
