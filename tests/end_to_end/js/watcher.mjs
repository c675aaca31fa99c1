// Print every value a listener is shown at a place, one JSON text a line: watcher.mjs NAMESPACE PATH
import { onValue, ref } from "firebase/database";
import { client } from "./clients.mjs";

const [namespace, path] = process.argv.slice(2);
onValue(ref(client(namespace), path), (snapshot) => console.log(JSON.stringify(snapshot.val())));
