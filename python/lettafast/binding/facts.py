"""What a verdict is made from: values that were read once and never change.

Times of files are Unix nanoseconds, as `stat` gives them; times of processes
are Unix seconds. A `Problem` stands where a fact could not be had.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lettafast.herdr.records import DescribedProcess, Report
from lettafast.records import FileId

from .verdict import Reason


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a fact could not be had: the reason it gives a verdict, and what was seen."""

    reason: Reason
    saw: str


@dataclass(frozen=True, slots=True)
class Identity:
    """One process, exactly: no other has, had or will have the same."""

    boot_id: str
    pid: int
    start_ticks: int
    """Clock ticks from boot to the process's start (`/proc/<pid>/stat`, field 22)."""


@dataclass(frozen=True, slots=True)
class Span:
    """A time that is known within bounds: Unix seconds."""

    earliest: float
    latest: float


@dataclass(frozen=True, slots=True)
class PaneFacts:
    """One pane, as its provider and the socket show it."""

    socket: str
    terminal_id: str
    pane_id: str
    agent: str | None
    """The agent in front, as herdr detects it; where none is reported to, as lettafast does."""
    report: Report | None
    title: str | None
    """The terminal's title, as the program set it."""
    foreground: tuple[DescribedProcess, ...]
    peer_in_our_pid_namespace: bool
    """Whether a pid that it names means the same process here."""


@dataclass(frozen=True, slots=True)
class OtherPane:
    """Another pane of any session, and the lettas in its foreground."""

    socket: str
    terminal_id: str
    pane_id: str
    report: Report | None
    runs_letta: bool
    letta_folders: tuple[str, ...]
    """The real path of the folder of each letta in front."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder: its real path, which file it is, and its times.

    Two are equal when they are the same folder at the same place: whoever works
    in a folder moves its times.
    """

    path: str
    device: int
    inode: int
    mtime_ns: int = field(compare=False)
    ctime_ns: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class Script:
    """What a letta executes, and the version in the `package.json` of its package."""

    path: str
    version: str | None
    package_ctime_ns: int | None


@dataclass(frozen=True, slots=True)
class ProcessFacts:
    """A letta in the pane's foreground, as the kernel shows it. None: could not be read."""

    identity: Identity
    started: Span
    argv: tuple[str, ...]
    arguments: tuple[str, ...]
    """What follows the script (or the executable `letta`) in `argv`."""
    script: Script
    folder: Folder | None
    environ: Mapping[str, str] | None
    same_user: bool
    same_pid_namespace: bool | None
    same_mount_namespace: bool | None
    same_root: bool | None
    same_time_namespace: bool | None


@dataclass(frozen=True, slots=True)
class Clock:
    """How far the wall clock was moved since lettafast first looked in this boot: seconds."""

    moved: float


@dataclass(frozen=True, slots=True)
class Places:
    """Where one letta keeps its files, from its own environment: absolute paths."""

    home: str
    config: str
    """`<home>/.letta`, or what a newer Letta takes from `LETTA_CONFIG_DIR`."""
    store: str
    """The folder of the local backend."""
    transcripts: str
    chunk_logs: str
    local_key: str
    """The key of the local backend in a record's `sessionsByServer`."""
    cloud_key: str


@dataclass(frozen=True, slots=True)
class Session:
    """An agent and a conversation, as a record or a witness names them."""

    agent_id: str
    conversation_id: str


@dataclass(frozen=True, slots=True)
class FileTimes:
    """What `fstat` says of one file: which it is, its size in bytes, its times."""

    device: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int


@dataclass(frozen=True, slots=True)
class Record:
    """Letta's settings record of the process's folder: `.letta/settings.local.json`."""

    path: str
    sessions: Mapping[str, Session]
    last_session: Session | None
    last_agent: str | None
    file: FileTimes
    letta_folder: FileTimes
    """Of the folder `.letta` that holds it."""
    filesystem: str
    writable: bool


@dataclass(frozen=True, slots=True)
class StoredConversation:
    """What Letta's local store says of one conversation."""

    path: str
    conversation_id: str
    agent_id: str
    created_at: float
    """Unix seconds."""


@dataclass(frozen=True, slots=True)
class TranscriptFacts:
    """A transcript that the strict reader accepted."""

    root: str
    file: FileId
    entries: int
    first_captured_at: float | None
    """Unix seconds; None where there is no entry."""


@dataclass(frozen=True, slots=True)
class ChunkLog:
    """The end of one of Letta's chunk logs: what was streamed last by one process."""

    path: str
    started: float
    """Unix seconds, from the file's name: just after its process started."""
    written: float
    """When it was written last: Unix seconds."""
    agent_id: str
    conversation_id: str


@dataclass(frozen=True, slots=True)
class Witness:
    """What a letta's own mod says that it shows. How old it is, and its ids, are not judged."""

    agent_id: str
    conversation_id: str
    seq: int
    """Counts what was told in this process, from 1."""
    event: str
    """What was told last: `start`, `switch`, `turn_start`, `turn_end` or `closed`."""
    at_ms: int
    """When that was: Unix milliseconds."""
    closed: bool
    """Whether the mod was taken out of a letta that may still run."""
    touched_at: float
    """When the mod last said that it runs: Unix seconds."""
    path: str


@dataclass(frozen=True, slots=True)
class Watched:
    """What must not have moved between the first fact and the last."""

    agent: str | None
    report: Report | None
    lettas: frozenset[Identity]
    folder: Folder | None
    environ: Mapping[str, str] | None
    record: FileTimes | None
    witness: Session | None = None
    """What the letta says that it shows, while it says so."""


@dataclass(frozen=True, slots=True)
class Facts:
    """All that a verdict on one pane is decided from."""

    read_at: float
    """When the last fact was read: Unix seconds."""
    platform: str
    """`sys.platform`."""
    pane: PaneFacts | Problem
    others: tuple[OtherPane, ...] = ()
    unseen: tuple[Problem, ...] = ()
    """Other herdr sessions that are there and could not be looked at."""
    lettas: tuple[ProcessFacts, ...] = ()
    """The lettas of the pane's foreground that have no letta above them there."""
    socket_named: bool | None = None
    """Whether the process's `HERDR_SOCKET_PATH` is this pane's socket; None where not set."""
    terminal_named: str | None = None
    """The terminal that herdr has for the process's `HERDR_PANE_ID`; None where it has none."""
    start_folder: Folder | None = None
    """What the `PWD` of the process's environment leads to now."""
    home_folder: Folder | None = None
    moved_before: bool = False
    """Whether this very process was once seen outside the folder it started in."""
    memory_problem: str | None = None
    """Why lettafast cannot keep, or has lost, what it saw of this process; None while it can."""
    clock: Clock | None = None
    places: Places | Problem | None = None
    record: Record | Problem | None = None
    stored: StoredConversation | Problem | None = None
    """Of the conversation that the report and the record name."""
    transcript: TranscriptFacts | Problem | None = None
    """Likewise."""
    witness: Witness | Problem | None = None
    witness_stored: StoredConversation | Problem | None = None
    """Of the conversation that the witness names."""
    witness_transcript: TranscriptFacts | Problem | None = None
    """Likewise."""
    chunk_logs: tuple[ChunkLog, ...] = ()
    other_starts: tuple[float, ...] = ()
    """When the other running lettas of the same home started: Unix seconds."""
    others_show: frozenset[Session] = frozenset()
    """What those say that they show; asked for where a chunk log names what this one does not."""
    first: Watched | None = None
    again: Watched | None = None
