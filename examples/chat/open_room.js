/**
 * The room on the screen: its members and messages, and what of them is new.
 *
 * Messages are for members only: they are asked for once the server counts us among these.
 */

import { whyRefused } from './refusal.js';

const PAGE = 200;

export class OpenRoom {
  /** @type {import('./model.js').Member[] | null} null until they have come */
  members = null;
  /** @type {import('./timeline.js').Message[] | null} null until they have come */
  messages = null;
  /** @type {string | null} why the server does not let us look, as a sentence */
  problem = null;
  /** How many of the last messages are on the page. */
  shown = PAGE;
  /** The message above which the line "New" stands. */
  firstUnread = null;
  /** The name under which we came in, lest we come in twice. */
  joinedAs = null;
  #known = new Set();
  #news = [];
  #hasArrived = false;
  #isMarked = false;
  #uid;
  #unread;
  #model;
  #onChange;
  #stopMembers;
  #stopMessages = null;

  /**
   * @param {string} id
   * @param {{uid: string, unread: number}} reader and how many messages they have not read yet
   * @param {import('./model.js').Model} model
   * @param {() => void} onChange
   */
  constructor(id, { uid, unread }, model, onChange) {
    this.id = id;
    this.#uid = uid;
    this.#unread = unread;
    this.#model = model;
    this.#onChange = onChange;
    this.#stopMembers = model.onMembers(
      id,
      (members) => this.#takeMembers(members),
      (error) => this.#refused(error),
    );
  }

  close() {
    this.#stopMembers();
    this.#stopMessages?.();
  }

  /** Our own entry among the members; undefined while there is none. */
  get mine() {
    return this.members?.find(({ uid }) => uid === this.#uid);
  }

  showEarlier() {
    this.shown += PAGE;
  }

  /** Tell once that the messages have come. */
  takeArrival() {
    const isFirst = this.messages !== null && !this.#hasArrived;
    if (isFirst) this.#hasArrived = true;
    return isFirst;
  }

  /** Return the messages of others that have come since the last call. */
  takeNews() {
    const news = this.#news;
    this.#news = [];
    return news;
  }

  /** Who wrote a message, by the name they have now. */
  nameOf(message) {
    return this.members?.find(({ uid }) => uid === message.sender)?.name ?? message.name;
  }

  /** When each sender wrote last. */
  lastWrote() {
    const times = (this.messages ?? []).filter(({ at }) => at !== null);
    return new Map(times.map(({ sender, at }) => [sender, at]));
  }

  #takeMembers(members) {
    const wasMember = this.mine !== undefined;
    this.members = members;
    const isMember = this.mine !== undefined;
    if (wasMember && !isMember) {
      this.joinedAs = null; // what was taken from us we may ask for again
      this.problem = null;
    }
    if (isMember && this.#stopMessages === null) this.#askForMessages();
    this.#onChange();
  }

  #askForMessages() {
    this.#stopMessages = this.#model.onMessages(
      this.id,
      (messages) => this.#takeMessages(messages),
      (error) => {
        this.messages = null;
        this.#stopMessages = null;
        // Who is no member any more, because all data went for example, is not to be told so.
        if (this.mine === undefined) this.#onChange();
        else this.#refused(error);
      },
    );
  }

  #takeMessages(messages) {
    if (this.messages === null) this.#begin(messages);
    else this.#goOn(messages);
    this.messages = messages;
    this.problem = null;
    this.#onChange();
  }

  #refused(error) {
    this.problem = `You cannot look into this room: ${whyRefused(error)}.`;
    this.#onChange();
  }

  #begin(messages) {
    const unread = this.#unread;
    this.#unread = 0;
    this.#known = new Set(messages.map(({ id }) => id));
    if (unread === 0 || unread >= messages.length) return;
    const ofOthers = messages.slice(-unread).filter(({ sender }) => sender !== this.#uid);
    this.firstUnread = ofOthers[0]?.id ?? null;
    this.shown = Math.max(PAGE, unread + PAGE / 2);
  }

  #goOn(messages) {
    const fresh = messages.filter(({ id }) => !this.#known.has(id));
    for (const { id } of fresh) this.#known.add(id);
    const news = fresh.filter(({ sender }) => sender !== this.#uid);
    this.#news.push(...news);
    // While nobody looks, the line stands above the first that came.
    if (!document.hidden) this.#isMarked = false;
    else if (!this.#isMarked && news.length > 0) {
      this.#isMarked = true;
      this.firstUnread = news[0].id;
    }
  }
}
