// A transaction whose place another changes before each of its attempts. The function of a
// transaction cannot wait, so the other write is a process that it runs to its end.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { sdks } from "./sdks.mjs";
import { server } from "./server.mjs";

const ATTEMPTS = 25; // the SDK's

for (const [api, sdk] of Object.entries(sdks)) {
  test(`after 25 attempts it gives up: ${api}`, async () => {
    const shared = server(process.env.TREEDB_URL, `lost-${api}`);
    await shared.clear();
    const client = sdk.open(shared, "one", {});
    const url = `${process.env.TREEDB_URL}/a.json?ns=lost-${api}`;
    const seen = [];
    const update = (current) => {
      seen.push(current);
      execFileSync("curl", ["--silent", "--fail", "-X", "PUT", "-d", `${seen.length}`, url]);
      return "mine";
    };
    try {
      const place = sdk.place(client.db, "a");
      await assert.rejects(sdk.transact(place, update, true), { message: "maxretry" });
      assert.deepEqual(seen, [null, ...Array.from({ length: ATTEMPTS - 1 }, (_, n) => n + 1)]);
      assert.equal((await sdk.get(place)).val(), ATTEMPTS);
      await sdk.write(place, "set", "the connection goes on");
    } finally {
      sdk.offline(client.db);
      await sdk.close(client.connection);
    }
  });
}
