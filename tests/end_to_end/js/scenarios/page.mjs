// Play scenarios in a page, with both APIs of the npm package `firebase` as the page has them.
import * as application from "firebase/app";
import * as database from "firebase/database";
import { compat } from "./compat.mjs";
import { modular } from "./modular.mjs";
import { server } from "./server.mjs";
import { play } from "./stage.mjs";

console.warn = () => {}; // the SDK warns of every denial
console.log = () => {};

/**
 * Play scenarios with one API after the other; gives what went wrong, and with which. Not beside
 * each other: a browser has six connections to a server, and each client's long poll keeps one.
 */
export async function played(url, scenarios) {
  const sdks = { modular: modular(application, database), compat: compat(globalThis.firebase) };
  const wrong = [];
  for (const [api, sdk] of Object.entries(sdks)) {
    const shared = server(url, `page-${api}`, globalThis.administer); // a page may not put rules
    for (const scenario of scenarios) {
      const failed = await play(scenario, sdk, shared).then(() => null, (error) => error);
      if (failed !== null) wrong.push([api, scenario.name, failed.message]);
    }
  }
  return wrong;
}
