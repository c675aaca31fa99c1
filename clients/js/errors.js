/** The one kind of error this client raises: a sentence for people, a code for programs. */

export class TreeError extends Error {
  /**
   * @param {string} code what went wrong, in capitals: the server's status ("PERMISSION_DENIED",
   *   "FAILURE", ...) or one of the client's own ("INVALID_PATH", "INVALID_DATA", "CLOSED", ...)
   * @param {string} message what, where, found, allowed
   */
  constructor(code, message) {
    super(message);
    this.name = 'TreeError';
    this.code = code;
  }
}

/**
 * Make the error of a refused request.
 *
 * @param {string} asked what was asked, as in "set /rooms/one"
 * @param {string} status the wire's status, as in "permission_denied"
 * @param {unknown} reason the server's sentence, if it gave one
 */
export function refusal(asked, status, reason) {
  const sentence = typeof reason === 'string' && reason !== '' ? reason : status;
  return new TreeError(status.toUpperCase(), `${asked}: ${sentence}`);
}
