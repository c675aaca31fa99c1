// Random lists, queries of them and writes to them, all from one seed.
import {
  endAt, endBefore, equalTo, limitToFirst, limitToLast, orderByChild, orderByKey, orderByPriority,
  orderByValue, query, startAfter, startAt,
} from "firebase/database";

const KEYS = ["1", "02", "2", "10", "-3", "2147483648", "a", "b", "c", "é", "😀", "\ue000"];
const LEAVES = [false, true, -1, 0, 1, 2.5, 10, "", "1", "10", "a", "b", "😀", "\uffff"];
const PRIORITIES = [null, 1, 2, 10, "1", "p"];
const ORDERS = ["key", "value", "priority", "n", "d/m"];

/** Chance that a seed repeats (the generator is mulberry32). */
export class Chance {
  constructor(seed) {
    this.state = seed >>> 0;
  }

  below(count) {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let mixed = this.state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * count);
  }

  onceIn(count) {
    return this.below(count) === 0;
  }

  pick(choices) {
    return choices[this.below(choices.length)];
  }
}

const leaf = (chance) => chance.pick(LEAVES);
export const randomKey = (chance) => chance.pick(KEYS);
export const randomPriority = (chance) => chance.pick(PRIORITIES);

/** Give a child in export form, now and then with a priority. */
export function randomChild(chance) {
  const priority = chance.onceIn(2) ? randomPriority(chance) : null;
  const data = chance.onceIn(3) ? leaf(chance) : randomRecord(chance);
  if (priority === null) return data;
  return typeof data === "object"
    ? { ...data, ".priority": priority }
    : { ".value": data, ".priority": priority };
}

function randomRecord(chance) {
  const data = { other: chance.below(3) };
  if (!chance.onceIn(4)) data.n = chance.onceIn(8) ? { deep: 1 } : leaf(chance);
  if (!chance.onceIn(3)) data.d = { m: leaf(chance), x: 1 };
  return data;
}

export function randomList(chance) {
  const keys = KEYS.filter(() => chance.onceIn(2));
  return keys.length === 0
    ? null
    : Object.fromEntries(keys.map((key) => [key, randomChild(chance)]));
}

/** Give a query, one that only orders among them, in the form that naive_tree.mjs tells of. */
export function randomQuery(chance) {
  const order = chance.pick(ORDERS);
  if (chance.onceIn(8)) {
    const bound = randomBound(chance, order, true);
    return { order, start: bound, end: bound, isEqual: true, ...randomLimit(chance, 4) };
  }
  const start = chance.onceIn(2) ? randomBound(chance, order, !chance.onceIn(3)) : undefined;
  const end = chance.onceIn(2) ? randomBound(chance, order, !chance.onceIn(3)) : undefined;
  return { order, start, end, ...randomLimit(chance, 2) };
}

function randomLimit(chance, seldom) {
  return chance.below(seldom + 1) === 0
    ? {}
    : { limit: 1 + chance.below(5), isLast: chance.onceIn(2) };
}

function randomBound(chance, order, isInclusive) {
  if (order === "key") return { value: randomKey(chance), isInclusive };
  const value = order === "priority" ? randomPriority(chance) : chance.pick([null, ...LEAVES]);
  const key = chance.onceIn(3) ? randomKey(chance) : undefined;
  return { value, key, isInclusive };
}

/** Give the SDK's query of a place. */
export function sdkQuery(place, { order, start, end, isEqual, limit, isLast }) {
  const byName = { key: orderByKey, value: orderByValue, priority: orderByPriority };
  const parts = [order in byName ? byName[order]() : orderByChild(order)];
  const values = (bound) => (bound.key === undefined ? [bound.value] : [bound.value, bound.key]);
  if (isEqual) {
    parts.push(equalTo(...values(start)));
  } else {
    if (start) parts.push((start.isInclusive ? startAt : startAfter)(...values(start)));
    if (end) parts.push((end.isInclusive ? endAt : endBefore)(...values(end)));
  }
  if (limit !== undefined) parts.push((isLast ? limitToLast : limitToFirst)(limit));
  return query(place, ...parts);
}

/** Give the query's parameters in a URL. */
export function restParameters({ order, start, end, isEqual, limit, isLast }) {
  const isChild = order === "n" || order === "d/m";
  const given = { orderBy: JSON.stringify(isChild ? order : `$${order}`) };
  const text = ({ value, key }) =>
    key === undefined ? JSON.stringify(value) : `${JSON.stringify(value)},${JSON.stringify(key)}`;
  if (isEqual) {
    given.equalTo = text(start);
  } else {
    if (start) given[start.isInclusive ? "startAt" : "startAfter"] = text(start);
    if (end) given[end.isInclusive ? "endAt" : "endBefore"] = text(end);
  }
  if (limit !== undefined) given[isLast ? "limitToLast" : "limitToFirst"] = String(limit);
  return new URLSearchParams({ ...given, format: "export" });
}

/** Give a write: what the SDK is asked for, and the places it changes, told from above the list.
 *
 * `list` is the data as it is, since a priority can only be set where something is. A simple
 * write is of one whole child, or of the list; see random_queries.mjs for why.
 */
export function randomWrite(chance, list, isSimple) {
  const key = randomKey(chance);
  const writes = [
    () => set(["list", key], randomChild(chance)),
    () => set(["list", key], randomChild(chance)),
    () => set(["list", key], null),
    () => setWithPriority(["list", key], leaf(chance), randomPriority(chance)),
    () => set(["list"], chance.onceIn(8) ? leaf(chance) : randomList(chance)),
    () => set([], chance.onceIn(8) ? null : { list: randomList(chance), elsewhere: 1 }),
    () => set(["elsewhere"], leaf(chance)),
  ];
  if (isSimple) return chance.pick(writes)();
  return chance.pick([
    ...writes,
    () => updateChildren(chance),
    () => updateChildren(chance),
    () => updateFromAbove(chance),
    () => set(["list", key, "n"], leaf(chance)),
    () => set(["list", key, "d", "m"], leaf(chance)),
    () => set(["list", key, "other"], chance.below(5)),
    () => set(["list", key, chance.pick(["n", "d", "other"])], null),
    () => changePriority(chance, list),
    () => changePriority(chance, list),
  ])();
}

const set = (path, value) => ({ call: "set", path, arguments: [value], changes: [[path, value]] });

function setWithPriority(path, value, priority) {
  const data = priority === null ? value : { ".value": value, ".priority": priority };
  return { call: "setWithPriority", path, arguments: [value, priority], changes: [[path, data]] };
}

function changePriority(chance, list) {
  const keys = KEYS.filter((key) => typeof list === "object" && list !== null && key in list);
  if (keys.length === 0) return set(["list", randomKey(chance)], randomChild(chance));
  const path = ["list", chance.pick(keys)];
  const priority = randomPriority(chance);
  const changes = [[[...path, ".priority"], priority]];
  return { call: "setPriority", path, arguments: [priority], changes };
}

/** Change several children at once: some as a whole, some inside, some away. */
function updateChildren(chance) {
  const keys = KEYS.filter(() => chance.onceIn(4));
  const changes = keys.map((key) => {
    if (chance.onceIn(3)) return [[key, "n"], chance.onceIn(4) ? null : leaf(chance)];
    if (chance.onceIn(4)) return [[key, "d", "m"], leaf(chance)];
    return [[key], chance.onceIn(3) ? null : randomChild(chance)];
  });
  return update(["list"], changes);
}

function updateFromAbove(chance) {
  const { changes } = updateChildren(chance);
  return update([], [...changes, [["elsewhere"], leaf(chance)]]);
}

function update(path, changes) {
  const values = Object.fromEntries(changes.map(([keys, value]) => [keys.join("/"), value]));
  const absolute = changes.map(([keys, value]) => [[...path, ...keys], value]);
  return { call: "update", path, arguments: [values], changes: absolute };
}
