/** How many messages of each room were not read yet, by the rooms' own counters. */

/**
 * @param {{get: Function, set: Function}} memory
 * @param {string} uid
 */
export function openUnread(memory, uid) {
  const slot = `read.${uid}`;
  const stored = memory.get(slot);
  const read = new Map(Object.entries(stored !== null && typeof stored === 'object' ? stored : {}));
  const save = () => memory.set(slot, Object.fromEntries(read));
  return {
    /** A room seen for the first time has nothing new in it. */
    meet(rooms) {
      const strangers = rooms.filter((room) => !read.has(room.id));
      for (const room of strangers) read.set(room.id, room.count);
      if (strangers.length > 0) save();
    },
    count(room) {
      return Math.max(0, room.count - (read.get(room.id) ?? room.count));
    },
    markRead(room) {
      if (read.get(room.id) === room.count) return;
      read.set(room.id, room.count);
      save();
    },
  };
}
