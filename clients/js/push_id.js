/**
 * Push ids: keys that sort by the time they were made (Firebase's 20-character algorithm).
 *
 * Eight digits of milliseconds, then twelve random ones, base 64 in ASCII order. A second id in
 * the same millisecond is the last one plus one, so the ids of one maker always increase.
 */

const ALPHABET = '-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz';
const TIME_DIGITS = 8;
const RANDOM_DIGITS = 12;
const LAST_DIGIT = ALPHABET.length - 1;

export class PushIds {
  #lastTime = -1;
  #digits = [];
  #randomDigits;

  /** @param {(count: number) => number[]} randomDigits returns that many numbers from 0 to 63 */
  constructor(randomDigits) {
    this.#randomDigits = randomDigits;
  }

  /**
   * Make the next id; later than all before it, even when the clock goes back.
   *
   * @param {number} now milliseconds
   */
  next(now) {
    if (now > this.#lastTime) {
      this.#lastTime = now;
      this.#digits = this.#randomDigits(RANDOM_DIGITS);
    } else {
      this.#increase();
    }
    return timeDigits(this.#lastTime) + this.#digits.map((digit) => ALPHABET[digit]).join('');
  }

  #increase() {
    const digits = [...this.#digits];
    let index = RANDOM_DIGITS - 1;
    while (index >= 0 && digits[index] === LAST_DIGIT) {
      digits[index] = 0;
      index -= 1;
    }
    if (index < 0) {
      // Wrapping round would make an id that sorts before its elders; the next ms does not.
      this.#lastTime += 1;
      this.#digits = this.#randomDigits(RANDOM_DIGITS);
      return;
    }
    digits[index] += 1;
    this.#digits = digits;
  }
}

function timeDigits(time) {
  let rest = time;
  let text = '';
  for (let count = 0; count < TIME_DIGITS; count += 1) {
    text = ALPHABET[rest % ALPHABET.length] + text;
    rest = Math.floor(rest / ALPHABET.length);
  }
  return text;
}
