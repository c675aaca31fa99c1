// The npm package `geofire`, whose distance queries are many overlapping ranges of one child.
//
// 6.0.0, the current one, carries a copy of the SDK and mixes its objects with the application's.
// That fails in the client, with any server, when the client itself sets places that it queries,
// and when a key leaves a range (geofire-js, issues 260 and 266). So with it one client sets and
// another queries, and its keys stay in their ranges: they leave and enter circles. 5.2.0 takes
// the application's SDK, in its older form: with it everything is tried, all in one client.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { ref, set } from "firebase/database";
import { client, endClients, putRules } from "./clients.mjs";
import { compatClient, endCompatClients } from "./compat_clients.mjs";
import { Chance } from "./random_lists.mjs";

const load = createRequire(import.meta.url); // its package.json names no module for `import`
const current = load("geofire");
const older = load("geofire-5");

const HOME = [52.52, 13.4];
const SEED = Number(process.env.SEED ?? 1);
/** Give the place so many kilometres north and east of home. */
const at = (north, east = 0) => [
  HOME[0] + north / 111.195, HOME[1] + east / (111.195 * Math.cos((HOME[0] * Math.PI) / 180)),
];

/** Give the distance of two places along a great circle. */
function kilometres([latitude, longitude], [toLatitude, toLongitude]) {
  const radians = (degrees) => (degrees * Math.PI) / 180;
  const half = (degrees) => Math.sin(radians(degrees) / 2) ** 2;
  const across = Math.cos(radians(latitude)) * Math.cos(radians(toLatitude));
  return 2 * 6371 * Math.asin(Math.sqrt(half(toLatitude - latitude) + across * half(toLongitude - longitude)));
}

const warnings = [];
console.warn = (...parts) => warnings.push(parts.join(" "));
before(() => putRules("geofire-indexed", { ".read": true, ".write": true, $place: { ".indexOn": "g" } }));
after(() => Promise.all([endClients(), endCompatClients()]));

/** Open a version's clients: who sets and who queries a place, and how to settle. */
function openCurrent(namespace) {
  const [setter, watcher] = [client(namespace), client(namespace)];
  return {
    setterOf: (place) => new current.GeoFire(ref(setter, place)),
    watcherOf: (place) => new current.GeoFire(ref(watcher, place)),
    settle: () => set(ref(watcher, "settle"), Math.random()),
  };
}

function openOlder(namespace) {
  const database = compatClient(namespace);
  const both = (place) => new older.GeoFire(database.ref(place));
  return { setterOf: both, watcherOf: both, settle: () => database.ref("settle").set(Math.random()) };
}

/** Write down the events of a query, who is in it by them, and who was when it was ready.
 *
 * 6.0.0 is ready again at every change; the first time counts.
 */
function follow(query) {
  const followed = { seen: [], keys: new Set(), atReady: null };
  query.on("ready", () => { followed.atReady ??= [...followed.keys].sort(); });
  query.on("key_moved", (key) => followed.seen.push(["moved", key]));
  query.on("key_entered", (key) => {
    followed.keys.add(key);
    followed.seen.push(["entered", key]);
  });
  query.on("key_exited", (key) => {
    followed.keys.delete(key);
    followed.seen.push(["exited", key]);
  });
  return followed;
}

const VERSIONS = { "6.0.0": openCurrent, "5.2.0": openOlder };
const RULES = ["indexed", "unindexed"];

for (const [version, open] of Object.entries(VERSIONS)) {
  for (const rules of RULES) {
    const { setterOf, watcherOf, settle } = open(`geofire-${rules}`);
    /** Wait until queries have heard all there is: what they ask when a key leaves is answered too. */
    const settled = async () => { await settle(); await settle(); };
    let places = 0;
    /** Add a test, which gets a place of its own. */
    const scenario = (text, run) => test(`${text}: geofire ${version}, ${rules}`, () => {
      places += 1;
      const place = `${version.slice(0, 1)}-${places}`;
      return run(setterOf(place), watcherOf(place));
    });

    scenario("places are set, got and removed", async (setter, watcher) => {
      await setter.set("one", [1.5, 2.25]);
      await setter.set({ two: [-3, 4], three: [5, -6] });
      assert.deepEqual(await watcher.get("one"), [1.5, 2.25]);
      assert.deepEqual(await watcher.get("three"), [5, -6]);
      await setter.remove("one");
      await setter.set({ two: null, three: null });
      assert.equal(await watcher.get("one"), null);
      assert.equal(await watcher.get("three"), null);
    });

    scenario("a query tells who enters, moves and exits", async (setter, watcher) => {
      await setter.set({ near: at(0.5), edge: at(0.9), far: at(50) });
      const query = watcher.query({ center: HOME, radius: 1 });
      const followed = follow(query);
      const { seen } = followed;
      await settled();
      assert.deepEqual(seen.splice(0).sort(), [["entered", "edge"], ["entered", "near"]]);
      assert.deepEqual(followed.atReady, ["edge", "near"]);
      await setter.set("near", at(0.6));
      await setter.set("edge", at(1.1)); // in range, out of the circle
      await setter.set("new", at(0, 0.2));
      await settled();
      assert.deepEqual(seen.splice(0), [["moved", "near"], ["exited", "edge"], ["entered", "new"]]);
      await setter.set("edge", at(0.8));
      await settled();
      assert.deepEqual(seen.splice(0), [["entered", "edge"]]);
      query.cancel();
      await setter.set("near", at(0.7));
      await settled();
      assert.deepEqual(seen, []);
    });

    scenario("a query may grow, shrink and go elsewhere", async (setter, watcher) => {
      await setter.set({ here: at(0), there: at(3), away: at(40) });
      const query = watcher.query({ center: HOME, radius: 1 });
      const followed = follow(query);
      const { seen } = followed;
      await settled();
      assert.deepEqual(seen.splice(0), [["entered", "here"]]);
      query.updateCriteria({ radius: 5 });
      await settled();
      assert.deepEqual(seen.splice(0), [["entered", "there"]]);
      followed.atReady = null;
      query.updateCriteria({ center: at(40) });
      await settled();
      assert.deepEqual(seen.splice(0).sort(), [["entered", "away"], ["exited", "here"], ["exited", "there"]]);
      assert.deepEqual(followed.atReady, ["away"]);
      query.cancel();
    });

    scenario("overlapping queries each tell their own", async (setter, watcher) => {
      await setter.set({ a: at(0), b: at(2), c: at(4) });
      const circles = [[at(0), 1], [at(0), 3], [at(3), 1.5], [at(2), 20]];
      const queries = circles.map(([center, radius]) => watcher.query({ center, radius }));
      const followed = queries.map(follow);
      await settled();
      assert.deepEqual(followed.map(({ keys }) => [...keys].sort().join("")), ["a", "ab", "bc", "abc"]);
      await setter.set("a", at(1.1));
      await settled();
      assert.deepEqual(followed.map(({ keys }) => [...keys].sort().join("")), ["", "ab", "bc", "abc"]);
      for (const query of queries) query.cancel();
    });

    scenario("the SDK warns of the missing index, and of no other", () => {
      const ours = warnings.splice(0).filter((text) => text.includes("unspecified index"));
      assert.equal(ours.length > 0, rules === "unindexed");
      assert.ok(ours.every((text) => text.includes('".indexOn": "g" at /')), ours[0]);
    });

    if (version !== "5.2.0") continue;
    scenario("whoever leaves all ranges, or is removed, exits", async (setter, watcher) => {
      await setter.set({ leaves: at(0.5), goes: at(-0.5), stays: at(0) });
      const query = watcher.query({ center: HOME, radius: 1 });
      const { seen } = follow(query);
      await settled();
      seen.splice(0);
      await setter.set("leaves", at(500));
      await setter.remove("goes");
      await settled();
      assert.deepEqual(seen.splice(0), [["exited", "leaves"], ["exited", "goes"]]);
      await setter.set("leaves", at(0.1));
      await settled();
      assert.deepEqual(seen.splice(0), [["entered", "leaves"]]);
      query.cancel();
    });

    scenario(`keys that walk at random are where they are, seed ${SEED}`, async (setter, watcher) => {
      const chance = new Chance(SEED);
      const step = () => (chance.below(20_001) - 10_000) / 1000; // kilometres
      const circles = [[at(0), 1], [at(1), 4], [at(-3, 2), 6], [at(5, 5), 3]];
      const queries = circles.map(([center, radius]) => watcher.query({ center, radius }));
      const followed = queries.map(follow);
      const now = {};
      for (let turn = 0; turn < 25; turn += 1) {
        const moved = Object.fromEntries(Array.from({ length: 4 }, () => [
          `key-${chance.below(12)}`, chance.onceIn(6) ? null : at(step(), step()),
        ]));
        await setter.set(moved);
        Object.assign(now, moved);
        await settled();
        for (const [index, [center, radius]] of circles.entries()) {
          const inside = Object.keys(now).filter((key) => now[key] !== null
            && kilometres(now[key], center) <= radius);
          assert.deepEqual([...followed[index].keys].sort(), inside.sort(), `circle ${index}, turn ${turn}`);
        }
      }
      for (const query of queries) query.cancel();
    });
  }
}
