/** Reading and listening as functions, as Firebase's SDK spells them: onValue(query, callback). */

/** @typedef {import('./query.js').Query} Query */

/** @param {Query} query */
export function get(query) {
  return query.get();
}

/** @param {Query} query */
export function onValue(query, callback, onError) {
  return query.onValue(callback, onError);
}

/** @param {Query} query */
export function onChildAdded(query, callback, onError) {
  return query.onChildAdded(callback, onError);
}

/** @param {Query} query */
export function onChildChanged(query, callback, onError) {
  return query.onChildChanged(callback, onError);
}

/** @param {Query} query */
export function onChildMoved(query, callback, onError) {
  return query.onChildMoved(callback, onError);
}

/** @param {Query} query */
export function onChildRemoved(query, callback, onError) {
  return query.onChildRemoved(callback, onError);
}

/** @param {Query} query */
export function off(query, event, callback) {
  query.off(event, callback);
}

/** @param {Query} query */
export function keepSynced(query, isOn) {
  query.keepSynced(isOn);
}
