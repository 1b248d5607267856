"""Reads the facts on one pane, once, and then again what must not have moved."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import replace

from lettafast.errors import ProviderError

from .chunks import read_chunk_logs
from .facts import (
    Clock,
    Facts,
    Folder,
    Identity,
    OtherPane,
    PaneFacts,
    Places,
    Problem,
    ProcessFacts,
    Record,
    Session,
    StoredConversation,
    TranscriptFacts,
    Watched,
    Witness,
)
from .folders import folder_at
from .local_store import read_stored
from .memory import Memory
from .places import config_of, places_of
from .process import RunningLetta, boot_id, clock_offset, folder_path, lettas_in
from .providers import problem_of
from .rules import CHUNK_LOG_SECONDS, answer_of, is_local, reported
from .settings import read_record, record_times, settings_env
from .transcripts import Transcripts
from .witness_file import read_witness
from .witnessed import witness_of
from .world import SeenPane, World, labelled


def gather(world: World, seen: SeenPane, memory: Memory, transcripts: Transcripts) -> Facts:
    """The facts on one pane of `world`."""
    facts = _around(world, seen)
    process = seen.lettas[0] if len(seen.lettas) == 1 else None
    if process is None or process.environ is None:
        return facts
    facts = _at_home(facts, process, seen, memory)
    places = facts.places
    if not isinstance(places, Places):
        return facts
    witness = read_witness(places.home, process.identity, time.time())
    facts = replace(facts, witness=witness)
    if _is_reported(facts):
        facts = replace(facts, record=read_record(folder_path(process.identity.pid), memory))
    elif isinstance(witness, Problem):
        return facts  # nothing names a conversation
    facts = replace(facts, first=_first(facts, seen, process))
    answer, witnessed = answer_of(facts), witness_of(facts)
    kept = {
        session: _kept(session, places, transcripts)
        for session in (answer, witnessed)
        if session is not None
    }
    if answer is not None:
        stored, transcript = kept[answer]
        facts = replace(facts, stored=stored, transcript=transcript)
    if witnessed is not None:
        stored, transcript = kept[witnessed]
        facts = replace(facts, witness_stored=stored, witness_transcript=transcript)
    if kept:
        facts = _with_chunk_logs(facts, world, process, places)
    return _again(facts, seen, process, places)


def _kept(
    session: Session, places: Places, transcripts: Transcripts
) -> tuple[StoredConversation | Problem | None, TranscriptFacts | Problem]:
    """What the letta's store and its transcripts have of a conversation."""
    stored = None
    if is_local(session.agent_id, session.conversation_id):
        stored = read_stored(places.store, session.agent_id, session.conversation_id)
    return stored, transcripts.judge(places.transcripts, session)


def _with_chunk_logs(facts: Facts, world: World, process: ProcessFacts, places: Places) -> Facts:
    """With what this letta may have streamed, and what is known of those that may have, too."""
    start = process.started
    logs = read_chunk_logs(places.chunk_logs, start.earliest, start.latest + CHUNK_LOG_SECONDS)
    others = _others(world, places.home, process.identity)
    show: frozenset[Session] = frozenset()
    if {Session(log.agent_id, log.conversation_id) for log in logs} - {witness_of(facts)}:
        said = (read_witness(places.home, other.identity, time.time()) for other in others)
        show = frozenset(
            Session(one.agent_id, one.conversation_id) for one in said if isinstance(one, Witness)
        )
    return replace(
        facts,
        chunk_logs=logs,
        other_starts=tuple(other.started.earliest for other in others),
        others_show=show,
    )


def notice_moved(world: World, memory: Memory) -> None:
    """Remembers each letta of `world` that is not in the folder that it started in."""
    for seen in world.panes:
        for letta in seen.lettas:
            # A folder that cannot be found now was moved, covered or deleted beneath the process.
            start = _start_folder(letta)
            if letta.environ is not None and (start is None or start != letta.folder):
                memory.remember_moved(letta.identity)


def _start_folder(process: ProcessFacts) -> Folder | None:
    """What the `PWD` of the process's environment leads to now."""
    named = (process.environ or {}).get("PWD", "")
    return folder_at(named) if os.path.isabs(named) else None


def _around(world: World, seen: SeenPane) -> Facts:
    pane = seen.pane
    others = tuple(
        OtherPane(
            other.pane.socket,
            other.pane.terminal_id,
            other.pane.pane_id,
            other.pane.report,
            other.runs_letta,
            other.letta_folders,
        )
        for other in world.panes
        if (other.pane.socket, other.pane.terminal_id) != (pane.socket, pane.terminal_id)
    )
    return Facts(
        read_at=time.time(),
        platform=sys.platform,
        pane=PaneFacts(
            pane.socket,
            pane.terminal_id,
            pane.pane_id,
            pane.agent,
            pane.report,
            pane.title,
            seen.foreground,
            seen.in_our_pid_namespace,
        ),
        others=others,
        unseen=tuple(problem for provider, problem in world.unseen.items() if provider.reports),
        lettas=seen.lettas,
    )


def _at_home(facts: Facts, process: ProcessFacts, seen: SeenPane, memory: Memory) -> Facts:
    """What the process's own environment leads to."""
    environ = process.environ
    assert environ is not None
    start = _start_folder(process)
    trusted = (
        process.script.package_ctime_ns is not None
        and process.script.package_ctime_ns / 1e9 < process.started.earliest
    )
    home = environ.get("HOME", "")
    clock = Clock(memory.clock_moved(boot_id(), clock_offset()))
    moved = memory.moved(process.identity)
    lost = "its file was damaged" if memory.distrusts(process.identity) else None
    origin = seen.provider.origin(environ, seen.pane)
    return replace(
        facts,
        socket_named=origin.is_here,
        terminal_named=origin.terminal_id,
        start_folder=start,
        home_folder=folder_at(home) if os.path.isabs(home) else None,
        moved_before=moved,
        memory_problem=memory.problem or lost,
        clock=clock,
        places=_places(facts, process, trusted),
    )


def _places(facts: Facts, process: ProcessFacts, trusted: bool) -> Places | Problem:
    environ, version = process.environ, process.script.version
    assert environ is not None
    env: dict[str, str] = {}
    if not _is_local(facts):
        # Only the key of a cloud conversation depends on the settings.
        config = config_of(environ, version, trusted)
        read = config if isinstance(config, Problem) else settings_env(config)
        if isinstance(read, Problem):
            return read
        env = dict(read)
    return places_of(environ, version, trusted, env)


def _is_reported(facts: Facts) -> bool:
    pane = facts.pane
    return isinstance(pane, PaneFacts) and pane.report is not None


def _is_local(facts: Facts) -> bool:
    pane = facts.pane
    if not isinstance(pane, PaneFacts) or pane.report is None:
        return True
    claim = reported(pane.report.value)
    return claim is None or is_local(*claim)


def _others(world: World, home: str, own: Identity) -> tuple[RunningLetta, ...]:
    """The other running lettas of the same home."""
    real = os.path.realpath(home)
    return tuple(letta for letta in world.running if letta.home == real and letta.identity != own)


def _said(witness: Witness | Problem | None) -> Session | None:
    """What a letta says that it shows, while it says so."""
    if not isinstance(witness, Witness) or witness.closed:
        return None
    return Session(witness.agent_id, witness.conversation_id)


def _first(facts: Facts, seen: SeenPane, process: ProcessFacts) -> Watched:
    record = facts.record
    return Watched(
        seen.pane.agent,
        seen.pane.report,
        frozenset(letta.identity for letta in seen.lettas),
        process.folder,
        process.environ,
        record.file if isinstance(record, Record) else None,
        _said(facts.witness),
    )


def _again(facts: Facts, seen: SeenPane, process: ProcessFacts, places: Places) -> Facts:
    """The facts with what is there now of all that must not have moved."""
    try:
        pane = seen.provider.pane(seen.pane.pane_id)
        (processes,) = seen.provider.foregrounds([seen.pane])
    except ProviderError as error:
        return replace(facts, pane=problem_of(error), first=None, read_at=time.time())
    if pane is None or pane.terminal_id != seen.pane.terminal_id:
        return replace(facts, again=None, read_at=time.time())
    lettas = lettas_in(described.pid for described in processes)
    own = next((letta for letta in lettas if letta.identity == process.identity), None)
    read = isinstance(facts.record, Record)
    again = Watched(
        labelled(seen.provider, pane, lettas).agent,
        pane.report,
        frozenset(letta.identity for letta in lettas),
        own.folder if own is not None else None,
        own.environ if own is not None else None,
        record_times(folder_path(process.identity.pid)) if read else None,
        _said(read_witness(places.home, process.identity, time.time())),
    )
    return replace(facts, again=again, read_at=time.time())
