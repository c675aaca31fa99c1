/** Calling the application's functions without suffering from their mistakes. */

/**
 * Call; an error is told as uncaught, later, so that the other callbacks still hear the news.
 *
 * @param {() => void} callback
 */
export function guard(callback) {
  try {
    callback();
  } catch (error) {
    setTimeout(() => {
      throw error;
    });
  }
}
