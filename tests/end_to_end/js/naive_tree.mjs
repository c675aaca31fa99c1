// The data model and its queries, written down as plainly as they can be: what all else is held to.
//
// Data is in export form: a leaf, `{".value": leaf, ".priority": p}`, or an object of children with
// perhaps a ".priority" among them; null where nothing is. A query is an object of this shape:
//
//     {order: "key" | "value" | "priority" | "n" | "d/m",
//      start: {value, key?, isInclusive}, end: likewise, limit, isLast}

const isObject = (data) => typeof data === "object" && data !== null && !(".value" in data);
const leafOf = (data) => (isObject(data) || data === null ? data : (data[".value"] ?? data));
const priorityOf = (data) => (typeof data === "object" ? (data?.[".priority"] ?? null) : null);
const without = (data, key) => {
  const { [key]: _, ...rest } = data;
  return rest;
};

/** Give the child of that name, null where none is. */
export function childOf(data, key) {
  return isObject(data) && Object.hasOwn(data, key) ? data[key] : null;
}

/** Give the names of the children, in no order that matters. */
export function keysOf(data) {
  return isObject(data) ? Object.keys(data).filter((key) => key !== ".priority") : [];
}

/** Give what the data becomes when a value is set below it; keys may end in ".priority". */
export function withValue(data, [key, ...below], value) {
  if (key === undefined) return value;
  if (key === ".priority") return withPriority(data, value);
  const child = withValue(childOf(data, key), below, value);
  if (!isObject(data)) {
    if (child === null) return data;
    const priority = priorityOf(data);
    return priority === null ? { [key]: child } : { [key]: child, ".priority": priority };
  }
  const changed = child === null ? without(data, key) : { ...data, [key]: child };
  return keysOf(changed).length === 0 ? null : changed;
}

/** Give the same value with a priority, or without one. */
export function withPriority(data, priority) {
  if (data === null) return null;
  const bare = isObject(data) ? without(data, ".priority") : leafOf(data);
  if (priority === null) return bare;
  return isObject(bare)
    ? { ...bare, ".priority": priority }
    : { ".value": bare, ".priority": priority };
}

/** Tell whether the query leaves anything out, ever. */
export function isFiltering({ start, end, limit }) {
  return start !== undefined || end !== undefined || limit !== undefined;
}

/** Give the keys of the children that the query chooses, in its order. */
export function chosenKeys(data, { order, start, end, limit, isLast }) {
  const sort = (key) => ({ by: sortValue(data[key], key, order), key });
  let chosen = keysOf(data).map(sort);
  chosen.sort((a, b) => compareValues(a.by, b.by, order) || compareKeys(a.key, b.key));
  if (start) chosen = chosen.filter((each) => side(each, start, order, 1) > 0);
  if (end) chosen = chosen.filter((each) => side(each, end, order, -1) < 0);
  if (limit !== undefined) chosen = isLast ? chosen.slice(-limit) : chosen.slice(0, limit);
  return chosen.map(({ key }) => key);
}

/** Give what the query shows of the data: a window has no priority of its own. */
export function shownOf(data, query) {
  if (!isFiltering(query)) return data;
  const keys = chosenKeys(data, query);
  return keys.length === 0 ? null : Object.fromEntries(keys.map((key) => [key, data[key]]));
}

/** Tell on which side of a bound a child is; on it, `inward` where it counts as inside. */
function side({ by, key }, { value, key: boundKey, isInclusive }, order, inward) {
  const outcome = compareValues(by, value, order);
  if (outcome !== 0) return outcome;
  const beside = boundKey === undefined ? 0 : compareKeys(key, boundKey);
  return beside || (isInclusive ? inward : -inward);
}

function sortValue(child, key, order) {
  if (order === "key") return key;
  if (order === "priority") return priorityOf(child);
  if (order === "value") return leafOf(child);
  return leafOf(order.split("/").reduce(childOf, child));
}

const RANKS = ["null", "boolean", "number", "string", "object"];
const rankOf = (value) => RANKS.indexOf(value === null ? "null" : typeof value);

function compareValues(a, b, order) {
  if (order === "key") return compareKeys(a, b);
  const outcome = rankOf(a) - rankOf(b);
  if (outcome !== 0 || typeof a === "object") return outcome;
  return a < b ? -1 : Number(a > b); // texts by UTF-16 code units, as JavaScript compares them
}

/** Order keys: whole numbers of 32 bits first, by number and then length; then texts. */
function compareKeys(a, b) {
  const [left, right] = [wholeNumber(a), wholeNumber(b)];
  if (left !== null && right !== null) return left - right || a.length - b.length;
  if (left !== null || right !== null) return left !== null ? -1 : 1;
  return a < b ? -1 : Number(a > b);
}

function wholeNumber(key) {
  if (!/^-?0*[0-9]{1,10}$/.test(key)) return null;
  const number = Number(key);
  return number >= -(2 ** 31) && number < 2 ** 31 ? number : null;
}
