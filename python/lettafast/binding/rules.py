"""The proof "recorded": six rules over facts. No rule reads anything but its facts.

Why each condition is there: `docs/BINDING.md`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lettafast.herdr.records import Report

from .arguments import contradiction
from .facts import (
    ChunkLog,
    Facts,
    PaneFacts,
    Places,
    Problem,
    ProcessFacts,
    Record,
    Session,
    StoredConversation,
    TranscriptFacts,
)
from .ids import DEFAULT, LOCAL_AGENT, LOCAL_CONVERSATION, is_id
from .proof import Finding, Proof
from .verdict import Reason

PLATFORMS = ("linux", "darwin")
"""Where lettafast can look at processes."""
LOCAL_FILESYSTEMS = frozenset(
    {"ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "tmpfs", "overlay", "apfs"}
)
"""Whose files' times the machine's own clock sets."""
OLDER_SECONDS = 2.0
"""By how much a record must be older than the process: Letta writes one 2 s after its start."""
CLOCK_SECONDS = 1.0
"""How far the wall clock may have been moved."""
CHUNK_LOG_SECONDS = 60.0
"""How long after its process's start a chunk log may have been begun."""
OWN_LOG_SECONDS = 10.0
"""How long it may be a process's own whatever starts: lettas may start together."""

_CONVERSATION_ID = re.compile(r"default|(?:local-)?conv-[A-Za-z0-9-]+")


def reported(value: str) -> tuple[str | None, str] | None:
    """The agent, where it is said, and the conversation that a report's value names, if it does."""
    head, colon, agent = value.partition(":")
    if colon:
        return (agent, DEFAULT) if head == DEFAULT and is_id(agent) else None
    return (None, value) if is_id(value) and value != DEFAULT else None


def answer_of(facts: Facts) -> Session | None:
    """The agent and conversation that the report and the record name together, if they do."""
    pane, places, record = facts.pane, facts.places, facts.record
    if not isinstance(pane, PaneFacts) or pane.report is None:
        return None
    claim = reported(pane.report.value)
    if claim is None or not isinstance(places, Places) or not isinstance(record, Record):
        return None
    agent, conversation = claim
    local = is_local(agent, conversation)
    session = record.sessions.get(places.local_key if local else places.cloud_key)
    fits = (
        session is not None
        and session.conversation_id == conversation
        and agent in (None, session.agent_id)
        and session.agent_id.startswith(LOCAL_AGENT) == local
        and is_id(session.agent_id)
    )
    return session if fits else None


def is_local(agent: str | None, conversation: str) -> bool:
    """Whether such a conversation is kept by the local backend."""
    if agent is not None:
        return agent.startswith(LOCAL_AGENT)
    return conversation.startswith(LOCAL_CONVERSATION)


def report_rule(facts: Facts) -> Finding:
    """The Letta integration of herdr reported one conversation, for this pane only."""
    unseen = unseen_pane(facts)
    if unseen is not None:
        return unseen
    pane = facts.pane
    assert isinstance(pane, PaneFacts)
    if pane.agent != "letta":
        saw = f"labelled {pane.agent or 'as none'}"
        return Finding(Reason.NOT_LETTA, saw, "No Letta Code is seen in front of this pane.")
    report = pane.report
    if report is None:
        return Finding(
            Reason.NO_REPORT,
            "no agent_session",
            "herdr's Letta integration has not reported a conversation for this pane.",
        )
    if (report.source, report.agent, report.kind) != ("herdr:letta", "letta", "id"):
        return Finding(
            Reason.NO_REPORT,
            f"{report.source} reported a {report.kind} of {report.agent}",
            "The report of this pane is not from herdr's Letta integration.",
        )
    if report.value in (DEFAULT, f"{DEFAULT}:"):
        return Finding(
            Reason.BARE_DEFAULT,
            report.value,
            "Every agent has a conversation named `default`, and the report names no agent.",
        )
    if reported(report.value) is None:
        return Finding(
            Reason.NO_REPORT, report.value, "What was reported is not the id of a conversation."
        )
    return _reported_elsewhere(facts, report) or Finding(
        None, report.value, "herdr's Letta integration reported this conversation."
    )


def unseen_pane(facts: Facts) -> Finding | None:
    """Why nothing can be known of the pane; None where it was seen."""
    if facts.platform not in PLATFORMS:
        return Finding(
            Reason.UNSUPPORTED_PLATFORM,
            facts.platform,
            "Processes can be looked at on Linux and macOS only.",
        )
    pane = facts.pane
    return Finding(pane.reason, pane.saw, _PANE[pane.reason]) if isinstance(pane, Problem) else None


def _reported_elsewhere(facts: Facts, report: Report) -> Finding | None:
    for other in facts.others:
        if other.runs_letta and other.report and other.report.value == report.value:
            return Finding(
                Reason.DUPLICATE_REPORT,
                f"{other.pane_id} of {other.socket} reports {report.value} too",
                "Another pane with a letta reports the same conversation, "
                "so at least one report may be stale.",
            )
    for problem in facts.unseen:
        return Finding(
            problem.reason,
            problem.saw,
            "Another herdr session cannot be looked at, so it may report the same conversation.",
        )
    return None


_PANE = {
    Reason.NOT_LETTA: "There is no such pane or process.",
    Reason.HERDR_UNAVAILABLE: "herdr gives no answer about this pane.",
    Reason.HERDR_PROTOCOL: "herdr's answer about this pane cannot be understood.",
    Reason.TMUX_UNAVAILABLE: "tmux gives no answer about this pane.",
}


def process_rule(facts: Facts) -> Finding:
    """One letta runs in front of the pane, here, and never left the folder it started in."""
    other = no_single_letta(facts)
    if other is not None:
        return other
    pane, process = facts.pane, facts.lettas[0]
    assert isinstance(pane, PaneFacts)
    return (
        unknown_environment(process)
        or _misplaced(facts, pane, process)
        or _moved_folder(facts, process)
        or unknown_places(facts)
        or Finding(
            None,
            f"pid {process.identity.pid} in {process.folder.path if process.folder else '?'}",
            "One letta runs in front, in the folder that it started in.",
        )
    )


def no_single_letta(facts: Facts) -> Finding | None:
    """Why not one letta of here runs in front of the pane; None where one does."""
    pane = facts.pane
    assert isinstance(pane, PaneFacts)
    if not pane.peer_in_our_pid_namespace:
        return Finding(
            Reason.OTHER_NAMESPACE,
            pane.socket,
            "What shows the pane runs in another pid namespace, where pids mean other processes.",
        )
    if not pane.foreground:
        return Finding(
            Reason.NO_PROCESS,
            "no process named",
            "What runs in this pane's foreground is not known.",
        )
    if not facts.lettas:
        return Finding(
            Reason.NO_PROCESS,
            f"{len(pane.foreground)} processes, none is a letta",
            "No Letta Code runs in this pane's foreground.",
        )
    if len(facts.lettas) > 1:
        pids = ", ".join(str(letta.identity.pid) for letta in facts.lettas)
        return Finding(
            Reason.SEVERAL_PROCESSES,
            f"pids {pids}",
            "Several lettas run in this pane's foreground, and any of them may be on the screen.",
        )
    return _foreign(pane, facts.lettas[0])


def _foreign(pane: PaneFacts, process: ProcessFacts) -> Finding | None:
    pid = process.identity.pid
    if not process.same_user:
        return Finding(Reason.OTHER_USER, f"pid {pid}", "The letta belongs to another user.")
    for same, what in (
        (process.same_pid_namespace, "pid namespace"),
        (process.same_mount_namespace, "mount namespace"),
        (process.same_root, "root folder"),
    ):
        if not same:
            return Finding(
                Reason.OTHER_NAMESPACE,
                f"pid {pid}: {what}",
                f"The letta has another {what}, in which paths or pids mean something else.",
            )
    here = process.folder.path if process.folder else None
    for described in pane.foreground:
        if described.pid != pid:
            continue
        for said, is_so in ((described.argv, process.argv), (described.cwd, here)):
            if None not in (said, is_so) and said != is_so:
                return Finding(
                    Reason.OTHER_NAMESPACE,
                    f"pid {pid} is {said} for herdr and {is_so} here",
                    "herdr means another process by this pid than this machine does.",
                )
    return None


def unknown_environment(process: ProcessFacts) -> Finding | None:
    """Why the process's environment says nothing; None where it is known."""
    if process.environ is not None:
        return None
    return Finding(
        Reason.ENVIRONMENT_UNREADABLE,
        f"pid {process.identity.pid}",
        "The letta's environment, which says where it keeps its files, cannot be known.",
    )


def _misplaced(facts: Facts, pane: PaneFacts, process: ProcessFacts) -> Finding | None:
    environ = process.environ
    assert environ is not None
    if facts.socket_named is False:
        return Finding(
            Reason.OTHER_PANE,
            f"HERDR_SOCKET_PATH={environ.get('HERDR_SOCKET_PATH')}",
            "The letta was started under another herdr session than this pane's.",
        )
    named = environ.get("HERDR_PANE_ID")
    if named not in (None, pane.pane_id) and facts.terminal_named != pane.terminal_id:
        return Finding(
            Reason.OTHER_PANE,
            f"HERDR_PANE_ID={named}",
            "The letta was started in another pane, whose reports it makes.",
        )
    return None


def _moved_folder(facts: Facts, process: ProcessFacts) -> Finding | None:
    environ, folder = process.environ, process.folder
    assert environ is not None
    if "PWD" not in environ:
        return Finding(
            Reason.START_FOLDER_UNKNOWN,
            "no PWD",
            "The letta's environment does not say in which folder it was started.",
        )
    start = facts.start_folder
    if start is None or folder is None:
        return Finding(
            Reason.START_FOLDER_UNKNOWN,
            f"PWD={environ['PWD']}",
            "The folder that the letta was started in, or is in, cannot be found.",
        )
    if start != folder:
        return Finding(
            Reason.LEFT_START_FOLDER,
            f"started in {start.path}, is in {folder.path}",
            "The letta is in another folder than the one it started in, and records there.",
        )
    if facts.moved_before:
        return Finding(
            Reason.LEFT_START_FOLDER,
            f"started in {start.path}, and is back",
            "The letta was once in another folder, where it may have opened another conversation.",
        )
    if facts.memory_problem is not None:
        return Finding(
            Reason.MEMORY_UNAVAILABLE,
            facts.memory_problem,
            "What lettafast saw of this letta cannot be kept, so it may have been elsewhere.",
        )
    return None


def unknown_places(facts: Facts) -> Finding | None:
    """Why it is not known where the letta keeps its files; None where it is."""
    places = facts.places
    if isinstance(places, Places):
        return None
    assert places is not None
    return Finding(places.reason, places.saw, _PLACES[places.reason])


_PLACES = {
    Reason.NO_HOME: "The letta's environment names no home folder, in which it keeps its files.",
    Reason.STORE_UNKNOWN: "Where this letta keeps its files cannot be told from its environment.",
    Reason.CHANGED_WHILE_READING: "The letta's settings could not be read just now.",
}


def record_rule(facts: Facts) -> Finding:
    """The folder's record names this conversation, and was last written before the letta began."""
    process, places = facts.lettas[0], facts.places
    assert process.environ is not None
    assert process.folder is not None
    assert isinstance(places, Places)
    off = _persistence_off(process)
    if off is not None:
        return Finding(Reason.PERSISTENCE_OFF, off, "This letta does not record what it opens.")
    home = facts.home_folder
    # By another path too: a folder may be mounted in several places.
    if home is not None and (home.device, home.inode) == (
        process.folder.device,
        process.folder.inode,
    ):
        return Finding(
            Reason.HOME_FOLDER,
            home.path,
            "The letta runs in its home folder, whose record is not a project's alone.",
        )
    for other in facts.others:
        if process.folder.path in other.letta_folders:
            return Finding(
                Reason.PEER_IN_FOLDER,
                f"{other.pane_id} of {other.socket} in {process.folder.path}",
                "Another pane runs a letta in the same folder, and both write its one record.",
            )
    record = facts.record
    if isinstance(record, Problem):
        return Finding(record.reason, record.saw, _RECORD[record.reason])
    assert record is not None
    return (
        _unsound(record)
        or _not_older(facts, process, record)
        or _names_another(facts, record)
        or Finding(
            None,
            record.path,
            "The folder's record named this conversation before the letta started, "
            "and was not written since.",
        )
    )


_RECORD = {
    Reason.RECORD_MISSING: "The folder has no settings record of Letta Code.",
    Reason.RECORD_INVALID: "The folder's settings record is not what Letta Code writes.",
    Reason.RECORD_UNWRITABLE: "The folder's settings record cannot be written, so it may be stale.",
    Reason.RECORD_CHANGED: "The folder's settings record is empty or half written.",
    Reason.CHANGED_WHILE_READING: "The folder's settings record could not be read just now.",
}


def _persistence_off(process: ProcessFacts) -> str | None:
    assert process.environ is not None
    # Letta compares with these words; any other value is taken as set, which only costs a binding.
    if process.environ.get("LETTA_DISABLE_SESSION_PERSIST", "") not in ("", "0"):
        return "LETTA_DISABLE_SESSION_PERSIST"
    if process.environ.get("LETTA_CODE_AGENT_ROLE") == "subagent":
        return "LETTA_CODE_AGENT_ROLE=subagent"
    return None


def _unsound(record: Record) -> Finding | None:
    if record.filesystem not in LOCAL_FILESYSTEMS:
        return Finding(
            Reason.RECORD_UNTRUSTED_FILESYSTEM,
            record.filesystem,
            "The record lies on a file system whose times another machine may set.",
        )
    if not record.writable:
        return Finding(Reason.RECORD_UNWRITABLE, record.path, _RECORD[Reason.RECORD_UNWRITABLE])
    return None


def _not_older(facts: Facts, process: ProcessFacts, record: Record) -> Finding | None:
    limit = process.started.earliest - OLDER_SECONDS
    for what, nanoseconds in (
        ("the record was written", record.file.mtime_ns),
        ("the record was changed", record.file.ctime_ns),
        ("the folder .letta was written to", record.letta_folder.mtime_ns),
        ("the folder .letta was changed", record.letta_folder.ctime_ns),
    ):
        seconds = nanoseconds / 1e9
        if seconds >= limit:
            return Finding(
                Reason.RECORD_NEWER_THAN_PROCESS,
                f"{what} {seconds - process.started.earliest:+.3f} s from the letta's start",
                "The record was written since the letta started, by it or by another.",
            )
    folder = facts.start_folder
    assert folder is not None
    if folder.ctime_ns != folder.mtime_ns and folder.ctime_ns / 1e9 >= limit:
        return Finding(
            Reason.FOLDER_CHANGED,
            folder.path,
            "The folder itself was moved or changed since the letta started.",
        )
    clock = facts.clock
    if clock is None or abs(clock.moved) > CLOCK_SECONDS or not process.same_time_namespace:
        saw = "unknown" if clock is None else f"moved by {clock.moved:+.3f} s"
        return Finding(
            Reason.CLOCK_STEPPED,
            saw if process.same_time_namespace else "another time namespace",
            "The machine's clock was set, so times of files and processes cannot be compared.",
        )
    return None


def _names_another(facts: Facts, record: Record) -> Finding | None:
    answer = answer_of(facts)
    named = record.last_session
    if answer is None or named != answer or record.last_agent != answer.agent_id:
        saw = "no session" if named is None else f"{named.agent_id} {named.conversation_id}"
        return Finding(
            Reason.RECORD_NAMES_ANOTHER,
            f"{record.path}: {saw}",
            "The record and the report do not name the same conversation.",
        )
    return None


def store_rule(facts: Facts) -> Finding:
    """The letta's own local store has this conversation, of this agent."""
    answer, record = answer_of(facts), facts.record
    assert answer is not None
    assert isinstance(record, Record)
    return kept(answer, facts.stored, facts.transcript, record.file.mtime_ns / 1e9)


def kept(
    answer: Session,
    stored: StoredConversation | Problem | None,
    transcript: TranscriptFacts | Problem | None,
    named_at: float,
) -> Finding:
    """Whether the store has the conversation that was named at this time (Unix seconds)."""
    if not answer.agent_id.startswith(LOCAL_AGENT):
        return Finding(None, answer.agent_id, "A conversation of the cloud has no local store.")
    if isinstance(stored, Problem):
        return Finding(stored.reason, stored.saw, _STORE[stored.reason])
    assert stored is not None
    if (stored.agent_id, stored.conversation_id) != (answer.agent_id, answer.conversation_id):
        return Finding(
            Reason.STORE_NAMES_ANOTHER,
            f"{stored.path}: {stored.agent_id} {stored.conversation_id}",
            _STORE[Reason.STORE_NAMES_ANOTHER],
        )
    first = transcript.first_captured_at if isinstance(transcript, TranscriptFacts) else None
    if first is not None and first < stored.created_at:
        return Finding(
            Reason.ID_REUSED,
            f"first entry {stored.created_at - first:.3f} s before the conversation was made",
            "Letta gave this id before: the transcript has entries of an older conversation.",
        )
    # A default conversation may be made after it was named; its id is never given again.
    if answer.conversation_id != DEFAULT and stored.created_at > named_at:
        return Finding(
            Reason.ID_REUSED,
            f"made {stored.created_at - named_at:.3f} s after it was named",
            "Letta gave this id before: an older conversation was meant by it.",
        )
    return Finding(None, stored.path, "The letta's local store has this conversation.")


_STORE = {
    Reason.STORE_NAMES_ANOTHER: "The letta's local store names another agent or conversation.",
    Reason.STORE_MISSING: "The letta's local store has no such conversation in Letta's form.",
    Reason.STORE_CHANGED: "The conversation's file in the local store is empty or half written.",
    Reason.CHANGED_WHILE_READING: "The letta's local store could not be read just now.",
}


def transcript_rule(facts: Facts) -> Finding:
    """The transcript is at its one place, and the strict reader accepts it."""
    return readable(facts.transcript)


def readable(transcript: TranscriptFacts | Problem | None) -> Finding:
    """Whether the strict reader accepts what is at a transcript's place."""
    if isinstance(transcript, Problem):
        return Finding(transcript.reason, transcript.saw, _TRANSCRIPT[transcript.reason])
    assert transcript is not None
    return Finding(
        None,
        f"{transcript.entries} entries",
        "The conversation's transcript is there, and the strict reader accepts it.",
    )


_TRANSCRIPT = {
    Reason.TRANSCRIPT_MISSING: "The conversation has no transcript yet: no turn has ended.",
    Reason.TRANSCRIPT_UNSAFE: "The transcript cannot be opened safely.",
    Reason.TRANSCRIPT_REFUSED: "The strict reader refuses the transcript.",
    Reason.CHANGED_WHILE_READING: "The transcript was replaced while it was looked at.",
}


def contradiction_rule(facts: Facts) -> Finding:
    """Nothing that the letta left behind names another conversation."""
    answer, pane, process = answer_of(facts), facts.pane, facts.lettas[0]
    assert answer is not None
    assert isinstance(pane, PaneFacts)
    logs = list(own_chunk_logs(facts, process))
    for log in logs:
        if (log.agent_id, log.conversation_id) != (answer.agent_id, answer.conversation_id):
            return Finding(
                Reason.CONFLICT,
                f"{log.path}: {log.agent_id} {log.conversation_id}",
                "What this letta streamed last belongs to another conversation.",
            )
    argument = contradiction(process.arguments, answer)
    if argument is not None:
        return Finding(
            Reason.CONFLICT,
            argument,
            "The letta's own arguments may have opened another conversation.",
        )
    shown = _title_id(pane.title)
    if shown is not None and shown != answer.conversation_id:
        return Finding(
            Reason.CONFLICT, f"title {shown}", "The terminal's title is another conversation's id."
        )
    saw = f"{len(logs)} chunk logs, {len(process.arguments)} arguments"
    return Finding(None, saw, "Nothing names another conversation.")


def own_chunk_logs(facts: Facts, process: ProcessFacts) -> Iterator[ChunkLog]:
    """The logs that can be this process's: begun soon after it, and before a later letta."""
    start = process.started
    later = [other for other in facts.other_starts if other > start.latest]
    end = min([start.latest + CHUNK_LOG_SECONDS, *later])
    end = max(end, start.latest + OWN_LOG_SECONDS)
    return (log for log in facts.chunk_logs if start.earliest <= log.started <= end)


def _title_id(title: str | None) -> str | None:
    """The conversation id that a title is, a spinner before it left out."""
    words = (title or "").split()
    if not words or any(word.isascii() for word in words[:-1]):
        return None
    return words[-1] if _CONVERSATION_ID.fullmatch(words[-1]) else None


RECORDED = Proof(
    "recorded",
    (
        ("report", report_rule),
        ("process", process_rule),
        ("record", record_rule),
        ("store", store_rule),
        ("transcript", transcript_rule),
        ("contradiction", contradiction_rule),
    ),
)
