// Clients that do what each line read asks for, [NAME, WHAT, PATH, VALUE] as JSON; NAME is a
// client's, "NAMESPACE WHO". Each line written is [NAME, "done"], or [NAME, "shown", PATH, VALUE] of
// a place that the client listens to.
import { createInterface } from "node:readline";
import {
  goOffline, onDisconnect, onValue, ref, remove, runTransaction, set, update,
} from "firebase/database";
import { client } from "./clients.mjs";

const clients = new Map();
const say = (...line) => console.log(JSON.stringify(line));

function clientOf(name) {
  if (!clients.has(name)) clients.set(name, client(name.split(" ")[0]));
  return clients.get(name);
}

const actions = {
  listen: (place, name, path) =>
    onValue(place, (snapshot) => say(name, "shown", path, snapshot.val())),
  set: (place, name, path, value) => set(place, value),
  update: (place, name, path, value) => update(place, value),
  remove: (place) => remove(place),
  transaction: (place, name, path, value) => runTransaction(place, () => value),
  leaveAtEnd: (place) => onDisconnect(place).remove(),
  end: (place, name) => goOffline(clientOf(name)),
};

for await (const line of createInterface({ input: process.stdin })) {
  const [name, what, path, value] = JSON.parse(line);
  await actions[what](ref(clientOf(name), path), name, path, value);
  say(name, "done");
}
process.exit();
