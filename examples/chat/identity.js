/** Who is sitting here: a random uid and a name, kept in the browser's memory. */

export const MAX_NAME_LENGTH = 40;

/**
 * Find out who is here. `?name=Mary` is a person of her own in this browser, so that one browser
 * can play several people in several tabs.
 *
 * @param {{get: Function, set: Function}} memory
 * @param {string | null} givenName from the page's address
 * @param {() => string} randomId
 * @returns {{uid: string, name: string | null, rename: (name: string) => void}}
 */
export function findIdentity(memory, givenName, randomId) {
  const asked = cleanName(givenName ?? '');
  const slot = asked === '' ? 'me' : `me.${asked}`;
  const stored = memory.get(slot);
  const uid = typeof stored?.uid === 'string' ? stored.uid : randomId();
  const storedName = typeof stored?.name === 'string' ? stored.name : null;
  const me = {
    uid,
    name: storedName ?? (asked === '' ? null : asked),
    rename(name) {
      me.name = name;
      memory.set(slot, { uid, name });
    },
  };
  if (me.name !== null) me.rename(me.name);
  return me;
}

/** Return a name as it may be shown: one line, no blanks around it, not too long. */
export function cleanName(text) {
  const oneLine = text.replace(/\s+/gu, ' ').trim();
  return [...oneLine].slice(0, MAX_NAME_LENGTH).join('').trim();
}

/** Make a uid of 20 characters that nobody can guess. */
export function randomUid() {
  const bytes = crypto.getRandomValues(new Uint8Array(20));
  return Array.from(bytes, (byte) => (byte & 31).toString(32)).join('');
}
