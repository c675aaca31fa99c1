/** treedb's client for browsers and Node: what applications import. */

export { connect, Database } from './database.js';
export { TreeError } from './errors.js';
export { PushedReference, Reference } from './reference.js';
export { Snapshot } from './snapshot.js';
export { increment, serverTimestamp } from './values.js';
