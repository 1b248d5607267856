"""A small machine in memory on which people use Letta Code, herdr and lettafast.

It knows what is really on each screen, and gives of it only the facts that
lettafast would gather. Its programs behave as Letta Code 0.34.12 and herdr 0.9
were seen to; where they may differ (which report a hook makes, and when) the
caller chooses. A file is written in no time, and a look takes none: what moves
within a look is for the tests of the gathering.

Times of `boot` run on; `now` is the wall clock, which can be set.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field, replace

from lettafast.binding.facts import (
    ChunkLog,
    Clock,
    Facts,
    FileTimes,
    Folder,
    Identity,
    OtherPane,
    PaneFacts,
    Places,
    Problem,
    ProcessFacts,
    Record,
    Script,
    Session,
    Span,
    StoredConversation,
    TranscriptFacts,
    Watched,
    Witness,
)
from lettafast.binding.rules import answer_of, is_local
from lettafast.binding.verdict import Bound, Reason, Verdict
from lettafast.binding.witnessed import FRESH_SECONDS, witness_of
from lettafast.herdr.records import DescribedProcess, Report
from lettafast.records import FileId

HOME = "/home/user"
CONFIG = f"{HOME}/.letta"
STORE = f"{CONFIG}/lc-local-backend"
LOCAL_KEY = f"local:{STORE}"
CLOUD_KEY = "api.letta.com"
SCRIPT = "/usr/lib/node_modules/@letta-ai/letta-code/letta.js"
ADA = "agent-local-ada"
BOB = "agent-local-bob"
CLOUDY = "agent-5f1c"
AGENTS = (ADA, BOB, CLOUDY)

BOOT_ID = "boot-1"
BOOTED_AT = 1_796_000_000.0
READY_AFTER = 2.0
"""Letta shows and records what it opens: seconds after its start."""
LOG_AFTER = 0.3
"""The time in the name of a chunk log: seconds after the start."""
BEAT = 5.0
"""How often a running mod writes its file again: seconds."""
TICK = 0.01
CLOCK_SLACK = 6.0
"""By how much a witness may look younger than it is, where the clock was set a little."""
TMUX = "/tmp/tmux-1000/default"
"""The socket of a tmux, to which nobody reports."""
KNOWN_LIMITS = frozenset(
    {
        "stale PWD",
        "excursion",
        "excursion after exec",
        "not written",
        "picker",
        "gone in the cloud",
        "moved folder, then written to",
        "clock",
    }
)
"""What excuses a wrong verdict of the proof "recorded"."""
WITNESS_LIMITS = frozenset({"cannot be taken back", "put back", "clock"})
"""What excuses one of the proof "witnessed"."""

PLACES = Places(
    home=HOME,
    config=CONFIG,
    store=STORE,
    transcripts=f"{CONFIG}/transcripts",
    chunk_logs=f"{CONFIG}/logs/chunk-logs",
    local_key=LOCAL_KEY,
    cloud_key=CLOUD_KEY,
)


@dataclass(eq=False)
class Conversation:
    """One conversation, which no other is, even where its id is given again."""

    agent: str
    id: str
    created: float

    @property
    def session(self) -> Session:
        return Session(self.agent, self.id)

    @property
    def key(self) -> str:
        return LOCAL_KEY if self.agent.startswith("agent-local-") else CLOUD_KEY

    @property
    def value(self) -> str:
        """What the hook reports."""
        return f"default:{self.agent}" if self.id == "default" else self.id


@dataclass(frozen=True)
class Said:
    """What a record says."""

    sessions: dict[str, Session] = field(default_factory=dict)
    last: Session | None = None
    last_agent: str | None = None

    def names(self, key: str, session: Session) -> bool:
        return (self.sessions.get(key), self.last, self.last_agent) == (
            session,
            session,
            session.agent_id,
        )

    def told(self, key: str, session: Session) -> Said:
        return Said({**self.sessions, key: session}, session, session.agent_id)


@dataclass(eq=False)
class File:
    """The record: what it says, and what `stat` says of it."""

    said: Said
    inode: int
    mtime: float
    ctime: float
    writable: bool = True


@dataclass(eq=False)
class Directory:
    """A folder that people work in, or `.letta` in it."""

    inode: int
    mtime: float
    ctime: float
    letta: Directory | None = None
    record: File | None = None


@dataclass(frozen=True)
class Told:
    """A witness's file: what it says, of whom, and when it was written."""

    identity: Identity
    session: Session
    seq: int
    event: str
    at_ms: int
    touched: float
    is_old: bool
    """Whether a mod of an older version wrote it."""


@dataclass(eq=False)
class Mod:
    """lettafast's mod in a running letta."""

    is_old: bool
    """An older version heard of no `/resume`."""
    next_beat: float
    """In seconds from boot."""
    shows: Session
    """What it was last drawn for."""
    seq: int = 0
    event: str = "start"
    at_ms: int = 0
    saved_at: float = 0.0
    """When it could do so last: seconds from boot."""


@dataclass(eq=False)
class Process:
    """A process, and what only the model knows: the conversation on its screen."""

    pid: int
    started: float
    launched: float
    """When it executed Letta, in seconds from boot: later than its start after `exec`."""
    argv: tuple[str, ...]
    arguments: tuple[str, ...]
    environ: dict[str, str]
    folder: Directory
    path: str
    """Letta's own idea of its folder: a text."""
    kind: str
    """`tui`, `headless`, `subagent` or `fork` (of git, before it executes)."""
    parent: Process | None = None
    state: str = "ready"
    """`loading`, `waiting` (in a picker or sign-in screen) or `ready`."""
    shows: Conversation | None = None
    opens: Conversation | str | None = None
    """While it loads: what it will show; `new` for one that is still to be made."""
    ready_at: float = 0.0
    known: dict[str, Said] = field(default_factory=dict)
    """Its copies of the records, by its idea of the folder."""
    hook: str = "on"
    streamed: Conversation | None = None
    """The last conversation in its chunk log."""
    streamed_at: float = 0.0
    """What the clock said when that was written."""
    mod: Mod | None = None
    suspended: bool = False
    log_lost: bool = False
    excused: set[str] = field(default_factory=set)
    """The known limits that it stands in."""
    witness_excused: set[str] = field(default_factory=set)
    """Those of its witness."""
    seen_away: bool = False
    """Whether lettafast looked while it was elsewhere."""
    switched_away: bool = False
    switched_unwritten: bool = False
    switched_displaced: bool = False

    @property
    def ticks(self) -> int:
        return int(self.started / TICK)

    @property
    def identity(self) -> Identity:
        return Identity(BOOT_ID, self.pid, self.ticks)

    @property
    def acts(self) -> bool:
        """Whether it does what it is told."""
        return self.state == "ready" and not self.suspended


@dataclass(eq=False)
class Pane:
    socket: str
    pane_id: str
    terminal: str
    path: str
    """The shell's folder."""
    shell_pid: int
    shell_started: float
    label: str | None = None
    report: str | None = None
    titled: bool = False
    """Whether Letta is set to show the conversation's id as the title."""
    foreground: list[Process] = field(default_factory=list)
    aliases: set[str] = field(default_factory=set)

    @property
    def letta(self) -> Process | None:
        return next((one for one in self.foreground if one.kind == "tui"), None)

    @property
    def agent(self) -> str | None:
        """The label; where nobody reports, lettafast looks itself."""
        if self.socket == TMUX:
            return "letta" if self.letta else None
        return self.label


@dataclass
class LateReport:
    """What a slow hook will still say."""

    socket: str
    pane_id: str
    value: str


@dataclass
class Memory:
    """What lettafast remembers: only what it looked at."""

    moved: set[Identity] = field(default_factory=set)
    offset: float | None = None


class World:
    """The machine. Each method is a step that a person or a program takes."""

    def __init__(self, installed: str | None = None) -> None:
        self.boot = 1_000.0
        self.offset = BOOTED_AT
        self.set_back = False
        """Whether the wall clock was ever."""
        self._inodes = itertools.count(100)
        self._terminals = itertools.count(1)
        self._ids = itertools.count(1)
        self._numbers: dict[str, itertools.count[int]] = {}
        self.folders: dict[str, Directory] = {}
        self.away: dict[str, Directory] = {}
        """Folders that were moved away, by their old path."""
        self.letta_away: dict[str, Directory] = {}
        """`.letta` folders that were moved away, by the path of the project."""
        self.unfit: set[str] = set()
        """Agents that Letta cannot find now, so that it asks which to open."""
        self.signed_in = True
        self.files_exhausted = False
        """Whether every `open` for writing fails now."""
        self.installed = installed
        """The mod in the home folder: `current`, `old` or none."""
        self.believed: set[str] = set()
        """What of a witness is taken for right without a look: its `identity`, its `version`."""
        self.disk = "free"
        """Of the witnesses: `full` can be deleted from, `stuck` cannot even that."""
        self.told: dict[int, Told] = {}
        """The witnesses' files, by their names."""
        self.store: dict[tuple[str, str], Conversation] = {}
        self.cloud: dict[tuple[str, str], Conversation] = {}
        self.transcripts: dict[Session, list[tuple[float, Conversation]]] = {}
        self.panes: list[Pane] = []
        self.outside: list[Process] = []
        """Lettas that run in no pane."""
        self.late: list[LateReport] = []
        self.memory = Memory()
        for path in (HOME, "/srv/a", "/srv/b"):
            self.folders[path] = self._directory()
        for agent in AGENTS:
            self._keep(Conversation(agent, "default", self.now))
        self.passes(1_000)

    # -- time ---------------------------------------------------------------

    @property
    def now(self) -> float:
        return self.boot + self.offset

    def passes(self, seconds: float) -> None:
        """Time passes; who was loading gets ready, in the order of their starts."""
        end = self.boot + seconds
        while due := [
            one for one in self.lettas() if one.state == "loading" and one.ready_at <= end
        ]:
            first = min(due, key=lambda one: one.ready_at)
            self._run_until(max(self.boot, first.ready_at))
            self._become_ready(first)
        self._run_until(end)

    def _run_until(self, end: float) -> None:
        """What the mods do every few seconds."""
        for one in self.lettas():
            mod = one.mod
            if mod is None or one.suspended or mod.next_beat > end:
                continue
            self.boot = mod.next_beat + BEAT * ((end - mod.next_beat) // BEAT)
            mod.next_beat = self.boot + BEAT
            self._save(one)
        self.boot = end

    def set_clock(self, by: float) -> None:
        """The wall clock is set; without an earlier look nobody can know."""
        self.offset += by
        self.set_back = self.set_back or by < 0
        if self.memory.offset is None and by > 0:
            for one in self.lettas():
                one.excused.add("clock")

    # -- the witnesses ------------------------------------------------------

    def load_mod(self, process: Process) -> None:
        """At the start, and by `/reload`: what is installed now, in the place of what was."""
        if process.kind != "tui" or process.state != "ready" or process.suspended:
            return
        shows, before = process.shows, process.mod
        assert shows is not None
        if self.installed is None:
            if before is not None:
                self._tell(process, "closed")
            process.mod = None
            return
        mod = Mod(self.installed == "old", self.boot + BEAT, shows.session)
        if before is not None:
            mod.seq, mod.saved_at = before.seq, before.saved_at
        process.mod = mod
        self._tell(process, "start")

    def _tell(self, process: Process, event: str) -> None:
        """Something that the mod heard of."""
        mod = process.mod
        if mod is not None:
            mod.seq, mod.event, mod.at_ms = mod.seq + 1, event, math.ceil(self.now * 1000)
            self._save(process)

    def _save(self, process: Process) -> None:
        """The file is written anew, or taken back where that fails."""
        mod = process.mod
        assert mod is not None
        process.witness_excused.clear()
        if self.disk != "stuck":
            mod.saved_at = self.boot
        if self.disk == "free":
            self.told[process.pid] = Told(
                process.identity, mod.shows, mod.seq, mod.event, mod.at_ms, self.now, mod.is_old
            )
        elif self.disk == "full":
            self.told.pop(process.pid, None)
        else:
            process.witness_excused.add("cannot be taken back")

    def put_back(self, process: Process, told: Told) -> None:
        """Somebody puts back what the file was, with the time of now."""
        if self.disk == "free":
            self.told[process.pid] = replace(told, touched=self.now)
            process.witness_excused.add("put back")

    def half_switched(self, process: Process, agent: str) -> None:
        """`/agents`: Letta draws the new agent first, and then its conversation.

        Both in one step, at whose end the mod tells it; this is a mod that did not wait.
        The store refuses what it tells but for a default conversation.
        """
        shows = process.shows
        if process.acts and process.mod and shows and shows.id != "default":
            process.mod.shows = Session(agent, shows.id)
            self._tell(process, "switch")

    def _witness(self, process: Process) -> Witness | Problem:
        """What `read_witness` makes of the file."""
        told = self.told.get(process.pid)
        if told is None:
            return Problem(Reason.WITNESS_MISSING, "there is none")
        if told.is_old and "version" not in self.believed:
            return Problem(Reason.WITNESS_INVALID, "of an old mod")
        if told.identity != process.identity and "identity" not in self.believed:
            return Problem(Reason.WITNESS_INVALID, "of a process before")
        if max(told.touched, told.at_ms / 1000) > self.now + 5:
            return Problem(Reason.WITNESS_INVALID, "it is of the future")
        return witness_said(told)

    # -- things on disk -----------------------------------------------------

    def _directory(self) -> Directory:
        return Directory(next(self._inodes), self.now, self.now)

    def _touched(self, directory: Directory) -> None:
        directory.mtime = directory.ctime = self.now

    def _letta_of(self, directory: Directory) -> Directory:
        if directory.letta is None:
            directory.letta = self._directory()
            self._touched(directory)
        return directory.letta

    def _write_record(self, directory: Directory, said: Said) -> None:
        """As Letta does: in place."""
        letta = self._letta_of(directory)
        if letta.record is None:
            letta.record = File(said, next(self._inodes), self.now, self.now)
            self._touched(letta)
        else:
            letta.record.said = said
            letta.record.mtime = letta.record.ctime = self.now

    def _record_at(self, path: str) -> File | None:
        directory = self.folders.get(path)
        return directory.letta.record if directory and directory.letta else None

    def edit_record(self, path: str, said: Said | None = None) -> None:
        """An editor writes a new file over the record, perhaps with other words."""
        directory = self.folders[path]
        letta = self._letta_of(directory)
        old = letta.record.said if letta.record else Said()
        letta.record = File(said or old, next(self._inodes), self.now, self.now)
        self._touched(letta)

    def touch_record(self, path: str, age: float) -> None:
        """The record gets an old mtime; its ctime cannot be set."""
        if file := self._record_at(path):
            file.mtime, file.ctime = self.now - age, self.now

    def restore_record(self, path: str, said: Said, age: float) -> None:
        """An older record is restored in place, with its old mtime."""
        if file := self._record_at(path):
            file.said, file.mtime, file.ctime = said, self.now - age, self.now

    def protect_record(self, path: str, writable: bool) -> None:
        """The record is made read-only (or append-only), or writable again."""
        if file := self._record_at(path):
            file.writable, file.ctime = writable, self.now

    def move_letta_away(self, path: str) -> None:
        directory = self.folders[path]
        if directory.letta and path not in self.letta_away:
            self.letta_away[path], directory.letta = directory.letta, None
            self.letta_away[path].ctime = self.now
            self._touched(directory)

    def move_letta_back(self, path: str) -> None:
        if path in self.letta_away and path in self.folders:
            directory = self.folders[path]
            directory.letta = self.letta_away.pop(path)
            directory.letta.ctime = self.now
            self._touched(directory)

    def move_folder_away(self, path: str) -> None:
        if path in self.folders and path not in self.away and path != HOME:
            self.away[path] = self.folders.pop(path)
            self.away[path].ctime = self.now

    def move_folder_back(self, path: str) -> None:
        """What was made in its place meanwhile is deleted."""
        if path in self.away:
            self.folders[path] = self.away.pop(path)
            self.folders[path].ctime = self.now

    def make_file(self, path: str) -> None:
        """Somebody works in the folder."""
        if path in self.folders:
            directory = self.folders[path]
            self._touched(directory)
            for one in self.lettas():
                if one.folder is directory and one.switched_displaced:
                    one.excused.add("moved folder, then written to")

    # -- conversations ------------------------------------------------------

    def _keep(self, made: Conversation) -> Conversation:
        kept = self.store if made.key == LOCAL_KEY else self.cloud
        kept[(made.agent if made.id == "default" else "", made.id)] = made
        return made

    def _make(self, agent: str) -> Conversation:
        """A new conversation; a local id is one more than the greatest there is."""
        if not agent.startswith("agent-local-"):
            return self._keep(Conversation(agent, f"conv-{next(self._ids)}", self.now))
        taken = [int(name.rpartition("-")[2]) for _, name in self.store if name != "default"]
        return self._keep(Conversation(agent, f"local-conv-{max(taken, default=0) + 1}", self.now))

    def find(self, session: Session) -> Conversation | None:
        kept = self.store if session.agent_id.startswith("agent-local-") else self.cloud
        named = session.agent_id if session.conversation_id == "default" else ""
        found = kept.get((named, session.conversation_id))
        return found if found is not None and found.agent == session.agent_id else None

    def conversations(self) -> list[Conversation]:
        return [*self.store.values(), *self.cloud.values()]

    def delete_newest(self) -> None:
        """Somebody deletes the folder of the newest local conversation; its transcript stays."""
        self.passes(0.1)
        numbers = [key for key in self.store if key[1] != "default"]
        if numbers:
            del self.store[max(numbers, key=lambda key: int(key[1].rpartition("-")[2]))]

    def delete_in_cloud(self, conversation: Conversation) -> None:
        if self.cloud.pop(("", conversation.id), None) is not None:
            for one in self.lettas():
                if one.opens is conversation:
                    one.excused.add("gone in the cloud")

    def lose_transcript(self, session: Session) -> None:
        self.transcripts.pop(session, None)

    def truncate_transcript(self, session: Session) -> None:
        if session in self.transcripts:
            self.transcripts[session] = []

    # -- processes ----------------------------------------------------------

    def lettas(self) -> list[Process]:
        """All that runs Letta Code, but for forks."""
        everything = itertools.chain(self.outside, *(pane.foreground for pane in self.panes))
        return [one for one in everything if one.kind != "fork"]

    def _pid(self) -> int:
        """The lowest that is free: pids come again at once."""
        taken = {one.pid for pane in self.panes for one in pane.foreground}
        taken |= {one.pid for one in self.outside} | {pane.shell_pid for pane in self.panes}
        return next(pid for pid in itertools.count(4_000) if pid not in taken)

    def open_pane(self, path: str, socket: str = "/run/herdr.sock") -> Pane:
        numbers = self._numbers.setdefault(socket, itertools.count(1))
        pane = Pane(
            socket,
            f"w1:p{next(numbers)}",
            f"term_{next(self._terminals)}",
            path,
            self._pid(),
            self.boot,
        )
        self.panes.append(pane)
        return pane

    def start(
        self,
        pane: Pane,
        *arguments: str,
        hook: str = "on",
        environ: dict[str, str] | None = None,
        execute: bool = False,
        into: str | None = None,
        after: float = 1.0,
    ) -> Process | None:
        """Somebody starts letta in the pane: `execute` in the shell's place, `into` by `env -C`."""
        path = into or pane.path
        if pane.foreground or pane.path not in self.folders or path not in self.folders:
            return None
        self.passes(after)
        process = Process(
            pid=pane.shell_pid if execute else self._pid(),
            started=pane.shell_started if execute else self.boot,
            launched=self.boot,
            argv=("node", SCRIPT, *arguments),
            arguments=arguments,
            environ={"HOME": HOME, "PWD": pane.path, **_named(pane), **(environ or {})},
            folder=self.folders[path],
            path=path,
            kind="tui",
            state="loading",
            ready_at=self.boot + READY_AFTER,
            hook=hook,
        )
        if into is not None:
            process.excused.add("stale PWD")
        self._choose(process)
        if process.state == "failed":
            return None
        pane.foreground.append(process)
        pane.label = "letta"
        return process

    def _choose(self, process: Process) -> None:
        """What a starting letta will show: its arguments, then the record of its folder."""
        said = self._known(process)
        options = dict(itertools.zip_longest(process.arguments[::2], process.arguments[1::2]))
        chosen = options.get("--conversation")
        backend = CLOUD_KEY if options.get("--backend") == "cloud" else None
        if "--resume" in options or (backend and not self.signed_in):
            process.state = "waiting"
            if "--resume" not in options and said.last and self._key(said.last) == CLOUD_KEY:
                process.excused.add("picker")
            return
        if chosen is not None:
            agent = options.get("--agent")
            process.opens = next(
                (
                    one
                    for one in self.conversations()
                    if one.id == chosen and agent in (None, one.agent)
                ),
                None,
            )
            if process.opens is None:
                process.state = "failed"
            elif process.opens.key == CLOUD_KEY and not self.signed_in:
                process.state = "waiting"
            return
        key = backend or (said.last and self._key(said.last)) or LOCAL_KEY
        session = said.sessions.get(key)
        if "--new" in options:
            process.opens = "new"
            return
        signed_out = key == CLOUD_KEY and not self.signed_in
        if session is None or session.agent_id in self.unfit or signed_out:
            process.state = "waiting"
            process.excused.add("picker")
            return
        process.opens = self.find(session)
        if process.opens is None:
            process.opens = self.find(Session(session.agent_id, "default"))
            if key == CLOUD_KEY:
                process.excused.add("gone in the cloud")

    def _key(self, session: Session) -> str:
        return LOCAL_KEY if session.agent_id.startswith("agent-local-") else CLOUD_KEY

    def _known(self, process: Process) -> Said:
        """Its copy of the record of the folder that it is in, read once."""
        if process.path not in process.known:
            file = self._record_at(process.path)
            process.known[process.path] = file.said if file else Said()
        return process.known[process.path]

    def _persist(self, process: Process, conversation: Conversation) -> None:
        """Letta's write: skipped when its copy says the same already; it may fail."""
        said = self._known(process)
        if said.names(conversation.key, conversation.session):
            return
        process.known[process.path] = said.told(conversation.key, conversation.session)
        directory = self.folders.get(process.path)
        file = self._record_at(process.path)
        process.switched_unwritten = self.files_exhausted
        if self.files_exhausted:
            return
        if file is not None and not file.writable:
            return
        if directory is None:
            directory = self.folders[process.path] = self._directory()
        old = file.said if file else Said()
        self._write_record(directory, old.told(conversation.key, conversation.session))

    def _become_ready(self, process: Process) -> None:
        opens = process.opens
        if opens == "new":
            said = self._known(process)
            session = said.last or Session(ADA, "default")
            opens = self._make(session.agent_id)
        assert isinstance(opens, Conversation)
        # What is gone meanwhile cannot be opened.
        opens = self.find(opens.session) or self.find(Session(opens.agent, "default"))
        process.state, process.shows, process.opens = "ready", opens, None
        environ = process.environ
        if (
            environ.get("LETTA_CODE_AGENT_ROLE") != "subagent"
            and environ.get("LETTA_DISABLE_SESSION_PERSIST") != "1"
        ):
            self._persist(process, opens)
        self._judge(process)
        self._report(process)
        self.load_mod(process)

    def _report(self, process: Process) -> None:
        assert process.shows is not None
        if "HERDR_PANE_ID" not in process.environ:
            return
        report = LateReport(
            process.environ["HERDR_SOCKET_PATH"],
            process.environ["HERDR_PANE_ID"],
            process.shows.value,
        )
        if process.hook == "on":
            self._deliver(report)
        elif process.hook == "slow":
            self.late.append(report)

    def _deliver(self, report: LateReport) -> None:
        """herdr keeps the first report of the pane until it sees the agent go."""
        for pane in self.panes:
            if pane.socket == report.socket and report.pane_id in (pane.pane_id, *pane.aliases):
                pane.report = pane.report or report.value

    def deliver_late(self) -> None:
        for report in self.late:
            self._deliver(report)
        self.late.clear()

    # -- in a running letta -------------------------------------------------

    def new(self, process: Process, agent: str | None = None) -> None:
        """`/new`, or `/fork`: a new conversation, the old one's agent."""
        if process.acts and process.shows is not None:
            self._show(process, self._make(agent or process.shows.agent))
            self._report(process)

    def resume(self, process: Process, conversation: Conversation) -> None:
        """`/resume`: no hook runs."""
        if process.acts:
            self._show(process, conversation)

    def _show(self, process: Process, conversation: Conversation) -> None:
        process.shows = conversation
        process.switched_away = process.path != process.environ["PWD"]
        process.switched_displaced = self.folders.get(process.path) is not process.folder
        self._persist(process, conversation)
        self._judge(process)
        if process.mod is not None and not process.mod.is_old:
            process.mod.shows = conversation.session
            self._tell(process, "switch")

    def turn(self, process: Process, ends: bool = True) -> None:
        """A turn is streamed; only one that ends is written to the transcript."""
        shows = process.shows
        if not process.acts or shows is None or self.find(shows.session) is not shows:
            return
        if process.mod is not None and process.mod.shows == shows.session:
            self._tell(process, "turn_start")
        process.streamed, process.streamed_at = shows, self.now
        if ends:
            self.transcripts.setdefault(shows.session, []).append((self.now, shows))
        self._judge(process)

    def lose_log(self, process: Process) -> None:
        process.log_lost = True
        self._judge(process)

    def change_folder(self, process: Process, path: str) -> None:
        """`/cd`."""
        if process.acts and path in self.folders:
            process.path, process.folder = path, self.folders[path]
            self._judge(process)

    def _judge(self, process: Process) -> None:
        """Whether the process stands in a known limit now, but for those that stay."""
        told = process.streamed is process.shows and not process.log_lost
        process.excused -= {"picker", "gone in the cloud", "excursion", "not written"}
        if process.switched_away and not told:
            process.excused.add("excursion")
        if process.switched_unwritten and not told:
            process.excused.add("not written")

    def choose_in_picker(self, process: Process, conversation: Conversation) -> None:
        """Who waits in a picker or sign-in screen chooses what to open."""
        if process.state == "waiting":
            process.state, process.opens = "loading", process.opens or conversation
            process.ready_at = self.boot + READY_AFTER

    def close(self, pane: Pane, seen: bool = True, killed: bool = False) -> None:
        """Letta ends; herdr may miss that it did, and one that is killed leaves its witness."""
        process = pane.letta
        if process is None:
            return
        if process.mod is not None and not killed and self.disk != "stuck":
            self.told.pop(process.pid, None)
        if process.pid == pane.shell_pid:
            self.panes.remove(pane)
            return
        shows = process.shows
        if process.acts and not killed and shows is not None and shows.id != "default":
            self._persist(process, shows)
        pane.foreground.clear()
        pane.label = None
        if seen:
            pane.report = None

    def suspend(self, process: Process) -> None:
        """It is stopped where it is, by a signal."""
        if process.state == "ready":
            process.suspended = True

    def go_on(self, process: Process) -> None:
        """Its timers are overdue, and run at once."""
        process.suspended = False
        self.passes(0)

    def interrupt(self, pane: Pane) -> None:
        """Letta is put into the background; herdr takes that for an exit, and it goes on."""
        process = pane.letta
        if process is not None and process.pid != pane.shell_pid:
            pane.foreground.clear()
            pane.label = pane.report = None
            self.outside.append(process)

    def bring_back(self, pane: Pane) -> None:
        """A letta that was put into the background of this pane is in front again."""
        for process in self.outside:
            if not pane.foreground and process.environ.get("HERDR_PANE_ID") == pane.pane_id:
                self.outside.remove(process)
                pane.foreground.append(process)
                pane.label = "letta"
                return

    def headless(self, path: str, agent: str = ADA) -> None:
        """`letta -p`: a new conversation, recorded; no transcript."""
        if path in self.folders and not self.files_exhausted:
            made = self._make(agent)
            file = self._record_at(path)
            if file is None or file.writable:
                old = file.said if file else Said()
                self._write_record(self.folders[path], old.told(made.key, made.session))

    def subagent(self, pane: Pane, kind: str = "subagent") -> None:
        """A child in the group: a subagent, or a fork that shows letta's argv for now."""
        parent = pane.letta
        if parent is not None and parent.state == "ready" and len(pane.foreground) < 3:
            pane.foreground.append(
                replace(
                    parent,
                    pid=self._pid(),
                    started=self.boot,
                    launched=self.boot,
                    kind=kind,
                    parent=parent,
                    known={},
                    excused=set(),
                    streamed=None,
                    mod=None,
                )
            )

    def subagents_end(self, pane: Pane) -> None:
        pane.foreground = [one for one in pane.foreground if one.parent is None]

    def beside(self, pane: Pane) -> None:
        """A second letta in the same foreground group: a pipeline."""
        one = pane.letta
        if one is not None and one.state == "ready" and len(pane.foreground) == 1:
            now = self.boot
            pane.foreground.append(
                replace(
                    one,
                    pid=self._pid(),
                    started=now,
                    launched=now,
                    known={},
                    excused=set(),
                    mod=None,
                )
            )

    # -- herdr --------------------------------------------------------------

    def restart_herdr(self, resume: bool) -> None:
        """A cold restart: all terminals are new; the first pane of each report is resumed."""
        resumed = set()
        self.outside.clear()
        for pane in [pane for pane in self.panes if pane.socket != TMUX]:
            kept, pane.foreground = pane.report, []
            pane.label = None
            pane.terminal = f"term_{next(self._terminals)}"
            pane.shell_pid, pane.shell_started = self._pid(), self.boot
            pane.aliases = set()
            if not resume or kept is None:
                continue
            if kept in resumed:
                pane.report = None
                continue
            resumed.add(kept)
            agent = kept.partition(":")[2]
            chosen = ("default", "--agent", agent) if agent else (kept,)
            self.start(pane, "--conversation", *chosen)

    def move_pane(self, pane: Pane) -> None:
        """The pane moves to another workspace: a new id, the old one leads there still."""
        pane.aliases.add(pane.pane_id)
        pane.pane_id = f"w2:p{next(self._ids)}"

    # -- lettafast ----------------------------------------------------------

    def look(self) -> None:
        """lettafast looks at every pane, and remembers."""
        if self.memory.offset is None:
            self.memory.offset = self.offset
        for pane in self.panes:
            if len(self._in_front(pane)) == 1:
                process = self._in_front(pane)[0]
                process.seen_away |= process.path != process.environ["PWD"]
                facts = self.facts(pane)
                (letta,) = facts.lettas
                start = facts.start_folder
                if start is None or start != letta.folder:
                    self.memory.moved.add(letta.identity)

    def _in_front(self, pane: Pane) -> list[Process]:
        return [one for one in pane.foreground if one.parent is None]

    def _started(self, process: Process) -> Span:
        earliest = process.ticks * TICK + self.offset
        return Span(earliest, earliest + TICK)

    def _path_of(self, directory: Directory) -> str:
        for path, one in self.folders.items():
            if one is directory:
                return path
        for path, one in self.away.items():
            if one is directory:
                return f"{path}-away"
        return "(deleted)"

    def _folder(self, directory: Directory) -> Folder | None:
        path = self._path_of(directory)
        if path == "(deleted)":
            return None
        return Folder(path, 1, directory.inode, ns(directory.mtime), ns(directory.ctime))

    def _process_facts(self, process: Process) -> ProcessFacts:
        return ProcessFacts(
            identity=process.identity,
            started=self._started(process),
            argv=process.argv,
            arguments=process.arguments,
            script=Script(SCRIPT, "0.34.12", 1),
            folder=self._folder(process.folder),
            environ=process.environ,
            same_user=True,
            same_pid_namespace=True,
            same_mount_namespace=True,
            same_root=True,
            same_time_namespace=True,
        )

    def _described(self, process: Process) -> DescribedProcess:
        folder = self._folder(process.folder)
        return DescribedProcess(process.pid, process.argv, folder.path if folder else None)

    def _title(self, pane: Pane) -> str | None:
        process = pane.letta
        return process.shows.id if pane.titled and process and process.shows else None

    def _other(self, pane: Pane) -> OtherPane:
        lettas = self._in_front(pane)
        folders = [self._folder(one.folder) for one in lettas]
        return OtherPane(
            pane.socket,
            pane.terminal,
            pane.pane_id,
            report_of(pane),
            bool(lettas),
            tuple(folder.path for folder in folders if folder is not None),
        )

    def facts(self, pane: Pane) -> Facts:
        """The facts that lettafast would gather on this pane now; it remembers nothing of it."""
        lettas = tuple(self._process_facts(one) for one in self._in_front(pane))
        facts = Facts(
            read_at=self.now,
            platform="linux",
            pane=PaneFacts(
                pane.socket,
                pane.terminal,
                pane.pane_id,
                pane.agent,
                report_of(pane),
                self._title(pane),
                tuple(self._described(one) for one in pane.foreground),
                peer_in_our_pid_namespace=True,
            ),
            others=tuple(self._other(one) for one in self.panes if one is not pane),
            lettas=lettas,
        )
        if len(lettas) != 1:
            return facts
        return self._at_home(facts, pane, self._in_front(pane)[0])

    def _at_home(self, facts: Facts, pane: Pane, process: Process) -> Facts:
        (letta,) = facts.lettas
        start = self.folders.get(process.environ["PWD"])
        environ = process.environ
        named = next(
            (
                one.terminal
                for one in self.panes
                if one.socket == pane.socket
                and environ.get("HERDR_PANE_ID") in (one.pane_id, *one.aliases)
            ),
            None,
        )
        here = environ["HERDR_SOCKET_PATH"] == pane.socket if "HERDR_PANE_ID" in environ else None
        start_folder = self._folder(start) if start else None
        moved = start_folder is None or start_folder != letta.folder
        first = self.memory.offset
        facts = replace(
            facts,
            socket_named=here,
            terminal_named=named,
            start_folder=start_folder,
            home_folder=self._folder(self.folders[HOME]),
            moved_before=moved or letta.identity in self.memory.moved,
            clock=Clock(0.0 if first is None else self.offset - first),
            places=PLACES,
        )
        facts = replace(facts, witness=self._witness(process))
        if pane.report is not None:
            facts = replace(facts, record=self._record_facts(process.folder))
        elif isinstance(facts.witness, Problem):
            return facts
        answer, witnessed = answer_of(facts), witness_of(facts)
        if answer is not None:
            facts = replace(facts, stored=self._stored(answer), transcript=self._transcript(answer))
        if witnessed is not None:
            facts = replace(
                facts,
                witness_stored=self._stored(witnessed),
                witness_transcript=self._transcript(witnessed),
            )
        if answer is not None or witnessed is not None:
            others = [one for one in self.lettas() if one is not process]
            facts = replace(
                facts,
                chunk_logs=self._logs(letta.started),
                other_starts=tuple(self._started(one).earliest for one in others),
                others_show=frozenset(
                    said for one in others if (said := said_by(self._witness(one))) is not None
                ),
            )
        watched = self.watched(pane, process)
        return replace(facts, first=watched, again=watched)

    def watched(self, pane: Pane, process: Process) -> Watched:
        """What lettafast reads twice."""
        front = self._in_front(pane)
        there = process in front
        record = self._record_facts(process.folder) if pane.report else None
        witness = self._witness(process)
        closed = isinstance(witness, Witness) and witness.closed
        return Watched(
            pane.agent,
            report_of(pane),
            frozenset(one.identity for one in front),
            self._folder(process.folder) if there else None,
            process.environ if there else None,
            record.file if isinstance(record, Record) else None,
            None if closed else said_by(witness),
        )

    def _record_facts(self, directory: Directory) -> Record | Problem:
        letta = directory.letta
        file = letta.record if letta else None
        if letta is None or file is None:
            return Problem(Reason.RECORD_MISSING, "there is none")
        return Record(
            path=f"{self._path_of(directory)}/.letta/settings.local.json",
            sessions=file.said.sessions,
            last_session=file.said.last,
            last_agent=file.said.last_agent,
            file=FileTimes(1, file.inode, 300, ns(file.mtime), ns(file.ctime)),
            letta_folder=FileTimes(1, letta.inode, 4096, ns(letta.mtime), ns(letta.ctime)),
            filesystem="ext4",
            writable=file.writable,
        )

    def _stored(self, answer: Session) -> StoredConversation | Problem | None:
        if not is_local(answer.agent_id, answer.conversation_id):
            return None
        named = answer.agent_id if answer.conversation_id == "default" else ""
        found = self.store.get((named, answer.conversation_id))
        if found is None:
            return Problem(Reason.STORE_MISSING, "it has no such conversation")
        return StoredConversation(f"{STORE}/conversations", found.id, found.agent, found.created)

    def _transcript(self, answer: Session) -> TranscriptFacts | Problem:
        entries = self.transcripts.get(answer)
        if entries is None:
            return Problem(Reason.TRANSCRIPT_MISSING, "there is none")
        first = entries[0][0] if entries else None
        return TranscriptFacts(PLACES.transcripts, FileId(1, 7), len(entries), first)

    def _logs(self, started: Span) -> tuple[ChunkLog, ...]:
        """Those of running lettas in the window. The time in a name is that of the start."""
        logs = []
        for one in self.lettas():
            if one.streamed is None or one.log_lost:
                continue
            at = one.launched + LOG_AFTER + self.offset
            if started.earliest <= at <= started.latest + 60:
                streamed = one.streamed
                logs.append(ChunkLog(f"{at}", at, one.streamed_at, streamed.agent, streamed.id))
        return tuple(logs)

    # -- the truth ----------------------------------------------------------

    def excuse(self, pane: Pane, proof: str = "recorded") -> set[str]:
        """The known limits of this proof that this pane stands in."""
        process = pane.letta
        if process is None:
            return set()
        # An id was given again, and the entries of the older conversation are of later times.
        reused = self.set_back and process.shows and self._has_others_entries(process.shows)
        clock = {"clock"} if reused else set()
        if proof == "witnessed":
            mod = process.mod
            late = mod is None or self.boot - mod.saved_at > FRESH_SECONDS + CLOCK_SLACK
            return clock | process.witness_excused - ({"cannot be taken back"} if late else set())
        limits = clock | process.excused
        if process.seen_away or pane.titled:
            limits -= {"excursion"}
        elif process.switched_away and process.launched != process.started:
            # Its chunk log is not taken for its own.
            limits.add("excursion after exec")
        return limits

    def _has_others_entries(self, shown: Conversation) -> bool:
        return any(of is not shown for _, of in self.transcripts.get(shown.session, ()))

    def fault(self, pane: Pane, verdict: Verdict) -> str | None:
        """What is wrong with a verdict on this pane; None where it is right."""
        if not isinstance(verdict, Bound):
            return None
        process = pane.letta
        if process is None:
            return "a shell is bound"
        on_screen = process.shows if process.state == "ready" else process.opens
        if process.state != "ready" and isinstance(on_screen, Conversation):
            on_screen = self.find(on_screen.session)
        if not isinstance(on_screen, Conversation):
            return f"bound to {verdict.conversation_id}, but letta is {process.state}"
        bound = Session(verdict.agent_id, verdict.conversation_id)
        if on_screen.session != bound:
            return f"bound to {bound}, but {on_screen.session} is shown"
        if self._has_others_entries(on_screen):
            return f"bound to {bound}, whose transcript has entries of another conversation"
        return None


def ns(seconds: float) -> int:
    return round(seconds * 1e9)


def witness_said(told: Told) -> Witness:
    return Witness(
        told.session.agent_id,
        told.session.conversation_id,
        told.seq,
        told.event,
        told.at_ms,
        told.event == "closed",
        told.touched,
        "witness",
    )


def said_by(witness: Witness | Problem) -> Session | None:
    if isinstance(witness, Problem):
        return None
    return Session(witness.agent_id, witness.conversation_id)


def _named(pane: Pane) -> dict[str, str]:
    """What a herdr tells those that it starts."""
    if pane.socket == TMUX:
        return {}
    return {"HERDR_PANE_ID": pane.pane_id, "HERDR_SOCKET_PATH": pane.socket}


def report_of(pane: Pane) -> Report | None:
    return None if pane.report is None else Report("herdr:letta", "letta", "id", pane.report)
