/**
 * What the page shows and what follows from a click. Data comes in by listeners and is kept here;
 * every change asks for one drawing of the whole page, at most one a frame.
 */

import { showAvatar, makeAvatar } from './avatar.js';
import { Composer } from './composer.js';
import { ConnectionView } from './connection_view.js';
import { NameDialog, RoomDialog } from './dialogs.js';
import { find, setText } from './dom.js';
import { EmptyView } from './empty_view.js';
import { roomIdOf } from './format.js';
import { cleanName } from './identity.js';
import { MembersView } from './members_view.js';
import { currentRoom, goTo, hrefOf } from './navigation.js';
import { OpenRoom } from './open_room.js';
import { whyRefused } from './refusal.js';
import { RoomsView } from './rooms_view.js';
import { arrange } from './timeline.js';
import { TimelineView } from './timeline_view.js';
import { Scroller } from './scroller.js';

const CLOCK_MS = 20 * 1000;
const HIDDEN_MS = 250;
const WIDE = matchMedia('(min-width: 720px)');

export class App {
  connection = new ConnectionView();
  nameDialog = new NameDialog((name) => this.#named(name));
  roomDialog = new RoomDialog((name) => this.createRoom(name));
  #app = find('#app');
  #empty = new EmptyView();
  #roomsView = new RoomsView((roomId) => this.#enter(roomId));
  #membersView = new MembersView();
  #timelineView = new TimelineView((messageId) => this.#outbox.retry(messageId));
  #composer = new Composer((text) => this.#send(text));
  #scroller = new Scroller();
  #me;
  #memory;
  #model;
  #outbox;
  #unread;
  #rooms = null;
  #problem = null;
  #names = new Map();
  #open = null;
  #isDrawing = false;
  #myAvatar = makeAvatar();

  constructor({ me, memory, model, outbox, unread }) {
    this.#me = me;
    this.#memory = memory;
    this.#model = model;
    this.#outbox = outbox;
    this.#unread = unread;
    find('.me-avatar').replaceWith(this.#myAvatar);
  }

  start() {
    this.#model.onRooms(
      (rooms) => this.#takeRooms(rooms),
      (error) => this.#lockedOut(error),
    );
    if (currentRoom() !== null) this.#show(currentRoom());
    if (this.#me.name === null) this.nameDialog.ask(null);
    addEventListener('popstate', () => this.#show(currentRoom()));
    document.addEventListener('visibilitychange', () => this.changed());
    find('#earlier').addEventListener('click', () => this.#showEarlier());
    setInterval(() => this.changed(), CLOCK_MS);
    setInterval(() => this.connection.show(), 1000);
    this.changed();
  }

  /** Ask for a drawing of the page. */
  changed() {
    if (this.#isDrawing) return;
    this.#isDrawing = true;
    // A hidden page has no frames, but its title still counts what comes in.
    if (document.hidden) setTimeout(() => this.#draw(), HIDDEN_MS);
    else requestAnimationFrame(() => this.#draw());
  }

  async createRoom(name) {
    const id = roomIdOf(name);
    this.#names.set(id, name);
    this.#enter(id);
    try {
      if (!this.#isKnown(id)) await this.#model.createRoom(id, name);
    } catch (error) {
      // Somebody may have made the same room just before us: then it is there.
      if (!this.#isKnown(id)) this.#complain('The room could not be made', error);
    }
  }

  /** The server does not take our word for who we are; we go on as nobody. */
  signInRefused(error) {
    this.#complain('The server did not let you sign in', error);
  }

  /** Leave the room for the list, where only one of them fits. */
  showList() {
    goTo(null);
    this.#show(null);
  }

  #enter(roomId) {
    if (roomId !== this.#open?.id) goTo(roomId);
    this.#show(roomId);
    this.#draw(); // at once: what is still hidden cannot take the focus
    if (WIDE.matches) this.#composer.focus();
  }

  #show(roomId) {
    if (roomId === (this.#open?.id ?? null)) return;
    this.#open?.close();
    this.#membersView.close();
    const room = this.#rooms?.find(({ id }) => id === roomId);
    const unread = room === undefined ? 0 : this.#unread.count(room);
    this.#open = roomId === null ? null : this.#openRoom(roomId, unread);
    if (roomId !== null) this.#memory.set(`room.${this.#me.uid}`, roomId);
    this.#scroller.toEnd();
    this.changed();
  }

  #openRoom(roomId, unread) {
    const reader = { uid: this.#me.uid, unread };
    return new OpenRoom(roomId, reader, this.#model, () => this.changed());
  }

  #lockedOut(error) {
    this.#problem = `You cannot see the rooms: ${whyRefused(error)}.`;
    this.#rooms = null;
    this.changed();
  }

  #takeRooms(rooms) {
    const isFirst = this.#rooms === null;
    this.#rooms = [...rooms].sort((a, b) => lastSign(b) - lastSign(a));
    this.#unread.meet(rooms);
    if (isFirst && this.#open === null && WIDE.matches) this.#showUsual();
    this.changed();
  }

  /** Where there is room for list and conversation, begin where one was the last time. */
  #showUsual() {
    const usual = this.#memory.get(`room.${this.#me.uid}`);
    const room = this.#rooms.find(({ id }) => id === usual) ?? this.#rooms[0];
    if (room === undefined) return;
    goTo(room.id, { replace: true });
    this.#show(room.id);
  }

  async #named(name) {
    const isFirst = this.#me.name === null;
    this.#me.rename(name);
    // The room we are in hears of it with all the others.
    if (!isFirst && this.#open?.mine !== undefined) this.#open.joinedAs = name;
    this.changed();
    if (WIDE.matches) this.#composer.focus();
    try {
      if (!isFirst) await this.#model.rename(this.#joined(), this.#me);
    } catch (error) {
      this.#complain('Your name could not be changed', error);
    }
  }

  #send(text) {
    if (this.#open === null) return;
    if (this.#me.name === null) {
      this.nameDialog.ask(null);
      return;
    }
    this.#open.firstUnread = null;
    const room = this.#roomNow();
    this.#outbox.send(room, () => this.#standingIn(room.id), this.#me, text);
    this.#draw();
    this.#scroller.toEnd();
  }

  #showEarlier() {
    this.#scroller.aboveReader(() => {
      this.#open.showEarlier();
      this.#drawTimeline(this.#model.now());
    });
  }

  /** Return the open room, as it is or as its first message will make it. */
  #roomNow() {
    const { id } = this.#open;
    const known = this.#rooms?.find((room) => room.id === id);
    const name = this.#names.get(id) ?? cleanName(titleOf(id));
    return known ?? { id, name, count: 0, last: null };
  }

  #isKnown(roomId) {
    return this.#rooms?.some(({ id }) => id === roomId) ?? false;
  }

  #isRoomKnown() {
    return this.#isKnown(this.#open?.id);
  }

  /** What has to be said beside a message; of a room that is not open we do not know all. */
  #standingIn(roomId) {
    const isMember = this.#open?.id === roomId && this.#open.mine !== undefined;
    return { isNewRoom: !this.#isKnown(roomId), isMember };
  }

  #joined() {
    return this.#memory.get(`joined.${this.#me.uid}`) ?? [];
  }

  /** To be in a room is to be among its members; who looks into one that exists comes in. */
  async #join() {
    const { id, members, mine } = this.#open;
    const { uid, name } = this.#me;
    if (members === null || name === null || !this.#isRoomKnown()) return;
    if (!this.#joined().includes(id)) {
      this.#memory.set(`joined.${uid}`, [...this.#joined(), id]);
    }
    if (mine?.name === name || this.#open.joinedAs === name) return;
    this.#open.joinedAs = name;
    try {
      if (mine === undefined) await this.#model.join(id, this.#me);
      else await this.#model.rename([id], this.#me);
    } catch (error) {
      this.#complain('You could not come in', error);
    }
  }

  #draw() {
    this.#isDrawing = false;
    const now = this.#model.now();
    const isOpen = this.#open !== null;
    this.#app.dataset.view = isOpen ? 'room' : 'rooms';
    if (isOpen) {
      this.#join();
      if (!document.hidden && this.#isRoomKnown()) this.#unread.markRead(this.#roomNow());
    }
    this.#drawRooms(now);
    this.#drawMe();
    this.#drawHeader();
    this.#drawTimeline(now);
    this.#composer.turnTo(this.#open?.id ?? null, isOpen ? this.#roomNow().name : '');
    const problem = this.#problem ?? this.#open?.problem ?? null;
    this.#empty.show(this.#rooms, isOpen ? this.#roomNow() : null, this.#messages(), problem);
  }

  #drawRooms(now) {
    const rows = this.#rooms?.map((room) => ({
      room,
      unread: this.#unread.count(room),
      isOpen: room.id === this.#open?.id,
      href: hrefOf(room.id),
    }));
    this.#roomsView.show(rows ?? null, { uid: this.#me.uid, now });
    const unread = rows?.reduce((sum, row) => sum + row.unread, 0) ?? 0;
    const where = this.#open === null ? 'Treehouse' : `${this.#roomNow().name} · Treehouse`;
    document.title = unread > 0 ? `(${unread}) ${where}` : where;
    const badge = find('#back-badge');
    badge.hidden = unread === 0;
    setText(badge, unread > 99 ? '99+' : String(unread));
  }

  #drawMe() {
    setText(find('.me-name'), this.#me.name ?? 'Somebody');
    showAvatar(this.#myAvatar, this.#me.uid, this.#me.name ?? '');
  }

  #drawHeader() {
    find('#room-header').hidden = this.#open === null;
    if (this.#open === null) return;
    const { members } = this.#open;
    setText(find('#room-name'), this.#roomNow().name);
    const count = members?.length ?? 0;
    setText(
      find('#room-about'),
      count === 0 ? '' : `${count} ${count === 1 ? 'member' : 'members'}`,
    );
    const reader = { uid: this.#me.uid, now: this.#model.now() };
    this.#membersView.show(members ?? [], this.#open.lastWrote(), reader);
  }

  #drawTimeline(now) {
    const open = this.#open;
    const messages = this.#messages() ?? [];
    const shown = messages.slice(-(open?.shown ?? 1));
    find('#earlier').hidden = shown.length === messages.length;
    const reader = { uid: this.#me.uid, now, firstUnread: open?.firstUnread ?? null };
    const items = arrange(shown, reader);
    const nameOf = (message) => open.nameOf(message);
    const news = open?.takeNews() ?? [];
    this.#scroller.around(() => this.#timelineView.show(items, { now, nameOf }), news.length);
    if (open?.takeArrival()) this.#arrive();
    if (news.length > 0) this.#announce(news.at(-1), nameOf);
  }

  /** The messages of a room are here for the first time: go to what is new, or to the end. */
  #arrive() {
    const line = find('#timeline').querySelector('.unread-line');
    if (line === null) this.#scroller.toEnd();
    else this.#scroller.toElement(line);
  }

  #announce(message, nameOf) {
    if (!document.hidden) setText(find('#announcer'), `${nameOf(message)}: ${message.text}`);
  }

  /** The messages of the open room and what is on its way there; null while they are not known. */
  #messages() {
    if (this.#open === null) return null;
    const { id, messages } = this.#open;
    const shown = this.#outbox.merge(id, messages ?? []);
    const isEmptyRoom = this.#rooms !== null && !this.#isRoomKnown();
    return messages !== null || isEmptyRoom || shown.length > 0 ? shown : null;
  }

  #complain(what, error) {
    const text = `${what}: ${whyRefused(error)}.`;
    console.warn(text, error.message);
    const toast = find('#toast');
    toast.textContent = text;
    toast.hidden = false;
    setTimeout(() => {
      toast.hidden = true;
    }, 6000);
  }
}

function lastSign(room) {
  return room.last?.at ?? room.created;
}

function titleOf(id) {
  return id.replace(/(^|-)(\p{L})/gu, (_, gap, letter) => (gap ? ' ' : '') + letter.toUpperCase());
}
