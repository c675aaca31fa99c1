// The modular API of the npm package `firebase`, as the stage wants an SDK.

/** Make it of the package's modules; `signable` gives an app what `firebase/auth` would. */
export function modular({ initializeApp, deleteApp }, database, signable = () => undefined) {
  const apps = new Map();
  const events = {
    value: database.onValue,
    child_added: database.onChildAdded,
    child_changed: database.onChildChanged,
    child_removed: database.onChildRemoved,
    child_moved: database.onChildMoved,
  };
  const place = (db, path, query = []) => {
    const constraints = query.map(([name, ...given]) => database[name](...given));
    const where = database.ref(db, path);
    return constraints.length ? database.query(where, ...constraints) : where;
  };

  return {
    open(server, connection, { namespace = "", host, user, canSignIn }) {
      const url = server.urlOf(namespace, host);
      if (!apps.has(connection)) {
        apps.set(connection, initializeApp({ databaseURL: url }, `${Math.random()}`));
      }
      const app = apps.get(connection);
      const signIn = canSignIn ? signable(app) : undefined;
      const db = database.getDatabase(app, url);
      const { hostname, port } = new URL(url);
      if (user !== undefined) {
        database.connectDatabaseEmulator(db, hostname, Number(port), { mockUserToken: user });
      }
      return { db, signIn, connection };
    },
    async close(connection) {
      const app = apps.get(connection);
      apps.delete(connection);
      if (app !== undefined) await deleteApp(app);
    },
    place,
    write: async (where, name, ...given) => database[name](where, ...given),
    push: async (where, value) => {
      const pushed = database.push(where, value);
      await pushed;
      return pushed.key;
    },
    transact: (where, update, applyLocally) =>
      database.runTransaction(where, update, { applyLocally }),
    onDisconnect: async (where, name, ...given) => database.onDisconnect(where)[name](...given),
    get: (where) => database.get(where),
    once: (where) => new Promise((resolve, reject) => {
      database.onValue(where, resolve, reject, { onlyOnce: true });
    }),
    listen: (where, event, heard, cancelled) => events[event](where, heard, cancelled),
    offline: database.goOffline,
    online: database.goOnline,
  };
}
