// What the scenarios share: clients of the npm package `firebase`, as anybody would make them.
import { deleteApp, initializeApp } from "firebase/app";
import { getDatabase, goOffline, onValue } from "firebase/database";

const apps = [];

/** Open one more client, with a connection of its own. */
export function client(namespace) {
  const databaseURL = `${process.env.TREEDB_URL}?ns=${namespace}`;
  const app = initializeApp({ databaseURL }, `client-${apps.length}`);
  apps.push(app);
  return getDatabase(app);
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
