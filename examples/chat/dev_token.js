/**
 * Tell the server who is here, in the way of development: there is no sign-in service yet.
 *
 * The token is one that nobody has signed (RFC 7519, section 6), as the Firebase emulator takes
 * them: anybody can make one that says anything. A server takes it only when it was started with
 * `--dev`.
 */

/**
 * @param {{uid: string, name: string | null}} me
 * @returns {string}
 */
export function devToken({ uid, name }) {
  const claims = { sub: uid, user_id: uid, ...(name === null ? {} : { name }) };
  return `${encode({ alg: 'none', type: 'JWT' })}.${encode(claims)}.`;
}

function encode(content) {
  const bytes = new TextEncoder().encode(JSON.stringify(content));
  const text = btoa(String.fromCharCode(...bytes));
  return text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}
