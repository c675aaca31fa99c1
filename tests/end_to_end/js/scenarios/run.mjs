// Play the scenarios of a file with both APIs beside each other, each as a test: run.mjs FILE
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { describe, mock, test } from "node:test";
import { sdks } from "./sdks.mjs";
import { server } from "./server.mjs";
import { play } from "./stage.mjs";

const [file] = process.argv.slice(2);
const { scenarios } = JSON.parse(await readFile(file, "utf8"));
mock.method(console, "warn", () => {}); // the SDK warns of every denial
mock.method(console, "log", () => {});

describe(basename(file), { concurrency: true }, () => {
  for (const [api, sdk] of Object.entries(sdks)) {
    const namespace = `${basename(file, ".json").replaceAll("_", "-")}-${api}`;
    const shared = server(process.env.TREEDB_URL, namespace);
    describe(api, { concurrency: 1 }, () => {
      for (const scenario of scenarios) test(scenario.name, () => play(scenario, sdk, shared));
    });
  }
});
