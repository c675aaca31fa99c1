// What the steps of a scenario do. Each action takes the stage, the step's client and the step.
import { expect, plain } from "./values.mjs";

export async function act(stage, client, step) {
  const action = ACTIONS[step.do];
  if (action === undefined) throw new Error(`there is no action ${step.do}`);
  return action(stage, client, step);
}

const place = ({ sdk }, { db }, { path, query }) => sdk.place(db, path, query);
const at = (stage, client, step) => [stage.sdk, place(stage, client, step)];

const SHOWN = {
  value: (snapshot) => snapshot.val(),
  export: (snapshot) => snapshot.exportVal(),
  keys: (snapshot) => children(snapshot).map(({ key }) => key),
  pairs: (snapshot) => children(snapshot).map((child) => [child.key, child.val()]),
  size: (snapshot) => snapshot.size ?? snapshot.numChildren(),
};

function children(snapshot) {
  const found = [];
  snapshot.forEach((child) => { found.push(child); });
  return found;
}

/** Do again and again what a step says, as several clients beside each other. */
async function race(stage, _, { clients, times, together = 1, step, results }) {
  const found = [];
  const one = async (client) => {
    for (let turn = 0; turn < times / together; turn += 1) {
      const begin = () => untilDone(() => act(stage, client, step));
      found.push(...(await Promise.all(Array.from({ length: together }, begin))));
    }
  };
  const racers = Array.from({ length: clients }, (_, number) => stage.client(`racer-${number}`));
  await Promise.all(racers.map(one));
  expect(found.length, clients * times);
  if (results === "1 to all") {
    expect(found.sort((a, b) => a - b), Array.from(found, (_, index) => index + 1));
  }
}

/** Try again when a client lost the race 25 times in a row, after which the SDK gives up. */
async function untilDone(transact) {
  for (;;) {
    try {
      return await transact();
    } catch (error) {
      if (error.message !== "maxretry") throw error;
    }
  }
}

/** Run a transaction whose function gives the answers, the last one again and again. */
async function transaction(stage, client, step) {
  const { answers, calls, committed = true, result, quiet = false } = step;
  const seen = [];
  const update = (current) => {
    seen.push(plain(current));
    return answer(answers[Math.min(seen.length, answers.length) - 1], current);
  };
  const [sdk, where] = at(stage, client, step);
  const ended = await sdk.transact(where, update, !quiet);
  if (calls !== undefined) expect(seen, calls);
  expect(ended.committed, committed);
  if (result !== undefined) expect(ended.snapshot.val(), result);
  return ended.snapshot.val();
}

function answer(wanted, current) {
  if (wanted === "abort") return undefined;
  if ("value" in wanted) return wanted.value;
  if ("add" in wanted) return (current ?? 0) + wanted.add;
  return { ...current, ...wanted.merge };
}

function listen(stage, client, step) {
  const { listener = "listener", events = ["value"], shows = "value" } = step;
  const [sdk, where] = at(stage, client, step);
  const heard = [];
  const record = { client, heard, wake: () => {} };
  const take = (news) => { heard.push(plain(news)); record.wake(); };
  const stops = events.map((event) => sdk.listen(where, event, (snapshot, previous) => {
    const what = SHOWN[shows](snapshot);
    if (events.length === 1 && event === "value") take(what);
    else take(event === "value" ? [event, what] : [event, snapshot.key, what, previous]);
  }, (error) => take({ cancelled: error.message })));
  record.stop = () => stops.forEach((stop) => stop());
  stage.listeners.set(listener, record);
}

/** Compare what a listener heard since it was last asked with what it should have heard. */
async function hears(stage, _, { listener = "listener", events, eventually }) {
  const record = stage.listeners.get(listener);
  const { client, heard } = record;
  if (eventually) {
    while (heard.length < events.length) await new Promise((resolve) => { record.wake = resolve; });
  } else if (!client.isOffline) {
    await settle(stage, client);
  }
  expect(heard.splice(0, eventually ? events.length : heard.length), events);
}

/** Wait for a write's answer: everything committed before it was heard of before it. */
async function settle({ sdk }, { db }) {
  await sdk.write(sdk.place(db, "~settled"), "remove").catch(() => {}); // a refusal is an answer
}

async function acknowledged(_, client, { inOrder }) {
  await Promise.all(client.pending);
  if (inOrder) expect(client.answered, client.pending.map((_, index) => index));
  client.pending = [];
  client.answered = [];
}

async function read(stage, client, step, how) {
  const [sdk, where] = at(stage, client, step);
  const snapshot = await sdk[how](where);
  for (const [name, show] of Object.entries(SHOWN)) {
    if (name in step) expect(show(snapshot), step[name]);
  }
}

const write = (name, ...given) => (stage, client, step) => {
  const [sdk, where] = at(stage, client, step);
  return sdk.write(where, name, ...given.map((each) => step[each]));
};

const ACTIONS = {
  set: write("set", "value"),
  setWithPriority: write("setWithPriority", "value", "priority"),
  setPriority: write("setPriority", "priority"),
  update: write("update", "value"),
  remove: write("remove"),
  push: async (stage, client, step) => {
    const [sdk, where] = at(stage, client, step);
    const key = await sdk.push(where, step.value);
    if (step.key !== undefined) stage.names[step.key] = key;
  },
  transaction,
  race,
  onDisconnect: async (stage, client, step) => {
    const [sdk, where] = at(stage, client, step);
    const given = ["value", "priority"].filter((name) => name in step).map((name) => step[name]);
    return sdk.onDisconnect(where, step.then, ...given);
  },
  get: (stage, client, step) => read(stage, client, step, "get"),
  once: (stage, client, step) => read(stage, client, step, "once"),
  listen: async (stage, client, step) => {
    listen(stage, client, step);
    if (!step.begun && !client.isOffline) await settle(stage, client);
  },
  stop: async (stage, _, { listener = "listener" }) => stage.listeners.get(listener).stop(),
  hears,
  acknowledged,
  settle: (stage, client) => settle(stage, client),
  repeat: async (stage, _, { times, step }) => {
    for (let turn = 0; turn < times; turn += 1) await stage.perform(step);
  },
  offline: async ({ sdk }, client) => {
    client.isOffline = true;
    sdk.offline(client.db);
  },
  online: async ({ sdk }, client) => {
    client.isOffline = false;
    sdk.online(client.db);
  },
  signIn: async (_, client, { user }) => client.signIn(user),
  rules: async ({ server }, _, { rules }) => server.putRules(rules),
  ref: async (stage, client, step) => { place(stage, client, step); },
};
