/**
 * Scrolling that follows the reader: at the end it stays at the end; further up it stays where it
 * is, and a button tells of what has come in below.
 */

import { find, setText } from './dom.js';

const NEAR_PX = 80;

export class Scroller {
  #box = find('#scroller');
  #button = find('#to-end');
  #text = find('#to-end-text');
  #isAtEnd = true;
  #unseen = 0;

  constructor() {
    this.#box.addEventListener('scroll', () => this.#look(), { passive: true });
    this.#button.addEventListener('click', () => this.toEnd('smooth'));
    // The keyboard of a phone, a growing composer, a turned screen: the end stays in view.
    new ResizeObserver(() => {
      if (this.#isAtEnd) this.#jump();
    }).observe(this.#box);
  }

  get isAtEnd() {
    return this.#isAtEnd;
  }

  /**
   * Change the list; keep the end in view if it was, count what is new if not.
   *
   * @param {() => void} change
   * @param {number} incoming how many messages of others are new in it
   */
  around(change, incoming) {
    change();
    if (this.#isAtEnd) this.#jump();
    else this.#unseen += incoming;
    this.#showButton();
  }

  /** Put older messages above what the reader sees, without moving it. */
  aboveReader(change) {
    const fromEnd = this.#box.scrollHeight - this.#box.scrollTop;
    change();
    this.#box.scrollTop = this.#box.scrollHeight - fromEnd;
  }

  /** @param {ScrollBehavior} behavior */
  toEnd(behavior = 'instant') {
    this.#isAtEnd = true;
    this.#unseen = 0;
    this.#box.scrollTo({ top: this.#box.scrollHeight, behavior });
    this.#showButton();
  }

  /** Begin where the reader left off. */
  toElement(target) {
    const middle = target.offsetTop - this.#box.clientHeight / 3;
    this.#unseen = 0;
    this.#box.scrollTo({ top: middle, behavior: 'instant' });
    this.#look();
  }

  #jump() {
    this.#box.scrollTop = this.#box.scrollHeight;
  }

  #look() {
    const below = this.#box.scrollHeight - this.#box.clientHeight - this.#box.scrollTop;
    this.#isAtEnd = below < NEAR_PX;
    if (this.#isAtEnd) this.#unseen = 0;
    this.#showButton();
  }

  #showButton() {
    this.#button.hidden = this.#isAtEnd;
    const many = this.#unseen === 1 ? '1 new message' : `${this.#unseen} new messages`;
    setText(this.#text, this.#unseen === 0 ? 'Latest messages' : many);
    this.#button.classList.toggle('has-news', this.#unseen > 0);
  }
}
