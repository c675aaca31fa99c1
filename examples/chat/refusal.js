/** Why something was refused, in words for people. */

const WORDS = new Map([
  ['PERMISSION_DENIED', 'the rules of this server do not allow it'],
  ['INVALID_TOKEN', 'it takes unsigned tokens only when it was started with --dev'],
  ['UNAVAILABLE', 'the server cannot do it just now'],
]);

/**
 * Return why, as the end of a sentence, without a full stop.
 *
 * @param {{code?: string, message: string}} error
 */
export function whyRefused(error) {
  return WORDS.get(error.code) ?? error.message;
}
