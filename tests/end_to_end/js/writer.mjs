// Set a place for each line read, answering each with a line once acknowledged: writer.mjs NAMESPACE PATH
import { createInterface } from "node:readline";
import { ref, set } from "firebase/database";
import { client } from "./clients.mjs";

const [namespace, path] = process.argv.slice(2);
const place = ref(client(namespace), path);
for await (const line of createInterface({ input: process.stdin })) {
  await set(place, JSON.parse(line));
  console.log("acknowledged");
}
process.exit();
