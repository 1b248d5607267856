// Plays Letta Code to the mod whose path is the first argument: one JSON command a line in, one
// line of JSON out once it is done. A double of `createLettaModApi` of Letta Code 0.34.12.
import readline from "node:readline";
import { pathToFileURL } from "node:url";

const activations = [];

/** As Letta does: a panel is drawn when that is asked for, but not while a dialog hides it. */
function open(host, panel) {
  host.panels.push(panel);
  return {
    update() {
      host.updates += 1;
      if (host.context && !host.hidden) panel.render(host.context);
    },
  };
}

function api(capabilities, host) {
  return {
    capabilities,
    ui: { openPanel: (panel) => open(host, panel) },
    events: { on: (name, handler) => void host.handlers.push({ name, handler }) },
  };
}

const does = {
  async activate({ path, capabilities = { ui: { panels: true }, events: { turns: true } } }) {
    const host = { panels: [], handlers: [], updates: 0, hidden: false };
    const mod = await import(`${pathToFileURL(path).href}?${activations.length}`);
    host.dispose = mod.default(api(capabilities, host));
    activations.push(host);
    return { panels: host.panels.length, events: host.handlers.map(({ name }) => name) };
  },
  draw({ at = -1, context }) {
    activations.at(at).context = context;
    return activations.at(at).panels.map((panel) => panel.render(context));
  },
  hide: ({ hidden, at = -1 }) => void (activations.at(at).hidden = hidden),
  updates: () => activations.at(-1).updates,
  turn: ({ at = -1, name, event }) =>
    activations
      .at(at)
      .handlers.filter((one) => one.name === name)
      .map((one) => one.handler(event) ?? null),
  dispose: ({ at = -1 }) => void activations.at(at).dispose?.(),
  listeners: () => process.listenerCount("exit"),
  exit: () => process.exit(0),
};

for await (const line of readline.createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  const answer = await does[command.do](command);
  await new Promise(setImmediate); // what the mod has put off: to sweep
  process.stdout.write(`${JSON.stringify(answer ?? null)}\n`);
}
