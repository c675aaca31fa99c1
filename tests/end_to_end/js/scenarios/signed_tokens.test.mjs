// Users whose tokens the server's secret signs, with both APIs of the npm package `firebase`.
import assert from "node:assert/strict";
import { before, mock, test } from "node:test";
import { sdks } from "./sdks.mjs";
import { server } from "./server.mjs";

const { TOKEN_OF_ANN, TOKEN_FORGED, TOKEN_OLD } = process.env;
const DENIED = { code: "PERMISSION_DENIED" };
const shared = server(process.env.TREEDB_URL, "default");

before(() => {
  mock.method(console, "warn", () => {}); // the SDK warns of every denial
  mock.method(console, "log", () => {});
});

/** Do something as a client with a token, then end it. */
async function as(sdk, token, perform) {
  const client = sdk.open(shared, "one", { canSignIn: true });
  client.signIn(token);
  try {
    await perform((path) => sdk.place(client.db, path), client.signIn);
  } finally {
    sdk.offline(client.db);
    await sdk.close(client.connection);
  }
}

for (const [api, sdk] of Object.entries(sdks)) {
  test(`a token lets its user in: ${api}`, () => as(sdk, TOKEN_OF_ANN, async (place) => {
    await sdk.write(place("own/ann"), "set", { n: 1 });
    assert.deepEqual((await sdk.get(place("own/ann"))).val(), { n: 1 });
    const { committed } = await sdk.transact(place("own/ann/n"), (n) => (n ?? 0) + 1, true);
    assert.ok(committed);
    await assert.rejects(sdk.write(place("own/bob"), "set", 1), DENIED);
    await assert.rejects(sdk.get(place("own/bob")), /Permission denied/);
  }));

  test(`without a token one is nobody: ${api}`, () => as(sdk, null, async (place) => {
    await assert.rejects(sdk.write(place("own/ann"), "set", 1), DENIED);
  }));

  for (const [kind, token] of [["forged", TOKEN_FORGED], ["old", TOKEN_OLD]]) {
    // The SDK ends a connection whose token was refused and tries again, with all that waits.
    test(`a ${kind} token does nothing until there is a good one: ${api}`, () =>
      as(sdk, token, async (place, signIn) => {
        const refused = new Promise((resolve) => {
          let wasConnected = false;
          sdk.listen(place(".info/connected"), "value", (snapshot) => {
            if (wasConnected && !snapshot.val()) resolve();
            wasConnected = snapshot.val();
          }, () => {});
        });
        const written = sdk.write(place("own/ann"), "set", kind);
        await refused;
        signIn(TOKEN_OF_ANN);
        await written;
        assert.equal((await sdk.get(place("own/ann"))).val(), kind);
      }));
  }
}
