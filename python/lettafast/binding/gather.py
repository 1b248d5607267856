"""Reads the facts on one pane, once, and then again what must not have moved."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import replace

from lettafast.errors import HerdrError, HerdrRefused
from lettafast.herdr.client import Herdr

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
    Watched,
)
from .folders import folder_at
from .local_store import read_stored
from .memory import Memory
from .places import config_of, places_of
from .process import boot_id, clock_offset, folder_path, lettas_in
from .rules import CHUNK_LOG_SECONDS, answer_of, is_local, reported
from .settings import read_record, record_times, settings_env
from .transcripts import Transcripts
from .world import SeenPane, World, problem_of


def gather(world: World, seen: SeenPane, memory: Memory, transcripts: Transcripts) -> Facts:
    """The facts on one pane of `world`."""
    facts = _around(world, seen)
    process = seen.lettas[0] if len(seen.lettas) == 1 else None
    if process is None or process.environ is None:
        return facts
    facts = _at_home(facts, process, seen.herdr, memory)
    if not isinstance(facts.places, Places) or not _is_reported(facts):
        return facts
    places = facts.places
    folder = folder_path(process.identity.pid)
    record = read_record(folder, memory)
    facts = replace(facts, record=record, first=_first(seen, process, record))
    answer = answer_of(facts)
    if answer is not None:
        if is_local(answer.agent_id, answer.conversation_id):
            stored = read_stored(places.store, answer.agent_id, answer.conversation_id)
            facts = replace(facts, stored=stored)
        facts = replace(facts, transcript=transcripts.judge(places.transcripts, answer))
        start = process.started
        logs = read_chunk_logs(places.chunk_logs, start.earliest, start.latest + CHUNK_LOG_SECONDS)
        facts = replace(
            facts, chunk_logs=logs, other_starts=_other_starts(world, places.home, process.identity)
        )
    return _again(facts, seen, process)


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
        unseen=tuple(world.unseen.values()),
        lettas=seen.lettas,
    )


def _at_home(facts: Facts, process: ProcessFacts, herdr: Herdr, memory: Memory) -> Facts:
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
    return replace(
        facts,
        socket_named=_is_socket(environ.get("HERDR_SOCKET_PATH"), herdr.socket),
        terminal_named=_terminal_named(environ.get("HERDR_PANE_ID"), facts.pane, herdr),
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


def _is_socket(named: str | None, socket: str) -> bool | None:
    if named is None:
        return None
    try:
        return os.path.samefile(named, socket)
    except (OSError, ValueError):
        return False


def _terminal_named(named: str | None, pane: PaneFacts | Problem, herdr: Herdr) -> str | None:
    assert isinstance(pane, PaneFacts)
    if named in (None, pane.pane_id):
        return pane.terminal_id
    assert named is not None
    try:
        return herdr.pane(named).terminal_id
    except HerdrError:
        return None


def _other_starts(world: World, home: str, own: Identity) -> tuple[float, ...]:
    """When the other lettas of the same home started."""
    real = os.path.realpath(home)
    return tuple(
        letta.started.earliest
        for letta in world.running
        if letta.home == real and letta.identity != own
    )


def _first(seen: SeenPane, process: ProcessFacts, record: Record | Problem) -> Watched:
    return Watched(
        seen.pane.agent,
        seen.pane.report,
        frozenset(letta.identity for letta in seen.lettas),
        process.folder,
        process.environ,
        record.file if isinstance(record, Record) else None,
    )


def _again(facts: Facts, seen: SeenPane, process: ProcessFacts) -> Facts:
    """The facts with what is there now of all that must not have moved."""
    try:
        pane = seen.herdr.pane(seen.pane.pane_id)
        processes = seen.herdr.process_info(seen.pane.pane_id).processes
    except HerdrRefused:  # the pane is gone
        return replace(facts, again=None, read_at=time.time())
    except HerdrError as error:
        return replace(facts, pane=problem_of(error), first=None, read_at=time.time())
    lettas = lettas_in(described.pid for described in processes)
    own = next((letta for letta in lettas if letta.identity == process.identity), None)
    read = isinstance(facts.record, Record)
    again = Watched(
        pane.agent,
        pane.report,
        frozenset(letta.identity for letta in lettas),
        own.folder if own is not None else None,
        own.environ if own is not None else None,
        record_times(folder_path(process.identity.pid)) if read else None,
    )
    if pane.terminal_id != seen.pane.terminal_id:
        return replace(facts, again=None, read_at=time.time())
    return replace(facts, again=again, read_at=time.time())
