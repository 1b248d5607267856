// The witness of lettafast: tells `lettafast panes` which conversation this Letta Code shows.
// `lettafast witness install` put it here, and `lettafast witness uninstall` takes it away.
//
// It keeps one small file about this process in ~/.local/state/lettafast/witness, and that is all.
// It shows, prints and sends nothing and changes nothing that Letta does. What goes wrong in here
// is swallowed and the file taken back, so that lettafast shows the terminal instead.

import fs from "node:fs";
import os from "node:os";
import path from "node:path";

const VERSION = 1;
const FOLDERS = [".local", "state", "lettafast", "witness"];
const RECORD = path.join(".letta", "settings.local.json"); // beneath the folder Letta is in
const LARGEST_RECORD = 1 << 20;
const TOUCH_MS = 5000;
const DOUBT_MS = 1000;
/** Where the activations of one process find each other, whichever version or copy they are of. */
const LATEST = Symbol.for("lettafast.witness");

export default function activate(letta) {
  return quietly(() => watch(letta));
}

function watch(letta) {
  // Only a letta with a terminal has panels: a headless one and a server show no conversation.
  if (!letta.capabilities.ui.panels) return undefined;

  const self = identity();
  const file = path.join(os.homedir(), ...FOLDERS, `${self.pid}.json`);
  let shown; // what the panel was last drawn for
  let text; // what the file is to hold
  let kept; // the descriptor of the file as it was last written
  let panel;
  let drawn = false; // since that was last asked for
  let lost = false; // what is shown is not known, until the panel is drawn again
  let examined; // the time of the record that was last looked at
  let timers = [];
  let over = false;
  const me = { seq: 0, retire }; // as other activations see it

  /** Writes the file at one blow. Its time says that this letta runs. */
  function save() {
    const made = path.join(openFolder(), `${self.pid}.new`);
    fs.rmSync(made, { force: true });
    const descriptor = fs.openSync(made, "wx", 0o600);
    try {
      fs.writeFileSync(descriptor, text);
      fs.renameSync(made, file);
    } catch (error) {
      fs.closeSync(descriptor);
      quietly(() => fs.unlinkSync(made));
      throw error;
    }
    forget();
    kept = descriptor;
  }

  function forget() {
    const descriptor = kept;
    kept = undefined;
    if (descriptor !== undefined) quietly(() => fs.closeSync(descriptor));
  }

  function keep() {
    if (lost) return;
    try {
      save();
    } catch {
      takeBack();
    }
  }

  /** What is not known to be so must not look so. The descriptor works on a full disk, too. */
  function takeBack() {
    if (kept !== undefined) quietly(() => fs.ftruncateSync(kept));
    quietly(() => fs.unlinkSync(file));
  }

  function tell(event) {
    me.seq += 1;
    const now = { ...self, ...shown, seq: me.seq, event, at_ms: Date.now() };
    text = `${JSON.stringify({ v: VERSION, ...now })}\n`;
    keep();
  }

  function look(context) {
    drawn = true;
    if (over) return;
    const agent_id = String(context.agent?.id ?? "");
    const conversation_id = String(context.sessionId ?? "");
    if (!lost && isShown(agent_id, conversation_id)) return;
    lost = false;
    const event = shown === undefined ? "start" : "switch";
    if (shown === undefined) begin();
    shown = { agent_id, conversation_id };
    tell(event); // at once: what is drawn is on the screen before anything that is put off
  }

  function isShown(agent_id, conversation_id) {
    return agent_id === shown?.agent_id && conversation_id === shown?.conversation_id;
  }

  /** A turn of another conversation says nothing of the one that is shown. */
  function hear(event, turn) {
    if (!over && shown !== undefined && isShown(turn.agentId, turn.conversationId)) tell(event);
  }

  /** A dialog hides the panel, and Letta may switch behind it. It records each switch. */
  function doubt() {
    const record = path.join(process.cwd(), RECORD);
    const found = fs.statSync(record, { throwIfNoEntry: false });
    if (found === undefined || found.mtimeMs === examined) return;
    const session = JSON.parse(readPlain(record)).lastSession;
    examined = found.mtimeMs;
    if (isShown(session?.agentId, session?.conversationId)) return;
    // Another letta may have written it: what is drawn tells.
    drawn = false;
    panel?.update();
    if (drawn) return;
    lost = true;
    takeBack();
  }

  /** From the first drawing on: what Letta has loaded and not drawn may be disposed already. */
  function begin() {
    const earlier = globalThis[LATEST];
    globalThis[LATEST] = me;
    me.seq = earlier?.seq ?? 0;
    quietly(() => earlier?.retire());
    timers = [setInterval(keep, TOUCH_MS), setInterval(() => quietly(doubt), DOUBT_MS)];
    for (const timer of timers) timer.unref();
    process.once("exit", leave);
    setImmediate(() => quietly(sweep));
  }

  function stop() {
    over = true;
    timers.forEach(clearInterval);
    forget();
  }

  /** Makes room for a later activation, which writes on in the same file. */
  function retire() {
    stop();
    process.removeListener("exit", leave);
  }

  function leave() {
    stop();
    quietly(() => fs.rmSync(file, { force: true }));
    quietly(() => fs.rmdirSync(path.dirname(file))); // which it does once that is empty
  }

  // A panel that draws nothing is not shown; Letta draws it again when its conversation changes.
  panel = letta.ui.openPanel({
    id: "lettafast-witness",
    order: 100,
    render(context) {
      quietly(() => look(context));
      return "";
    },
  });
  if (letta.capabilities.events?.turns) {
    for (const event of ["turn_start", "turn_end"]) {
      // It returns nothing, which leaves the turn as it is.
      quietly(() => letta.events.on(event, (turn) => void quietly(() => hear(event, turn))));
    }
  }

  return () => {
    if (!over && shown !== undefined) {
      lost = false;
      quietly(() => tell("closed"));
    }
    stop();
  };
}

function quietly(action) {
  try {
    return action();
  } catch {
    return undefined;
  }
}

/** What names this process and no other, as Linux has it; throws elsewhere. */
function identity() {
  const boot = fs.readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  const status = fs.readFileSync("/proc/self/stat", "utf8");
  // The name in parentheses may hold anything. The start is field 22, and what follows is field 3.
  const fields = status.slice(status.lastIndexOf(")") + 2).split(" ");
  return { boot_id: boot, pid: process.pid, start_ticks: Number(fields[19]) };
}

/** The folder of the witnesses, made where it is missing; throws where anybody else may write. */
function openFolder() {
  let folder = os.homedir();
  let found;
  if (!path.isAbsolute(folder)) throw new Error("HOME is relative");
  for (const name of FOLDERS) {
    folder = path.join(folder, name);
    if (!fs.lstatSync(folder, { throwIfNoEntry: false })) makeFolder(folder);
    found = fs.lstatSync(folder);
    if (!found.isDirectory()) throw new Error(`${folder} is a link`);
  }
  if (found.uid !== process.getuid() || found.mode & 0o077) throw new Error(`${folder} is open`);
  return folder;
}

/** What root makes in another user's home would be in that user's way, so it makes nothing. */
function makeFolder(folder) {
  const owner = fs.statSync(path.dirname(folder)).uid;
  if (process.getuid() === 0 && owner !== 0) throw new Error(`${folder} would be root's`);
  fs.mkdirSync(folder, 0o700);
}

/** The text of a regular file; throws for all else, and waits for nothing. */
function readPlain(name) {
  const descriptor = fs.openSync(name, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK);
  try {
    const found = fs.fstatSync(descriptor);
    if (!found.isFile() || found.size > LARGEST_RECORD) throw new Error(`${name} is no record`);
    return fs.readFileSync(descriptor, "utf8");
  } finally {
    fs.closeSync(descriptor);
  }
}

/** Takes away what lettas that are gone have left. */
function sweep() {
  const folder = path.join(os.homedir(), ...FOLDERS);
  for (const name of fs.readdirSync(folder)) {
    const pid = /^([0-9]{1,10})\.(json|new)$/.exec(name)?.[1];
    if (pid !== undefined && isGone(Number(pid))) fs.unlinkSync(path.join(folder, name));
  }
}

function isGone(pid) {
  try {
    process.kill(pid, 0); // sends nothing, and asks whether it runs
    return false;
  } catch (error) {
    return error.code === "ESRCH";
  }
}
