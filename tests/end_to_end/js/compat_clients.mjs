// Clients in the SDK's older form, with methods in place of functions (`firebase/compat`).
import firebase from "firebase/compat/app";
import "firebase/compat/database";

const apps = [];

/** Open one more client in the older form, with a connection of its own. */
export function compatClient(namespace) {
  const databaseURL = `${process.env.TREEDB_URL}?ns=${namespace}`;
  apps.push(firebase.initializeApp({ databaseURL }, `compat-${apps.length}`));
  return apps.at(-1).database();
}

/** End every client in the older form, so that the process can end. */
export async function endCompatClients() {
  for (const app of apps) {
    app.database().goOffline();
    await app.delete();
  }
}
