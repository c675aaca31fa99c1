// Play the scenarios of tests/spec/scenarios with an SDK: its clients, their steps, what they hear.
// It knows no SDK and no Node, so that it runs in a page as well. The README beside the scenarios
// says what the steps mean. Nothing here sleeps: what a client has heard is complete once a write
// of its own is answered, as commits are published in order and before the answer.
import { act } from "./actions.mjs";
import { expect, expanded } from "./values.mjs";

const STEP_SECONDS = 60;

/** Play one scenario to its end; rejects with the number of the step that went wrong. */
export async function play(scenario, sdk, server) {
  const stage = new Stage(sdk, server, scenario.clients);
  try {
    await server.clear();
    if (scenario.rules !== undefined) await server.putRules(scenario.rules);
    for (const [index, step] of scenario.steps.entries()) {
      await stage.perform(step).catch((error) => {
        const text = JSON.stringify(step).slice(0, 300);
        throw new Error(`step ${index + 1}, ${text}: ${error.message}`, { cause: error });
      });
    }
  } finally {
    await stage.end();
  }
}

export class Stage {
  constructor(sdk, server, described = {}) {
    this.sdk = sdk;
    this.server = server;
    this.described = described;
    this.clients = new Map();
    this.listeners = new Map();
    this.names = {};
  }

  /** Do one step; a `pending` one is only begun, and looked at when it is to be acknowledged. */
  async perform(written) {
    const step = expanded(named(written, this.names));
    const client = this.client(step.by);
    const done = within(STEP_SECONDS, outcome(() => act(this, client, step), step));
    if (!step.pending) return done;
    const number = client.pending.length;
    client.pending.push(done.finally(() => client.answered.push(number)));
    client.pending.at(-1).catch(() => {}); // it is looked at later
    return undefined;
  }

  /** Return a client, opened when it is first spoken of. */
  client(name = "one") {
    if (!this.clients.has(name)) {
      const described = this.described[name] ?? {};
      const opened = this.sdk.open(this.server, described.connection ?? name, described);
      this.clients.set(name, { ...opened, isOffline: false, pending: [], answered: [] });
    }
    return this.clients.get(name);
  }

  async end() {
    for (const { db } of this.clients.values()) this.sdk.offline(db);
    for (const { connection } of this.clients.values()) await this.sdk.close(connection);
  }
}

/** Write the keys that pushes gave where a step names them: `{first}`. */
function named(step, names) {
  const text = JSON.stringify(step).replace(/\{(\w+)\}/g, (_, name) => names[name]);
  return JSON.parse(text);
}

async function outcome(perform, step) {
  if (step.error === undefined) return perform();
  const error = await perform().then(() => null, (thrown) => thrown);
  if (error === null) throw new Error(`it was done, expected ${JSON.stringify(step.error)}`);
  expect(error.message, step.error);
  if (step.code !== undefined) expect(error.code, step.code);
  return undefined;
}

function within(seconds, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not within ${seconds} s`)), seconds * 1000);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
