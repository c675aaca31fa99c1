// One client that does the steps it is told, in a process of its own: puppet.mjs API NAMESPACE
// Each line read is a step; each is answered with a line, null or what went wrong.
import { createInterface } from "node:readline";
import { sdks } from "./sdks.mjs";
import { server } from "./server.mjs";
import { Stage } from "./stage.mjs";

const [api, namespace] = process.argv.slice(2);
const stage = new Stage(sdks[api], server(process.env.TREEDB_URL, namespace));
console.warn = () => {}; // the SDK warns of every lost connection

for await (const line of createInterface({ input: process.stdin })) {
  const wrong = await stage.perform(JSON.parse(line)).then(() => null, ({ message }) => message);
  process.stdout.write(`${JSON.stringify(wrong)}\n`);
}
process.exit();
