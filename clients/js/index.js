/** treedb's client for browsers and Node: what applications import. */

export {
  endAt,
  endBefore,
  equalTo,
  limitToFirst,
  limitToLast,
  orderByChild,
  orderByKey,
  orderByPriority,
  orderByValue,
  startAfter,
  startAt,
} from './constraints.js';
export { connect, Database } from './database.js';
export { TreeError } from './errors.js';
export { OnDisconnect } from './on_disconnect.js';
export { Query, query } from './query.js';
export {
  get,
  keepSynced,
  off,
  onChildAdded,
  onChildChanged,
  onChildMoved,
  onChildRemoved,
  onValue,
} from './reading.js';
export { PushedReference, Reference } from './reference.js';
export { Snapshot } from './snapshot.js';
export { increment, serverTimestamp } from './values.js';
export {
  goOffline,
  goOnline,
  onDisconnect,
  push,
  remove,
  runTransaction,
  set,
  setPriority,
  setWithPriority,
  update,
} from './writing.js';
