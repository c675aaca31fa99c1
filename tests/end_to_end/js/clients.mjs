// What the scenarios share: clients of the npm package `firebase`, as anybody would make them.
import { deleteApp, initializeApp } from "firebase/app";
import { connectDatabaseEmulator, getDatabase, goOffline, onValue } from "firebase/database";

const apps = [];

/** Open one more client, with a connection of its own; `prepare` gets its app first. */
export function client(namespace, prepare = () => {}) {
  const databaseURL = `${process.env.TREEDB_URL}?ns=${namespace}`;
  const app = initializeApp({ databaseURL }, `client-${apps.length}`);
  apps.push(app);
  prepare(app);
  return getDatabase(app);
}

/** Open one more client that says who it is as one says it to the emulator. */
export function clientOf(namespace, mockUserToken) {
  const db = client(namespace);
  const { hostname, port } = new URL(process.env.TREEDB_URL);
  connectDatabaseEmulator(db, hostname, Number(port), { mockUserToken });
  return db;
}

/** Put rules in force in a namespace, as a developer does. */
export async function putRules(namespace, rules) {
  const answer = await fetch(`${process.env.TREEDB_URL}/.settings/rules.json?ns=${namespace}`, {
    method: "PUT",
    headers: { Authorization: "Bearer owner" },
    body: JSON.stringify({ rules }),
  });
  if (!answer.ok) throw new Error(await answer.text());
}

/** End every client, so that the process can end. */
export async function endClients() {
  for (const app of apps) {
    goOffline(getDatabase(app));
    await deleteApp(app);
  }
}

/** Wait until a listener at the place is shown a value that fits, and give that value. */
export function shown(place, fits) {
  return new Promise((resolve, reject) => {
    const stop = onValue(
      place,
      (snapshot) => {
        if (fits(snapshot.val())) {
          setTimeout(() => stop());
          resolve(snapshot.val());
        }
      },
      reject,
    );
  });
}
