// The compat API of the npm package `firebase`, as the stage wants an SDK.

/** Make it of the package's default export; `signable` gives an app what `firebase/auth` would. */
export function compat(firebase, signable = () => undefined) {
  const apps = new Map();

  return {
    open(server, connection, { namespace = "", host, user, canSignIn }) {
      const url = server.urlOf(namespace, host);
      if (!apps.has(connection)) {
        apps.set(connection, firebase.initializeApp({ databaseURL: url }, `${Math.random()}`));
      }
      const app = apps.get(connection);
      const signIn = canSignIn ? signable(app) : undefined;
      const db = app.database(url);
      const { hostname, port } = new URL(url);
      if (user !== undefined) db.useEmulator(hostname, Number(port), { mockUserToken: user });
      return { db, signIn, connection };
    },
    async close(connection) {
      const app = apps.get(connection);
      apps.delete(connection);
      if (app !== undefined) await app.delete();
    },
    place: (db, path, query = []) =>
      query.reduce((where, [name, ...given]) => where[name](...given), db.ref(path)),
    write: async (where, name, ...given) => where[name](...given),
    push: async (where, value) => (await where.push(value)).key,
    transact: (where, update, applyLocally) => where.transaction(update, undefined, applyLocally),
    onDisconnect: async (where, name, ...given) => where.onDisconnect()[name](...given),
    get: (where) => where.get(),
    once: (where) => where.once("value"),
    listen(where, event, heard, cancelled) {
      const taken = where.on(event, heard, cancelled);
      return () => where.off(event, taken);
    },
    offline: (db) => db.goOffline(),
    online: (db) => db.goOnline(),
  };
}
