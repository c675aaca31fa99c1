/**
 * What the server is to write when we disconnect, as far as it has said yes: the client carries it
 * out on its own copies when it loses the connection, so that they show what others then see.
 *
 * A tree of places; a place that has a value has no places below. A value set below another one
 * becomes part of it, and what is cancelled below another one is cut out of it.
 *
 *     set /a = {b: 1, c: 2}     /a = {b: 1, c: 2}
 *     set /a/d = 3              /a = {b: 1, c: 2, d: 3}
 *     cancel /a/b               /a/c = 2, /a/d = 3
 */

/** @typedef {{wire?: unknown, places: Map<string, Planned>}} Planned */

export class LastWrites {
  #root = { places: new Map() };

  /**
   * @param {readonly string[]} keys
   * @param {unknown} wire
   */
  set(keys, wire) {
    let planned = this.#root;
    for (const [index, key] of keys.entries()) {
      if ('wire' in planned) {
        planned.wire = withPart(planned.wire, keys.slice(index), wire);
        return;
      }
      planned = placeIn(planned, key);
    }
    planned.wire = wire;
    planned.places.clear();
  }

  /** Forget what is planned for a place and below. */
  cancel(keys) {
    if (keys.length === 0) {
      this.#root = { places: new Map() };
      return;
    }
    let planned = this.#root;
    for (const key of keys.slice(0, -1)) {
      if (!split(planned) || !planned.places.has(key)) return;
      planned = planned.places.get(key);
    }
    if (split(planned)) planned.places.delete(keys.at(-1));
  }

  /**
   * Return all there is, and forget it: it happens once.
   *
   * @returns {[string[], unknown][]} where, and what is set there
   */
  take() {
    const taken = [...plansOf(this.#root, [])];
    this.cancel([]);
    return taken;
  }
}

function* plansOf(planned, keys) {
  if ('wire' in planned) yield [keys, planned.wire];
  for (const [key, below] of planned.places) yield* plansOf(below, [...keys, key]);
}

function placeIn(planned, key) {
  let below = planned.places.get(key);
  if (below === undefined) {
    below = { places: new Map() };
    planned.places.set(key, below);
  }
  return below;
}

/** Make places of the members of a value; false if it has none. */
function split(planned) {
  if (!('wire' in planned)) return true;
  if (!isObject(planned.wire)) return false;
  for (const [key, wire] of Object.entries(planned.wire)) placeIn(planned, key).wire = wire;
  delete planned.wire;
  return true;
}

function withPart(wire, [key, ...rest], part) {
  if (key === undefined) return part;
  const members = Object.assign(Object.create(null), isObject(wire) ? wire : {});
  members[key] = withPart(members[key] ?? null, rest, part);
  return members;
}

function isObject(wire) {
  return typeof wire === 'object' && wire !== null && !('.value' in wire) && !('.sv' in wire);
}
