// Leave writes for the end of the connection, say so, and stay: leaver.mjs NAMESPACE PATH
import { increment, onDisconnect, ref, serverTimestamp, set, update } from "firebase/database";
import { client } from "./clients.mjs";

const [namespace, path] = process.argv.slice(2);
const place = ref(client(namespace), path);
await update(place, { state: "online" });
await onDisconnect(place).update({ state: "offline", "last/at": serverTimestamp(), times: increment(1) });
await set(ref(client(namespace), `${path}-left`), true);
console.log("left");
