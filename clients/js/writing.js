/** Writing as functions, as Firebase's SDK spells them: set(ref, value). */

/** @typedef {import('./reference.js').Reference} Reference */

/** @param {Reference} ref */
export function set(ref, value) {
  return ref.set(value);
}

/** @param {Reference} ref */
export function setWithPriority(ref, value, priority) {
  return ref.setWithPriority(value, priority);
}

/** @param {Reference} ref */
export function setPriority(ref, priority) {
  return ref.setPriority(priority);
}

/** @param {Reference} ref */
export function update(ref, values) {
  return ref.update(values);
}

/** @param {Reference} ref */
export function push(ref, value) {
  return ref.push(value);
}

/** @param {Reference} ref */
export function remove(ref) {
  return ref.remove();
}

/** @param {Reference} ref */
export function runTransaction(ref, change, options) {
  return ref.transaction(change, options);
}

/** @param {Reference} ref */
export function onDisconnect(ref) {
  return ref.onDisconnect();
}

/** @param {import('./database.js').Database} database */
export function goOffline(database) {
  database.goOffline();
}

/** @param {import('./database.js').Database} database */
export function goOnline(database) {
  database.goOnline();
}
