// What the pages do beside being read: older turns on scroll, new ones by themselves, find, copy,
// ranges of long texts. Every text from the server goes in as text; HTML comes only from this
// server's own fragments, which are safe where they are made, and never runs here: the pages'
// Content-Security-Policy allows this file and nothing else.

const PAGE_UNITS = 25;
const NEAR_END = 80; // pixels: closer to the end than this is at the end
const FAR_FROM_END = 2_000;
const AHEAD = 1_500; // pixels before the top at which older turns are asked for
const RANGE_BYTES = 1 << 18;
const FIRST_RANGE_BYTES = 1 << 14;
const MAX_FOUND = 10_000;
const SCROLLBACK_EVERY = 2_000; // milliseconds
const AGAIN_AFTER = 2_000; // milliseconds
const MAX_WATCHES = 64; // what the server lets one client watch
const MAX_MARKS = 10_000; // of spelled-out characters in one text
const MAX_QUERY = 7_500; // characters; a longer address is refused

const root = document.documentElement;
const one = (selector, within = document) => within.querySelector(selector);
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const main = () => one("main");
const facts = () => main().dataset;

// --- text --------------------------------------------------------------------

// The rule of `lettafast/visible.py`.
const JOINERS = "\\u200c\\u200d";
const UNSAFE =
  "\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\xad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f" +
  "\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ud800-\\udfff\\ufeff\\uffa0" +
  "\\ufff0-\\ufffb\\ufffe\\uffff\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e0fff}";
const SCRIPT = `[^\\x00-\\u02ff${UNSAFE}${JOINERS}]`;
const ODD = new RegExp(
  `[${UNSAFE}]|(?<!${SCRIPT})[${JOINERS}]|[${JOINERS}](?!${SCRIPT})`,
  "gu",
);

function spelled(character) {
  const number = character.codePointAt(0);
  if (character === "\r") return "\\r";
  if (number < 0x100) return `\\x${number.toString(16).padStart(2, "0")}`;
  if (number < 0x10000) return `\\u${number.toString(16).padStart(4, "0")}`;
  return `\\U${number.toString(16).padStart(8, "0")}`;
}

function visible(text) {
  const fragment = document.createDocumentFragment();
  const odd = [...text.matchAll(ODD)];
  let done = 0;
  if (odd.length > MAX_MARKS) {
    fragment.append(text.replace(ODD, (character) => spelled(character)));
    return fragment;
  }
  for (const found of odd) {
    fragment.append(text.slice(done, found.index), make("span", { class: "odd" }, spelled(found[0])));
    done = found.index + found[0].length;
  }
  fragment.append(text.slice(done));
  return fragment;
}

function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

function button(text, act, attributes = {}) {
  const made = make("button", { type: "button", ...attributes }, text);
  made.addEventListener("click", act);
  return made;
}

function size(bytes) {
  if (bytes < 1_000) return `${bytes} B`;
  const units = ["kB", "MB", "GB"];
  let value = bytes / 1_000;
  let unit = 0;
  while (value >= 999.5 && unit < 2) {
    value /= 1_000;
    unit += 1;
  }
  return `${value < 100 ? value.toFixed(1) : value.toFixed(0)} ${units[unit]}`;
}

function say(text) {
  one("#said").textContent = text;
}

function plural(count, word) {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}

// --- asking the server ---------------------------------------------------------

class Refusal extends Error {
  constructor(status, problem) {
    super(problem.detail || problem.title || `the server answered ${status}`);
    this.status = status;
    this.problem = problem;
  }
}

function address(path, query = {}) {
  const found = new URL(path, location.href);
  if (facts().mode === "lenient") found.searchParams.set("mode", "lenient");
  for (const [name, value] of Object.entries(query)) found.searchParams.set(name, value);
  return found;
}

async function ask(url, accept) {
  const answer = await fetch(url, { headers: { accept } });
  if (answer.ok) return answer;
  const type = answer.headers.get("content-type") || "";
  throw new Refusal(answer.status, type.includes("json") ? await answer.json() : {});
}

const parsed = (text) => new DOMParser().parseFromString(text, "text/html");

async function askHtml(url) {
  return parsed(await (await ask(url, "application/problem+json, */*;q=0.5")).text());
}

// A page says itself what is the matter with a conversation, whatever its status.
async function askPage(url) {
  const answer = await fetch(url, { headers: { accept: "text/html" } });
  const page = parsed(await answer.text());
  if (one("main[data-kind]", page)) return page;
  throw new Refusal(answer.status, {});
}

async function askJson(url) {
  return (await ask(url, "application/json")).json();
}

// --- turns: what is on the page -------------------------------------------------

const turnsBox = () => one("#turns");
const pages = () => [...turnsBox().children];
const older = () => (turnsBox() ? turnsBox().firstElementChild.dataset.older : "");
const end = () => turnsBox().lastElementChild.dataset.end;
const isNewest = () => Boolean(turnsBox()) && turnsBox().lastElementChild.dataset.atEnd === "yes";
const isAgent = (turn) => Boolean(turn) && turn.dataset.role === "assistant";

function fromEnd() {
  return root.scrollHeight - window.scrollY - window.innerHeight;
}

function toEnd() {
  window.scrollTo({ top: root.scrollHeight, behavior: "instant" });
}

// A page out of sight is not laid out. Its true height is noted first, so that nothing moves. Only
// for a page that was not shown yet: later the browser remembers the height, which counts more.
function measure(page) {
  page.classList.add("measured");
  page.style.containIntrinsicHeight = `auto ${page.getBoundingClientRect().height}px`;
  page.classList.remove("measured");
}

// What is at the top of the window, to be held there.
function heldPlace() {
  const top = one(".top").getBoundingClientRect().bottom;
  const isBelow = (element) => element.getBoundingClientRect().bottom > top + 1;
  for (const page of pages()) {
    if (!isBelow(page)) continue;
    const turn = all(".turn", page).find(isBelow);
    if (turn) return [one(":scope > header", turn), ...all(".part", turn)].find(isBelow) || turn;
  }
  return null;
}

function holding(change) {
  const place = heldPlace();
  const before = place && place.getBoundingClientRect().top;
  root.style.overflowAnchor = "none"; // the browser's own anchoring would move it twice
  change();
  if (place) {
    const moved = place.getBoundingClientRect().top - before;
    if (moved) window.scrollBy({ top: moved, behavior: "instant" });
  }
  requestAnimationFrame(() => {
    root.style.overflowAnchor = "";
  });
}

function recount(turn) {
  const tools = all(".parts > .tool", turn);
  const failed = tools.filter((tool) => tool.classList.contains("failed")).length;
  if (!tools.length) return;
  const count = one("header .count", turn) || make("span", { class: "count" });
  count.textContent = plural(tools.length, "tool call") + (failed ? `, ${failed} failed` : "");
  if (!count.isConnected) one("header time", turn).after(count);
}

let loadingOlder = null;

function loadOlder() {
  if (loadingOlder) return loadingOlder;
  const asked = fetchOlder().finally(() => {
    if (loadingOlder === asked) loadingOlder = null;
  });
  loadingOlder = asked;
  return asked;
}

async function fetchOlder() {
  const box = turnsBox();
  if (!box || !older()) return false;
  try {
    const query = { before: older(), limit: PAGE_UNITS };
    const page = one(".page", await askHtml(address(facts().turns, query)));
    if (box !== turnsBox()) return false;
    putOlder(document.adoptNode(page));
    return true;
  } catch (error) {
    if (box === turnsBox()) onRefusal(error);
    return false;
  }
}

function putOlder(page) {
  decorate(page);
  holding(() => {
    const first = one(".turn", turnsBox());
    const last = page.lastElementChild;
    const goesOn = page.dataset.endsMidTurn === "yes" && isAgent(last) && isAgent(first);
    turnsBox().prepend(page);
    if (goesOn) {
      one(".parts", first).prepend(...one(".parts", last).childNodes);
      one(":scope > header", first).replaceWith(one(":scope > header", last));
      first.dataset.offset = last.dataset.offset;
      first.setAttribute("aria-labelledby", last.getAttribute("aria-labelledby"));
      last.remove();
      first.id = last.id;
      recount(first);
    }
    measure(page);
    atBeginning();
  });
  watchOlder();
  refind();
}

function atBeginning() {
  const link = one("#older");
  if (link) link.hidden = !older();
  if (one("#beginning")) one("#beginning").hidden = Boolean(older());
}

let olderWatch = null;

function watchOlder() {
  olderWatch?.disconnect();
  const link = one("#older");
  if (!link || link.hidden) return;
  olderWatch = new IntersectionObserver(
    (seen) => seen.some((entry) => entry.isIntersecting) && loadOlder(),
    { rootMargin: `${AHEAD}px 0px 0px 0px` },
  );
  olderWatch.observe(link);
}

// --- what is new -----------------------------------------------------------------

let unseen = 0;
let wanted = null; // the end that the server told of last
let catching = null; // the turns that are being caught up with

// An answer that comes when others are shown by then is nothing for them.
async function catchUp(cursor) {
  const box = turnsBox();
  wanted = cursor;
  if (!box || catching === box) return;
  catching = box;
  try {
    while (box === turnsBox() && isNewest() && wanted !== end()) {
      const before = end();
      const page = one(".page", await askHtml(address(facts().turns, { after: before })));
      if (box !== turnsBox()) return;
      putNewer(document.adoptNode(page));
      if (end() === before) break;
    }
  } catch (error) {
    if (box === turnsBox()) onRefusal(error);
  } finally {
    if (catching === box) catching = null;
  }
}

function putNewer(page) {
  const follows = fromEnd() <= NEAR_END;
  const lastPage = turnsBox().lastElementChild;
  const last = all(".turn", lastPage).pop();
  const turns = all(".turn", page);
  // The new page is kept as the place of its turns; `at-end` is of the last page alone.
  page.dataset.atEnd = "yes";
  page.dataset.end ||= lastPage.dataset.end;
  decorate(page);
  if (page.dataset.startsMidTurn === "yes" && isAgent(turns[0]) && isAgent(last)) {
    one(".parts", last).append(...one(".parts", turns[0]).childNodes);
    turns.shift().remove();
    recount(last);
  }
  const grew = page.dataset.startsMidTurn === "yes" ? 1 : 0;
  turnsBox().append(page);
  measure(page);
  if (follows) {
    toEnd();
  } else {
    unseen += turns.length || grew;
  }
  showBelow();
  refind();
}

const below = button("", goBelow, { class: "below", hidden: "" });

function showBelow() {
  if (fromEnd() <= NEAR_END) unseen = 0;
  const isFar = isNewest() && fromEnd() > FAR_FROM_END;
  below.hidden = !unseen && !isFar;
  const text = unseen ? `${unseen} new below ↓` : "Newest ↓";
  if (below.textContent !== text) {
    below.textContent = text;
    if (unseen) say(`${plural(unseen, "new turn")} below`);
  }
}

function goBelow() {
  toEnd();
  all(".turn h2").pop()?.focus({ preventScroll: true });
  showBelow();
}

// --- notices -----------------------------------------------------------------------

const notices = make("div", { id: "notices" });

function notice(name, kind, heading, ...rest) {
  const isKnown = one(`[data-name="${name}"]`, notices)?.getAttribute("aria-label") === heading;
  dropNotice(name);
  const made = make(
    "section",
    { class: `banner ${kind}`, "aria-label": heading, "data-name": name },
    make("p", { class: "heading" }, heading),
    ...rest,
  );
  notices.append(made);
  if (!isKnown) say(heading);
}

function dropNotice(...names) {
  for (const name of names) one(`[data-name="${name}"]`, notices)?.remove();
}

function fault(problem) {
  const text = make("p");
  if (Number.isInteger(problem.line)) {
    text.append(`Line ${problem.line.toLocaleString()}, byte ${problem.offset.toLocaleString()}: `);
  }
  text.append(make("strong", {}, visible(String(problem.reason ?? "").replaceAll("_", " "))));
  return text;
}

function onRefusal(error) {
  if (!(error instanceof Refusal)) {
    notice("failed", "warn", "The server could not be reached", make("p", {}, "It is asked again."));
  } else if (error.status === 409) {
    onHistoryChanged();
  } else if (error.status === 422) {
    onRefused(error.problem);
  } else if (error.status === 401) {
    onNoToken();
  } else {
    const detail = make("p", {}, visible(error.message));
    notice("failed", "warn", "The server did not answer as asked", detail);
  }
}

function onHistoryChanged() {
  dropNotice("refused", "missing");
  notice(
    "history",
    "warn",
    "This transcript was replaced",
    make("p", {}, "What is on this page is what was there before."),
    button("Load it again", () => swap()),
  );
}

// The server refuses what comes behind an end of another history.
async function checkHistory() {
  const box = turnsBox();
  if (!end()) return;
  try {
    await askHtml(address(facts().turns, { after: end(), limit: 1 }));
  } catch (error) {
    if (box === turnsBox()) onRefusal(error);
  }
}

function onRefused(problem) {
  dropNotice("missing");
  const lenient = make("a", { class: "button", href: `${facts().here}?mode=lenient` }, "Read it leniently");
  notice(
    "refused",
    "bad",
    "This transcript is refused now",
    fault(problem),
    make("p", {}, "What was read before stays on this page."),
    lenient,
  );
}

function onMissing(problem) {
  dropNotice("refused");
  const detail = make("p", {}, visible(problem?.detail || "What was read before stays on this page."));
  notice("missing", "warn", "This transcript cannot be read now", detail);
}

function onNoToken() {
  const words = "Open the address that lettafast serve printed, or start it again for a new one.";
  notice("token", "bad", "This browser is no longer let in", make("p", {}, words));
}

// --- events ---------------------------------------------------------------------------

const EVENTS = ["grown", "history_changed", "refused", "missing", "verdict", "pane_closed"];

// What is told again, to a tab that begins to listen, may be of before its page was made.
function onEvent(type, data, isAgain = false) {
  if (facts().kind === "index") return onListed(type, data);
  if (data.watch !== facts().watch) return undefined;
  if (type === "verdict") return onVerdict(data.pane);
  if (type === "pane_closed") return onClosed();
  // While the page of another verdict is on its way, this is of what that shows.
  return swapping.then(() => isOfVerdict() && onConversation(type, data, isAgain));
}

function onClosed() {
  judged = null;
  dropNotice("failed");
  notice("closed", "warn", "This pane was closed", make("p", {}, "What it showed stays here."));
}

function onConversation(type, data, isAgain) {
  const isShown = Boolean(turnsBox());
  switch (type) {
    case "grown":
      dropNotice("refused", "missing", "failed");
      if (facts().shows === "terminal") return undefined;
      if (!data.cursor) return isShown ? checkHistory() : undefined;
      return isShown ? catchUp(data.cursor) : swap();
    case "history_changed":
      if (!isShown) return swap();
      return isAgain ? checkHistory() : onHistoryChanged();
    case "refused":
      if (isShown) return onRefused(data.problem ?? {});
      return facts().state === "refused" || facts().shows === "terminal" ? undefined : swap();
    default:
      if (isShown) return onMissing(data.problem);
      return isAgain || isSameState(data.problem) ? undefined : swap();
  }
}

function isSameVerdict(pane, known) {
  return (
    pane.verdict === known.verdict &&
    (pane.reason ?? "") === known.reason &&
    (pane.agent_id ?? "") === known.agent &&
    (pane.conversation_id ?? "") === known.conversation
  );
}

const isSameOffer = (pane, known) => (pane.offer?.command ?? "") === known.offer;

// Whether the page says already what is the matter with its conversation.
function isSameState(problem) {
  return facts().shows === "terminal" || String(problem?.type).endsWith(`:${facts().state}`);
}

let judged = null; // the verdict that the server told of last
let judging = false;

// The page is asked for until it is of the verdict that was told last, however late answers come.
async function onVerdict(pane) {
  dropNotice("closed", "failed");
  judged = pane;
  if (judging) return undefined;
  judging = true;
  try {
    while (!isOfVerdict()) {
      const told = judged;
      const isSame = isSameVerdict(told, facts());
      if (!(await swap())) return onUnshown();
      if (!isSame) say(told.verdict === "bound" ? "The pane shows a conversation now" : `Terminal: ${told.sentence}`);
      if (told === judged) break; // what the page says itself is of later than what was told
    }
  } finally {
    judging = false;
  }
  return undefined;
}

const isShownVerdict = (pane) => isSameVerdict(pane, facts()) && isSameOffer(pane, facts());
const isOfVerdict = () => !judged || isShownVerdict(judged);

function onUnshown() {
  if (!judged) dropNotice("failed");
  if (!judged || one('[data-name="token"]', notices)) return;
  const before = "What is on this page is what the pane showed before. It is asked for again.";
  notice(
    "failed",
    "warn",
    "The page of what this pane shows now did not come",
    make("p", {}, visible(judged.sentence ?? "")),
    make("p", {}, before),
  );
  setTimeout(() => isOfVerdict() || onVerdict(judged), AGAIN_AFTER);
}

let listTimer = 0;

function onListed(type, data) {
  const row = all("[data-watch]").find((found) => found.dataset.watch === data.watch);
  if (type === "verdict") {
    const isSame = row && isSameVerdict(data.pane, row.dataset) && isSameOffer(data.pane, row.dataset);
    if (isSame && (data.pane.agent_status ?? "") === row.dataset.status) return;
  } else if (type !== "pane_closed" || !row) {
    return;
  }
  clearTimeout(listTimer);
  listTimer = setTimeout(swap, 300);
}

function isLive(live) {
  const shown = one("#live");
  shown.hidden = false;
  shown.classList.toggle("off", !live);
  const text = live ? "Live" : "Reconnecting…";
  if (shown.textContent !== text) shown.textContent = text;
  if (live) dropNotice("token", "failed");
}

// As much of what is to be watched as the server takes, the first before the last.
function fitting(watches) {
  let length = 0;
  const fits = (name) => (length += encodeURIComponent(name).length + 7) <= MAX_QUERY;
  return [...new Set(watches)].slice(0, MAX_WATCHES).filter(fits).sort();
}

// One stream for all watches that are given to it; `tell` gets what comes.
class Stream {
  #source = null;
  #open = "";
  #wait = 1_000;
  #timer = 0;

  constructor(tell, live) {
    this.tell = tell;
    this.live = live;
  }

  watch(watches) {
    const query = new URLSearchParams(fitting(watches).map((name) => ["watch", name])).toString();
    if (query === this.#open) return false;
    this.#open = query;
    this.#connect();
    return true;
  }

  rest(isResting) {
    if (!isResting) return this.#connect();
    clearTimeout(this.#timer);
    return this.#source?.close();
  }

  #connect() {
    clearTimeout(this.#timer);
    this.#source?.close();
    this.#source = null;
    if (!this.#open) return;
    const source = new EventSource(`/api/events?${this.#open}`);
    this.#source = source;
    for (const type of EVENTS) {
      source.addEventListener(type, (event) => this.tell(type, JSON.parse(event.data)));
    }
    source.addEventListener("open", () => {
      this.#wait = 1_000;
      this.live(true);
    });
    source.addEventListener("error", () => {
      this.live(false);
      if (source.readyState === EventSource.CLOSED && source === this.#source) this.#again();
    });
  }

  #again() {
    this.#timer = setTimeout(() => this.#connect(), this.#wait);
    this.#wait = Math.min(this.#wait * 2, 30_000);
    ask("/api/health", "application/json").catch((error) => {
      if (error instanceof Refusal && error.status === 401) onNoToken();
    });
  }
}

// The tabs of a browser share one stream: the one that has the lock keeps it for all.
class SharedFeed {
  #tab = `${Date.now()}-${Math.random()}`;
  #channel = new BroadcastChannel("lettafast");
  #watches = [];
  #leader = null;

  constructor() {
    this.#channel.addEventListener("message", ({ data }) => this.#hear(data));
    window.addEventListener("pagehide", () => this.#post({ kind: "bye" }));
    window.addEventListener("pageshow", (event) => event.persisted && this.#hello());
    navigator.locks.request("lettafast-events", () => {
      this.#lead();
      return new Promise(() => {}); // kept until this page goes
    });
  }

  watch(watches) {
    if (watches.join() === this.#watches.join()) return; // nothing of it was missed
    this.#watches = watches;
    this.#hello();
  }

  #post(message) {
    this.#channel.postMessage({ ...message, tab: this.#tab });
  }

  #hello() {
    this.#post({ kind: "hello", watches: this.#watches });
    this.#leader?.joined(this.#tab, this.#watches);
  }

  #hear(message) {
    if (message.kind === "who") this.#post({ kind: "hello", watches: this.#watches });
    if (message.kind === "event") this.#tell(message);
    if (message.kind === "live") isLive(message.live);
    if (!this.#leader) return;
    if (message.kind === "hello") this.#leader.joined(message.tab, message.watches);
    if (message.kind === "bye") this.#leader.left(message.tab);
  }

  #tell({ type, data, to }) {
    if ((to ?? this.#tab) !== this.#tab || !this.#watches.includes(data.watch)) return;
    onEvent(type, data, to !== undefined);
  }

  #lead() {
    const tell = (message) => {
      this.#post(message);
      this.#tell({ to: undefined, ...message });
    };
    this.#leader = new Leader(tell, (live) => {
      this.#post({ kind: "live", live });
      isLive(live);
    });
    this.#leader.joined(this.#tab, this.#watches);
    this.#post({ kind: "who" });
    setInterval(() => {
      this.#leader.forget(this.#tab);
      this.#post({ kind: "who" });
    }, 60_000);
  }
}

class Leader {
  #tabs = new Map();
  #untold = new Set(); // tabs that came and were not told yet how things stand
  #last = new Map(); // what was told last of each watch, by type, in the order told
  #timer = 0;
  #live = false;

  constructor(tell, live) {
    this.tell = tell;
    this.live = live;
    this.stream = new Stream(
      (type, data) => {
        const told = this.#last.get(data.watch) ?? new Map();
        if (type !== "verdict") for (const other of EVENTS) if (other !== "verdict") told.delete(other);
        told.delete(type);
        this.#last.set(data.watch, told.set(type, data));
        tell({ kind: "event", type, data });
      },
      (live_) => {
        this.#live = live_;
        live(live_);
      },
    );
  }

  joined(tab, watches) {
    this.#tabs.set(tab, watches);
    this.#untold.add(tab);
    this.#soon();
  }

  left(tab) {
    this.#tabs.delete(tab);
    this.#soon();
  }

  // Tabs that ended without a word are forgotten; those that live answer, and come back.
  forget(own) {
    for (const tab of this.#tabs.keys()) if (tab !== own) this.#tabs.delete(tab);
  }

  #soon() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      const untold = [...this.#untold];
      this.#untold.clear();
      if (this.#watch() || !untold.length) return; // a new stream tells all of them
      this.live(this.#live);
      for (const to of untold) this.#tellAgain(to);
    }, 60);
  }

  #tellAgain(to) {
    for (const name of this.#tabs.get(to) ?? []) {
      for (const [type, data] of this.#last.get(name) ?? []) this.tell({ kind: "event", type, data, to });
    }
  }

  // Where not all can be watched, what a page shows comes before what a list names.
  #watch() {
    const watches = [...this.#tabs.values()].sort((few, many) => few.length - many.length).flat();
    for (const name of this.#last.keys()) if (!watches.includes(name)) this.#last.delete(name);
    return this.stream.watch(watches);
  }
}

function startFeed() {
  if (navigator.locks && window.BroadcastChannel) return new SharedFeed();
  const stream = new Stream(onEvent, isLive);
  // Browsers open six connections to a server: a tab out of sight leaves its own to the others.
  document.addEventListener("visibilitychange", () => stream.rest(document.hidden));
  return stream;
}

let feed = null;

function watchPage() {
  const { kind, watch } = facts();
  const watches = kind === "index" ? all("[data-watch]", main()).map((row) => row.dataset.watch) : [watch];
  const known = watches.filter(Boolean);
  if (known.length || feed) (feed ??= startFeed()).watch(known);
}

// --- another state of the same page ----------------------------------------------------

let swapping = Promise.resolve(true);

// One after the other: what is shown at last was asked for last. Gives whether it came.
function swap() {
  swapping = swapping.then(fetchState, fetchState);
  return swapping;
}

async function fetchState() {
  let page;
  try {
    page = await askPage(address(facts().here));
  } catch (error) {
    onRefusal(error);
    return false;
  }
  const focused = main().contains(document.activeElement) && document.activeElement;
  const query = one("#titles")?.value;
  notices.replaceChildren();
  document.title = page.title;
  for (const part of [".bar .name", "main"]) one(part).replaceWith(document.adoptNode(one(part, page)));
  const find = one("#find", page);
  if (Boolean(find) !== Boolean(one("#find"))) {
    closeFind();
    all("#find, [data-do=find]").forEach((found) => found.remove());
    if (find) {
      one(".bar").after(document.adoptNode(find));
      one(".tools [data-do=help]").before(document.adoptNode(one("[data-do=find]", page)));
    }
  }
  if (focused) sameElement(focused).focus({ preventScroll: true });
  setUp();
  refind();
  if (query) {
    one("#titles").value = query;
    filterTitles();
  }
  return true;
}

// What has the focus of what was there before, so that nobody is taken from where they are.
function sameElement(before) {
  const href = before.getAttribute("href");
  const link = href && all("a", main()).find((found) => found.getAttribute("href") === href);
  return document.getElementById(before.id) || link || main();
}

// --- the terminal's text ------------------------------------------------------------------

let refreshing = false;

async function refreshScrollback() {
  const box = one("#scrollback");
  if (!box || refreshing || document.hidden || facts().shows !== "terminal") return;
  refreshing = true;
  try {
    const fresh = one(".scrollback", await askHtml(address(facts().turns)));
    if (!fresh || box !== one("#scrollback")) return;
    putScrollback(box, document.adoptNode(fresh));
  } catch (error) {
    if (error instanceof Refusal && error.status === 401) onNoToken();
  } finally {
    refreshing = false;
  }
}

function putScrollback(box, fresh) {
  const before = one("pre", box);
  const after = one("pre", fresh);
  if (before && after) {
    if (before.textContent === after.textContent) return;
    const follows = before.scrollHeight - before.scrollTop - before.clientHeight <= NEAR_END;
    before.replaceChildren(...after.childNodes);
    if (follows) before.scrollTop = before.scrollHeight;
  } else if (box.textContent.trim() !== fresh.textContent.trim()) {
    box.replaceChildren(fresh);
  }
}

// --- long texts in ranges ---------------------------------------------------------------------

function decorateLong(box) {
  const more = one(".more", box);
  if (!more) return;
  one("a", more).remove();
  more.append(
    button("Show more", () => fetchRange(box, RANGE_BYTES)),
    button("Show all", (event) => fetchAll(box, event.currentTarget)),
  );
}

async function fetchRange(box, length) {
  if (box.dataset.busy) return false;
  box.dataset.busy = "yes";
  const { ref, part, shown } = box.dataset;
  try {
    const query = { ref, part, start: shown, length };
    const range = await askJson(address(`${facts().api}/content`, query));
    one("pre", box).append(visible(range.text));
    box.dataset.shown = range.end;
    one(".amount", box).textContent = `${size(range.end)} of ${size(range.size)}`;
    if (range.end >= range.size) one(".more", box).remove();
    return range.end < range.size && range.end > Number(shown);
  } catch (error) {
    if (box.isConnected) onRefusal(error);
    return false;
  } finally {
    delete box.dataset.busy;
  }
}

async function fetchAll(box, pressed) {
  const isRunning = box.dataset.all === "yes";
  box.dataset.all = isRunning ? "no" : "yes";
  pressed.textContent = isRunning ? "Show all" : "Stop";
  while (box.dataset.all === "yes" && (await fetchRange(box, RANGE_BYTES * 4)));
  box.dataset.all = "no";
  pressed.textContent = "Show all";
}

// What the page did not carry is fetched when it is opened.
function onOpened(details) {
  if (!details.open) return;
  for (const box of all(".long[data-shown='0']", details)) {
    const isInside = box.closest("details") === details;
    if (isInside && Number(box.dataset.size)) fetchRange(box, FIRST_RANGE_BYTES);
  }
}

// --- copy and raw ---------------------------------------------------------------------------

async function copy(text, pressed) {
  const said = (await isCopied(text)) ? "Copied" : "Not copied";
  say(said);
  if (pressed.dataset.said) return;
  const words = [...pressed.childNodes];
  pressed.dataset.said = said;
  pressed.replaceChildren(said);
  setTimeout(() => {
    pressed.replaceChildren(...words);
    delete pressed.dataset.said;
  }, 1_500);
}

async function isCopied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const focused = document.activeElement;
    const area = make("textarea", { class: "hidden" });
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    focused?.focus({ preventScroll: true });
    return done;
  }
}

function fenced(text, language = "") {
  const longest = Math.max(2, ...[...text.matchAll(/`{3,}/g)].map((found) => found[0].length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text.replace(/\n$/, "")}\n${fence}`;
}

function sourceOf(part) {
  const source = one("template.source", part);
  if (source) return source.content.textContent;
  const text = one("pre.text", part)?.textContent ?? "";
  return one(".more", part) ? `${text}…` : text;
}

function markdownOf(turn) {
  const said = [];
  for (const part of one(".parts", turn).children) {
    if (part.matches(".part.text, .part.error")) said.push(sourceOf(part));
    if (part.matches(".part.tool")) {
      const [name, summary, state] = ["tool-name", "tool-summary", "state"].map(
        (found) => one(`.${found}`, part).textContent,
      );
      said.push(`- ${name}${summary ? `: ${summary}` : ""} (${state})`);
    }
  }
  return `${said.join("\n\n")}\n`;
}

async function showRaw(pressed) {
  const turn = pressed.closest(".turn");
  const within = pressed.closest(".tool") ? one(".tool-body", pressed.closest(".tool")) : turn;
  const shown = one(":scope > .raw", within);
  if (shown) return shown.remove();
  const box = make("div", { class: "raw" });
  try {
    const ref = pressed.closest(".tool")?.dataset.ref;
    const [raw, isWhole] = ref ? await rawOfCall(ref) : await rawOfTurn(turn);
    if (!isWhole) box.append(make("p", { class: "note" }, "Only the end of this long turn:"));
    const text = visible(JSON.stringify(raw, null, 2));
    box.append(make("pre", { tabindex: "0", role: "group", "aria-label": "Raw" }, text));
  } catch (error) {
    return turn.isConnected ? onRefusal(error) : undefined;
  }
  within.append(box);
  return undefined;
}

// A ref is `at:` and the cursor that the entry begins at.
async function rawOfCall(ref) {
  const page = await askJson(address(facts().api, { after: ref.replace(/^at:/, "") }));
  const found = page.turns.flatMap((turn) => turn.parts).find((part) => part.ref === ref);
  if (!found) throw new Refusal(404, { detail: "This entry could not be found again." });
  return [found, true];
}

// The unit that the turn belongs to is asked for as a page of its own.
async function rawOfTurn(turn) {
  const turns = all(".turn");
  const next = turns.slice(turns.indexOf(turn) + 1).find((found) => !isAgent(found));
  const history = one(".page[data-history]").dataset.history;
  const last = turnsBox().lastElementChild.dataset.end;
  const before = next ? `${history}:${next.dataset.offset}` : last;
  const page = await askJson(address(facts().api, { before, limit: 1 }));
  const [from, to] = [Number(turn.dataset.offset), turn.dataset.role];
  const whole = page.turns.find((other) => other.offset === from);
  return [whole ?? page.turns.findLast((other) => other.role === to), Boolean(whole)];
}

// --- find -------------------------------------------------------------------------------------

const find = { text: "", found: [], at: -1, timer: 0, searching: false };

function openFind() {
  const box = one("#find");
  if (!box) return;
  box.hidden = false;
  one("#find-text").focus();
  one("#find-text").select();
}

function closeFind() {
  const box = one("#find");
  if (!box || box.hidden) return;
  const here = find.found[find.at];
  box.hidden = true;
  Object.assign(find, { text: "", found: [], at: -1, searching: false });
  paintFound();
  const turn = here?.startContainer.parentElement?.closest(".turn");
  (turn ? one("h2", turn) : main()).focus({ preventScroll: true });
}

// All places of the text in one part, across the elements within it.
function* rangesIn(part, text) {
  const nodes = [];
  const starts = [];
  let whole = "";
  const walker = document.createTreeWalker(part, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    if (walker.currentNode.parentElement.closest("button, .hidden, .more")) continue;
    nodes.push(walker.currentNode);
    starts.push(whole.length);
    whole += walker.currentNode.data;
  }
  const lower = whole.toLowerCase();
  const searched = lower.length === whole.length ? lower : whole;
  let node = 0;
  const place = (offset) => {
    while (node + 1 < starts.length && starts[node + 1] <= offset) node += 1;
    return [nodes[node], offset - starts[node]];
  };
  for (let at = searched.indexOf(text); at >= 0; at = searched.indexOf(text, at + text.length)) {
    const range = new Range();
    range.setStart(...place(at));
    const [last, offset] = place(at + text.length - 1);
    range.setEnd(last, offset + 1);
    yield range;
  }
}

function search() {
  find.found = [];
  if (!find.text || !turnsBox()) return;
  for (const part of all("#turns .part")) {
    for (const range of rangesIn(part, find.text)) {
      if (find.found.push(range) >= MAX_FOUND) return;
    }
  }
}

function isSamePlace(one_, other) {
  return one_.startContainer === other.startContainer && one_.startOffset === other.startOffset;
}

// What was found is found again where turns came.
function refind() {
  if (!find.text) return;
  const here = find.found[find.at];
  search();
  find.at = here ? find.found.findIndex((range) => isSamePlace(range, here)) : find.found.length - 1;
  paintFound();
}

function onFindText() {
  clearTimeout(find.timer);
  find.timer = setTimeout(() => {
    find.text = one("#find-text").value.toLowerCase();
    search();
    find.at = find.found.length - 1;
    if (find.at >= 0) showFound();
    paintFound();
  }, 120);
}

function paintFound() {
  const shown = one("#find-count");
  if (shown) {
    const total = find.found.length;
    const rest = find.searching ? ", looking in older turns…" : older() ? " in what is loaded" : "";
    const known = total >= MAX_FOUND ? `${total} or more` : `${total}`;
    shown.textContent = find.text ? `${total ? `${find.at + 1} of ${known}` : "None"}${rest}` : "";
  }
  if (!window.Highlight || !CSS.highlights) return;
  CSS.highlights.set("found", new Highlight(...find.found));
  CSS.highlights.set("found-now", new Highlight(...(find.at >= 0 ? [find.found[find.at]] : [])));
}

function showFound() {
  const range = find.found[find.at];
  const holder = range.startContainer.parentElement;
  for (let box = holder.closest("details"); box; box = box.parentElement.closest("details")) box.open = true;
  holder.scrollIntoView({ block: "center", behavior: "instant" });
  const box = holder.closest(".boxed, .lines, pre.code");
  if (box) {
    const [inner, outer] = [range.getBoundingClientRect(), box.getBoundingClientRect()];
    box.scrollTop += inner.top - outer.top - outer.height / 2;
  }
  const place = range.getBoundingClientRect();
  window.scrollBy({ top: place.top - window.innerHeight / 2, behavior: "instant" });
}

async function findNext(step) {
  if (!find.text || find.searching) return;
  if (find.found.length && find.at + step >= 0 && find.at + step < find.found.length) {
    find.at += step;
  } else if (step < 0 && older()) {
    await findInOlder();
  } else if (find.found.length) {
    find.at = step < 0 ? find.found.length - 1 : 0;
  }
  if (find.at >= 0) showFound();
  paintFound();
}

async function findInOlder() {
  const { text } = find;
  find.searching = true;
  paintFound();
  // `refind` keeps the place: what is found in older turns moves its number up from 0.
  while (find.searching && find.text === text && find.at <= 0 && older()) {
    if (!(await loadOlder())) break;
  }
  find.searching = false;
  if (find.at > 0) find.at -= 1;
}

// --- keys, jumps, help -------------------------------------------------------------------------

const top_ = () => parseFloat(getComputedStyle(root).scrollPaddingTop) || 0;

async function jump(step) {
  const turns = all(".turn.user");
  const focused = document.activeElement?.closest?.(".turn.user");
  const isOn = (turn) => {
    const rect = turn.getBoundingClientRect();
    return rect.bottom > 0 && rect.top < window.innerHeight;
  };
  const isPast = (turn) => turn.getBoundingClientRect().top - top_();
  let target;
  if (focused && isOn(focused)) {
    target = turns[turns.indexOf(focused) + step];
  } else if (step < 0 && fromEnd() <= NEAR_END) {
    target = turns.at(-1);
  } else {
    target = step > 0 ? turns.find((turn) => isPast(turn) > 4) : turns.findLast((turn) => isPast(turn) < -4);
  }
  if (!target && step < 0 && (await loadOlder())) return jump(step);
  if (!target) return step > 0 ? toEnd() : window.scrollTo({ top: 0, behavior: "instant" });
  target.scrollIntoView({ block: "start", behavior: "instant" });
  return one("h2", target).focus({ preventScroll: true });
}

function singleKeys() {
  try {
    return localStorage.getItem("keys") !== "no";
  } catch {
    return true;
  }
}

function openHelp() {
  one("#keys").checked = singleKeys();
  one("#help").showModal();
}

function onKey(event) {
  if (event.key === "Escape") {
    if (!one("#help").open) closeFind();
    return;
  }
  const isText = event.target.closest?.("input, textarea, select, [contenteditable]");
  if (isText || event.ctrlKey || event.metaKey || event.altKey || one("#help").open || !singleKeys()) return;
  const acts = {
    "/": () => (one("#titles") ? one("#titles").focus() : openFind()),
    "?": openHelp,
    j: () => turnsBox() && jump(1),
    k: () => turnsBox() && jump(-1),
  };
  const act = acts[event.key];
  if (!act) return;
  event.preventDefault();
  act();
}

function onFindKey(event) {
  if (event.key !== "Enter") return;
  event.preventDefault();
  findNext(event.shiftKey ? 1 : -1);
}

function onClick(event) {
  const pressed = event.target.closest?.("[data-do]");
  const acts = {
    help: openHelp,
    find: openFind,
    "find-older": () => findNext(-1),
    "find-newer": () => findNext(1),
    "find-close": closeFind,
    copy: () => copy(markdownOf(pressed.closest(".turn")), pressed),
    raw: () => showRaw(pressed),
    "copy-command": () => copy(one("code", pressed.parentElement).textContent, pressed),
  };
  if (pressed) acts[pressed.dataset.do]?.();
  const link = event.target.closest?.("#older");
  if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
    event.preventDefault();
    loadOlder();
  }
}

// --- the start page -----------------------------------------------------------------------------

function filterTitles() {
  const text = one("#titles").value.trim().toLowerCase();
  const rows = all(".row");
  let shown = 0;
  for (const row of rows) {
    row.hidden = !row.textContent.toLowerCase().includes(text);
    shown += !row.hidden;
  }
  for (const list of all(".list")) {
    if (one(".row", list)) list.hidden = Boolean(text) && !one(".row:not([hidden])", list);
  }
  one("#titles-count").textContent = text ? `${shown} of ${rows.length}` : "";
  one("#no-titles").hidden = shown > 0 || !text;
}

// --- start ----------------------------------------------------------------------------------------

const SAME_DAY = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });
const OTHER_DAY = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

function decorate(within) {
  const today = new Date().toDateString();
  for (const time of all("time[datetime]", within)) {
    const moment = new Date(time.dateTime);
    if (Number.isNaN(moment.getTime())) continue;
    time.title = time.textContent;
    time.textContent = (moment.toDateString() === today ? SAME_DAY : OTHER_DAY).format(moment);
  }
  for (const block of all(".prose pre.code", within)) {
    const box = make("div", { class: "code-box" });
    const head = make("div", { class: "code-head" });
    block.replaceWith(box);
    const code = one("code", block);
    const { language = "" } = code.dataset;
    const act = (event) => copy(fenced(code.textContent, language), event.currentTarget);
    head.append(language, button("Copy", act, { class: "quiet", "aria-label": "Copy this code as Markdown" }));
    box.append(head, block);
  }
  for (const box of all(".long", within)) decorateLong(box);
}

function setUp() {
  unseen = 0;
  wanted = null;
  loadingOlder = null;
  decorate(main());
  one("#titles")?.addEventListener("input", filterTitles);
  const terminal = one("pre.terminal");
  if (terminal) terminal.scrollTop = terminal.scrollHeight;
  history.scrollRestoration = turnsBox() ? "manual" : "auto";
  if (turnsBox()) {
    pages().forEach(measure);
    if (isNewest() && !location.hash) toEnd();
    watchOlder();
  }
  showBelow();
  watchPage();
  if (facts().late) swap();
}

root.classList.add("js");
one(".top").append(notices);
document.body.append(below);
document.addEventListener("click", onClick);
document.addEventListener("keydown", onKey);
document.addEventListener("toggle", (event) => onOpened(event.target), true);
document.addEventListener("input", (event) => event.target.id === "find-text" && onFindText());
document.addEventListener("keydown", (event) => event.target.id === "find-text" && onFindKey(event));
document.addEventListener("submit", (event) => event.target.id === "find" && event.preventDefault());
one("#keys").addEventListener("change", (event) => {
  try {
    localStorage.setItem("keys", event.currentTarget.checked ? "yes" : "no");
  } catch {
    // Without storage the choice cannot be kept.
  }
});
window.addEventListener("scroll", showBelow, { passive: true });
// What came to the list meanwhile is no event of what it names.
document.addEventListener("visibilitychange", () => !document.hidden && facts().kind === "index" && swap());
setInterval(refreshScrollback, SCROLLBACK_EVERY);
setUp();
root.dataset.ready = "yes";
