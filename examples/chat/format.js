/** How things are put into words: times, days, initials, colours, room ids. */

const MINUTE_MS = 60 * 1000;
const HOUR_MS = 60 * MINUTE_MS;
const HUES = 24;

const LETTER = /[\p{L}\p{N}]\p{M}*/u;
const PICTURE = /^\p{Extended_Pictographic}/u;
const CLOCK = new Intl.DateTimeFormat(undefined, { hour: 'numeric', minute: '2-digit' });
const WEEKDAY = new Intl.DateTimeFormat('en', { weekday: 'long' });
const SHORT_WEEKDAY = new Intl.DateTimeFormat('en', { weekday: 'short' });
const DAY = new Intl.DateTimeFormat('en', { weekday: 'long', day: 'numeric', month: 'long' });
const DAY_OF_YEAR = new Intl.DateTimeFormat('en', {
  day: 'numeric',
  month: 'long',
  year: 'numeric',
});
const SHORT_DAY = new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short' });
const FULL = new Intl.DateTimeFormat('en', { dateStyle: 'full', timeStyle: 'short' });

/** "just now", "5 min ago", or the time of day: for a message below its day's heading. */
export function messageTime(at, now) {
  const age = now - at;
  if (age < 45 * 1000) return 'just now';
  if (age < HOUR_MS) return `${Math.max(1, Math.round(age / MINUTE_MS))} min ago`;
  return CLOCK.format(at);
}

/** As short as can be: "now", "5 min", "14:05", "Yesterday", "Mon", "3 Mar". */
export function shortTime(at, now) {
  const age = now - at;
  if (age < MINUTE_MS) return 'now';
  if (age < HOUR_MS) return `${Math.floor(age / MINUTE_MS)} min`;
  const days = daysBetween(at, now);
  if (days <= 0) return CLOCK.format(at);
  if (days === 1) return 'Yesterday';
  return days < 7 ? SHORT_WEEKDAY.format(at) : SHORT_DAY.format(at);
}

/** "just now", "5 min ago", "2 hours ago", "yesterday", "on Monday", "on 3 Mar". */
export function longAgo(at, now) {
  const age = now - at;
  if (age < HOUR_MS) return messageTime(at, now);
  const days = daysBetween(at, now);
  const hours = Math.floor(age / HOUR_MS);
  if (days <= 0) return hours === 1 ? 'an hour ago' : `${hours} hours ago`;
  if (days === 1) return 'yesterday';
  return days < 7 ? `on ${WEEKDAY.format(at)}` : `on ${SHORT_DAY.format(at)}`;
}

/** The heading of a day: "Today", "Yesterday", "Monday", "Monday, 3 March". */
export function dayLabel(at, now) {
  const days = daysBetween(at, now);
  if (days <= 0) return 'Today';
  if (days === 1) return 'Yesterday';
  if (days < 7) return WEEKDAY.format(at);
  return days < 300 ? DAY.format(at) : DAY_OF_YEAR.format(at);
}

export function fullTime(at) {
  return FULL.format(at);
}

/** Name the calendar day, here where the reader is. */
export function dayOf(at) {
  const date = new Date(at);
  return `${date.getFullYear()}-${date.getMonth() + 1}-${date.getDate()}`;
}

/** One or two letters or digits for a name: of its first and its last word; else its picture. */
export function initials(name) {
  const words = name.split(/[\s_.\-/]+/u);
  const letters = words.flatMap((word) => LETTER.exec(word)?.[0] ?? []);
  const chosen = letters.length > 1 ? [letters[0], letters.at(-1)] : letters;
  if (chosen.length > 0) return chosen.join('').toLocaleUpperCase();
  return words.map(firstCharacter).find((character) => PICTURE.test(character)) ?? '?';
}

/** Choose a hue, the same for the same id each time, from a palette of hues well apart. */
export function hueOf(id) {
  let hash = 2166136261;
  for (const character of id) hash = Math.imul(hash ^ character.codePointAt(0), 16777619) >>> 0;
  return ((hash >>> 8) % HUES) * (360 / HUES);
}

/** Make a room's id from its name, fit to be a key and to be read in an address. */
export function roomIdOf(name) {
  const id = name
    .normalize('NFC')
    .toLowerCase()
    .replace(/[\s.#$[\]/\\?&%"'<>\u0000-\u001f\u007f]+/gu, '-')
    .replace(/^-+|-+$/gu, '');
  return [...id].slice(0, 60).join('');
}

/** Tell whether a message is nothing but up to three emoji: those are shown large. */
export function isOnlyEmoji(text) {
  const characters = charactersOf(text.trim().slice(0, 60));
  return (
    characters.length > 0 &&
    characters.length <= 3 &&
    characters.every((character) => /^\p{Extended_Pictographic}/u.test(character))
  );
}

/** Cut a text to its first line and so many characters. */
export function preview(text, length) {
  const line = text.trim().split('\n', 1)[0];
  const characters = [...line];
  return characters.length > length ? `${characters.slice(0, length).join('')}…` : line;
}

/** Split a text into plain parts and web addresses. */
export function splitLinks(text) {
  const parts = text.split(/(https?:\/\/[^\s<>"]*[^\s<>"'.,;:!?)\]}])/u);
  return parts.map((part, index) => ({ text: part, isLink: index % 2 === 1 })).filter(hasText);
}

function hasText(part) {
  return part.text !== '';
}

function daysBetween(at, now) {
  const start = new Date(at).setHours(0, 0, 0, 0);
  const end = new Date(now).setHours(0, 0, 0, 0);
  return Math.round((end - start) / (24 * HOUR_MS));
}

function firstCharacter(word) {
  return charactersOf(word)[0] ?? '';
}

/** What a reader takes for one character may be several code points. */
function charactersOf(text) {
  if (!('Segmenter' in Intl)) return [...text];
  return Array.from(new Intl.Segmenter().segment(text), ({ segment }) => segment);
}
