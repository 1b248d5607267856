"""Verdicts in a model of the world: terminal, or what is really on the screen, at every step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from lettafast.binding.decide import decide
from lettafast.binding.facts import Clock, Facts, Problem, Record, StoredConversation, Witness
from lettafast.binding.rules import answer_of
from lettafast.binding.verdict import Bound, Reason, Terminal, Verdict
from lettafast.binding.witnessed import witness_of
from support import NIGHTLY
from world_model import (
    AGENTS,
    CLOUDY,
    KNOWN_LIMITS,
    TMUX,
    WITNESS_LIMITS,
    Conversation,
    Pane,
    Process,
    Said,
    Told,
    World,
)
from world_scenes import (
    LIVE,
    WITNESSED,
    another_session_was_the_last,
    clock_set_after_a_look,
    drawn_halfway,
    edited_back,
    excursion_and_another_letta_started_at_once,
    excursion_under_a_title,
    excursion_with_a_turn,
    id_given_again,
    id_given_again_to_what_is_shown,
    id_given_again_while_it_is_shown,
    in_another_folder_with_the_same_record,
    in_tmux,
    left_by_a_process_before,
    letta_folder_moved_away_and_back,
    loading_another_by_its_id,
    never_heard_of_again,
    no_write_at_the_start,
    of_an_older_mod,
    persistence_switched_off,
    project_moved_away_and_back,
    record_cannot_be_written,
    recorded_one_is_another_agents_now,
    recorded_one_is_gone_from_the_store,
    reopened_in_another_pane,
    restored_with_its_old_mtime,
    resumed,
    resumed_while_it_loads,
    running,
    seen_excursion,
    still_loading_a_new_one,
    streamed_since,
    taken_out,
    taken_out_after_an_excursion,
    used,
    verdict_on,
    waiting_for_a_sign_in,
    waiting_in_the_picker,
)

EXAMPLES, STEPS = (1_600, 65) if NIGHTLY else (125, 45)
LEAST_BOUND = 0.05
"""Of the verdicts on panes with a letta, at least."""


@pytest.mark.parametrize("installed", [None, "current"])
@pytest.mark.parametrize("scene", LIVE, ids=lambda scene: scene.__name__)
def test_bound(scene: Callable[[World], Pane], installed: str | None) -> None:
    world = World(installed)
    pane = scene(world)
    verdict = verdict_on(world, pane)
    assert isinstance(verdict, Bound), verdict.reason
    assert world.fault(pane, verdict) is None
    assert not world.excuse(pane)
    speaks = installed and scene is not resumed_while_it_loads
    assert verdict.proof == ("witnessed" if speaks else "recorded")
    # To have looked changes nothing.
    world.look()
    assert verdict_on(world, pane) == verdict


@pytest.mark.parametrize("scene", WITNESSED, ids=lambda scene: scene.__name__)
def test_bound_by_the_witness(scene: Callable[[World], Pane]) -> None:
    world = World("current")
    pane = scene(world)
    verdict = verdict_on(world, pane)
    assert isinstance(verdict, Bound), verdict.reason
    assert verdict.proof == "witnessed"
    assert world.fault(pane, verdict) is None
    assert not world.excuse(pane, "witnessed")
    without = decide(replace(world.facts(pane), witness=Problem(Reason.WITNESS_MISSING, "")))
    assert isinstance(without, Terminal)


def test_a_conversation_without_a_turn_is_named() -> None:
    world = World("current")
    pane = resumed(world)
    assert pane.letta is not None
    world.new(pane.letta)
    verdict = verdict_on(world, pane)
    assert isinstance(verdict, Terminal)
    assert verdict.reason is Reason.TRANSCRIPT_MISSING
    shows = pane.letta.shows
    assert shows is not None
    assert (verdict.agent_id, verdict.conversation_id) == (shows.agent, shows.id)


# -- scenes in which another conversation is shown, but for one condition -------


def hidden(**members: object) -> Callable[[Facts], Facts]:
    """Facts in which these members look right."""
    return lambda facts: replace(facts, **members)


def record_looks(**members: object) -> Callable[[Facts], Facts]:
    def hide(facts: Facts) -> Facts:
        assert isinstance(facts.record, Record)
        return replace(facts, record=replace(facts.record, **members))

    return hide


def old(facts: Facts) -> int:
    """A time shortly before the letta's start."""
    return round((facts.lettas[0].started.earliest - 10) * 1e9)


def file_looks_old(facts: Facts) -> Facts:
    assert isinstance(facts.record, Record)
    file = replace(facts.record.file, mtime_ns=old(facts), ctime_ns=old(facts))
    return replace(facts, record=replace(facts.record, file=file))


def file_was_never_changed(facts: Facts) -> Facts:
    assert isinstance(facts.record, Record)
    file = replace(facts.record.file, ctime_ns=facts.record.file.mtime_ns)
    return replace(facts, record=replace(facts.record, file=file))


def record_looks_old(facts: Facts) -> Facts:
    return letta_folder_looks_old(file_looks_old(facts))


def letta_folder_looks_old(facts: Facts) -> Facts:
    assert isinstance(facts.record, Record)
    folder = replace(facts.record.letta_folder, mtime_ns=old(facts), ctime_ns=old(facts))
    return replace(facts, record=replace(facts.record, letta_folder=folder))


def start_folder_looks_unmoved(facts: Facts) -> Facts:
    assert facts.start_folder is not None
    return replace(facts, start_folder=replace(facts.start_folder, ctime_ns=0, mtime_ns=0))


def letta_looks_at_home(facts: Facts) -> Facts:
    return replace(facts, start_folder=facts.lettas[0].folder, moved_before=False)


def letta_looks(**members: object) -> Callable[[Facts], Facts]:
    return lambda facts: replace(facts, lettas=(replace(facts.lettas[0], **members),))


def environment_looks_plain(facts: Facts) -> Facts:
    environ = facts.lettas[0].environ
    assert environ is not None
    plain = {name: value for name, value in environ.items() if not name.startswith("LETTA_")}
    return letta_looks(environ=plain)(facts)


def last_session_looks_right(facts: Facts) -> Facts:
    answer = answer_of(facts)
    assert answer is not None
    return record_looks(last_session=answer, last_agent=answer.agent_id)(facts)


def store_looks_right(facts: Facts) -> Facts:
    answer = answer_of(facts)
    assert answer is not None
    stored = StoredConversation("store", answer.conversation_id, answer.agent_id, 0.0)
    return replace(facts, stored=stored)


def store_looks_old(facts: Facts) -> Facts:
    assert isinstance(facts.stored, StoredConversation)
    return replace(facts, stored=replace(facts.stored, created_at=0.0))


def title_looks_plain(facts: Facts) -> Facts:
    return replace(facts, pane=replace(facts.pane, title=None))


TEETH = {
    edited_back: (record_looks_old, Reason.RECORD_NEWER_THAN_PROCESS),
    restored_with_its_old_mtime: (file_was_never_changed, Reason.RECORD_NEWER_THAN_PROCESS),
    reopened_in_another_pane: (file_looks_old, Reason.RECORD_NEWER_THAN_PROCESS),
    still_loading_a_new_one: (letta_looks(arguments=()), Reason.CONFLICT),
    loading_another_by_its_id: (letta_looks(arguments=()), Reason.CONFLICT),
    waiting_in_the_picker: (letta_looks(arguments=()), Reason.CONFLICT),
    waiting_for_a_sign_in: (letta_looks(arguments=()), Reason.CONFLICT),
    no_write_at_the_start: (environment_looks_plain, Reason.PERSISTENCE_OFF),
    persistence_switched_off: (environment_looks_plain, Reason.PERSISTENCE_OFF),
    record_cannot_be_written: (record_looks(writable=True), Reason.RECORD_UNWRITABLE),
    letta_folder_moved_away_and_back: (
        letta_folder_looks_old,
        Reason.RECORD_NEWER_THAN_PROCESS,
    ),
    project_moved_away_and_back: (start_folder_looks_unmoved, Reason.FOLDER_CHANGED),
    id_given_again: (store_looks_old, Reason.ID_REUSED),
    another_session_was_the_last: (last_session_looks_right, Reason.RECORD_NAMES_ANOTHER),
    recorded_one_is_gone_from_the_store: (store_looks_right, Reason.STORE_MISSING),
    recorded_one_is_another_agents_now: (store_looks_right, Reason.STORE_NAMES_ANOTHER),
    in_another_folder_with_the_same_record: (letta_looks_at_home, Reason.LEFT_START_FOLDER),
    seen_excursion: (hidden(moved_before=False), Reason.LEFT_START_FOLDER),
    excursion_with_a_turn: (hidden(chunk_logs=()), Reason.CONFLICT),
    excursion_under_a_title: (title_looks_plain, Reason.CONFLICT),
    excursion_and_another_letta_started_at_once: (hidden(chunk_logs=()), Reason.CONFLICT),
    id_given_again_while_it_is_shown: (store_looks_old, Reason.ID_REUSED),
    clock_set_after_a_look: (hidden(clock=Clock(0.0)), Reason.CLOCK_STEPPED),
}


@pytest.mark.parametrize("scene", TEETH, ids=lambda scene: scene.__name__)
def test_without_this_condition_another_conversation_is_bound(
    scene: Callable[[World], Pane],
) -> None:
    hide, reason = TEETH[scene]
    world = World()
    pane = scene(world)
    facts = world.facts(pane)
    verdict = decide(facts)
    assert isinstance(verdict, Terminal), world.fault(pane, verdict)
    assert verdict.reason is reason
    assert world.fault(pane, decide(hide(facts))) is not None


@pytest.mark.parametrize("scene", TEETH, ids=lambda scene: scene.__name__)
def test_with_a_witness_these_are_not_wrong_either(scene: Callable[[World], Pane]) -> None:
    world = World("current")
    pane = scene(world)
    assert world.fault(pane, verdict_on(world, pane)) is None


def believing(what: str) -> Callable[[World, Pane], Facts]:
    def hide(world: World, pane: Pane) -> Facts:
        world.believed.add(what)
        return world.facts(pane)

    return hide


def witness_looks(**members: object) -> Callable[[World, Pane], Facts]:
    def hide(world: World, pane: Pane) -> Facts:
        facts = world.facts(pane)
        assert isinstance(facts.witness, Witness)
        return replace(facts, witness=replace(facts.witness, **members))

    return hide


def what_it_names_looks_kept(world: World, pane: Pane) -> Facts:
    facts = world.facts(pane)
    answer = witness_of(facts)
    assert answer is not None
    stored = StoredConversation("store", answer.conversation_id, answer.agent_id, 0.0)
    return replace(facts, witness_stored=stored)


def without_a_log(world: World, pane: Pane) -> Facts:
    return replace(world.facts(pane), chunk_logs=())


def without_a_witness(world: World, pane: Pane) -> Facts:
    return replace(world.facts(pane), witness=Problem(Reason.WITNESS_MISSING, "hidden"))


WITNESS_TEETH = {
    left_by_a_process_before: (believing("identity"), Reason.RECORD_NEWER_THAN_PROCESS),
    of_an_older_mod: (believing("version"), Reason.RECORD_NEWER_THAN_PROCESS),
    taken_out: (witness_looks(closed=False), Reason.RECORD_NEWER_THAN_PROCESS),
    never_heard_of_again: (
        witness_looks(touched_at=float("inf")),
        Reason.RECORD_NEWER_THAN_PROCESS,
    ),
    streamed_since: (without_a_log, Reason.CONFLICT),
    drawn_halfway: (what_it_names_looks_kept, Reason.STORE_NAMES_ANOTHER),
    id_given_again_to_what_is_shown: (what_it_names_looks_kept, Reason.ID_REUSED),
    id_given_again_while_it_is_shown: (what_it_names_looks_kept, Reason.ID_REUSED),
    taken_out_after_an_excursion: (without_a_witness, Reason.CONFLICT),
}


@pytest.mark.parametrize("scene", WITNESS_TEETH, ids=lambda scene: scene.__name__)
def test_without_this_condition_of_the_witness_another_conversation_is_bound(
    scene: Callable[[World], Pane],
) -> None:
    hide, reason = WITNESS_TEETH[scene]
    world = World("current")
    pane = scene(world)
    verdict = verdict_on(world, pane)
    assert isinstance(verdict, Terminal), world.fault(pane, verdict)
    assert verdict.reason is reason
    assert world.fault(pane, decide(hide(world, pane))) is not None


def test_without_the_second_look_at_the_witness_another_conversation_is_bound() -> None:
    world = World("current")
    pane = in_tmux(world)
    process = pane.letta
    assert process is not None
    before = world.facts(pane)
    world.new(process)
    assert world.fault(pane, decide(before)) is not None
    verdict = decide(replace(before, again=world.watched(pane, process)))
    assert isinstance(verdict, Terminal)
    assert verdict.reason is Reason.CHANGED_WHILE_READING


def test_without_the_second_look_another_conversation_is_bound() -> None:
    world = World()
    pane = resumed(world)
    process = pane.letta
    assert process is not None
    before = world.facts(pane)
    world.new(process)
    verdict = decide(before)
    assert world.fault(pane, verdict) is not None
    verdict = decide(replace(before, again=world.watched(pane, process)))
    assert isinstance(verdict, Terminal)
    assert verdict.reason is Reason.CHANGED_WHILE_READING


# -- whatever people do ---------------------------------------------------------

PATHS = st.sampled_from(["/srv/a", "/srv/b"])
INDEX = st.integers(0, 7)
CLOUD = ("--conversation", "default", "--agent", CLOUDY)
WITHOUT_A_WRITE = ({"LETTA_CODE_AGENT_ROLE": "subagent"}, {"LETTA_DISABLE_SESSION_PERSIST": "1"})
counted: Counter[str] = Counter()


def picked(things: list, index: int):
    return things[index % len(things)]


class Machine(RuleBasedStateMachine):
    """Two folders, at most three panes of two herdrs and a tmux, and three agents."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.copies: list[Told] = []

    @initialize(
        agents=st.lists(st.sampled_from(AGENTS), min_size=2, max_size=2),
        installed=st.sampled_from([None, "current", "current"]),
    )
    def some_history(self, agents: list[str], installed: str | None) -> None:
        self.world.installed = installed
        for path, agent in zip(("/srv/a", "/srv/b"), agents, strict=True):
            pane, _ = used(self.world, path, agent)
            running(self.world, pane)

    def pane(self, index: int) -> Pane | None:
        return picked(self.world.panes, index) if self.world.panes else None

    def with_letta(self) -> list[Pane]:
        return [pane for pane in self.world.panes if pane.letta is not None]

    def letta(self, index: int) -> Process | None:
        panes = self.with_letta()
        return picked(panes, index).letta if panes else None

    def conversation(self, index: int) -> Conversation:
        return picked(self.world.conversations(), index)

    def verdict(self, pane: Pane) -> Verdict:
        return decide(self.world.facts(pane))

    @invariant()
    def every_verdict_is_right(self) -> None:
        for pane in self.world.panes:
            verdict = self.verdict(pane)
            self.check(pane, verdict)

    def check(self, pane: Pane, verdict: Verdict) -> None:
        witnessed = isinstance(verdict, Bound) and verdict.proof == "witnessed"
        excuse = self.world.excuse(pane, "witnessed" if witnessed else "recorded")
        assert excuse <= (WITNESS_LIMITS if witnessed else KNOWN_LIMITS)
        if pane.letta is not None:
            counted["lettas"] += 1
        if witnessed:
            counted["witnessed"] += 1
        counted["bound" if isinstance(verdict, Bound) else str(verdict.reason)] += 1
        fault = self.world.fault(pane, verdict)
        if fault is not None and excuse:
            counted["excused"] += 1
            return
        assert fault is None, fault

    # Each rule is a step of a person or a program, or several as they are often taken.

    @rule(seconds=st.sampled_from([0.5, 2.5, 30.0, 4_000.0]))
    def time_passes(self, seconds: float) -> None:
        self.world.passes(seconds)

    def passes(self, seconds: float) -> None:
        self.world.passes(seconds)
        self.every_verdict_is_right()

    @rule(
        index=INDEX,
        seen=st.booleans(),
        pause=st.sampled_from([60, 60, 0]),
        meanwhile=st.sampled_from([None, None, None, "protect", "delete", "unfit", "sign out"]),
        how=st.sampled_from([*[()] * 5, ("--new",), ("--resume",), ("--backend", "cloud"), CLOUD]),
        environ=st.sampled_from([*[{}] * 4, *WITHOUT_A_WRITE]),
        which=INDEX,
        turns=st.booleans(),
    )
    def quit_and_start_again(
        self,
        index: int,
        seen: bool,
        pause: int,
        meanwhile: str | None,
        how: tuple[str, ...],
        environ: dict[str, str],
        which: int,
        turns: bool,
    ) -> None:
        pane = self.pane(index)
        if pane is None:
            return
        shown = pane.letta.shows if pane.letta else None
        self.world.close(pane, seen)
        self.world.unfit = {shown.agent} if shown and meanwhile == "unfit" else set()
        self.world.signed_in = meanwhile != "sign out"
        if meanwhile == "delete":
            self.world.delete_newest()
        elif meanwhile == "protect":
            self.world.protect_record(pane.path, writable=False)
        self.passes(pause)
        process = self.world.start(pane, *how, environ=environ)
        self.passes(0.5)
        self.passes(2.5)
        if process is not None:
            self.world.choose_in_picker(process, self.conversation(which))
            self.passes(2.5)
            if turns:
                self.world.turn(process)

    @rule(
        index=INDEX,
        look=st.booleans(),
        switch=st.sampled_from(["new", "resume", None]),
        which=INDEX,
        turn=st.booleans(),
        lose=st.sampled_from([False, False, True]),
    )
    def excursion(
        self,
        index: int,
        look: bool,
        switch: str | None,
        which: int,
        turn: bool,
        lose: bool,
    ) -> None:
        process = self.letta(index)
        if process is None:
            return
        home = process.environ["PWD"]
        self.world.change_folder(process, "/srv/a" if home == "/srv/b" else "/srv/b")
        if look:
            self.look()
        if switch == "new":
            self.world.new(process)
        elif switch:
            self.world.resume(process, self.conversation(which))
        if turn:
            self.world.turn(process)
        if lose:
            self.world.lose_log(process)
        self.passes(10)
        self.world.change_folder(process, home)

    @rule(
        index=INDEX,
        folder=st.booleans(),
        switch=st.booleans(),
        file=st.booleans(),
    )
    def something_is_moved_away_and_back(
        self, index: int, folder: bool, switch: bool, file: bool
    ) -> None:
        process = self.letta(index)
        if process is None or process.path not in self.world.folders:
            return
        path = process.path
        (self.world.move_folder_away if folder else self.world.move_letta_away)(path)
        self.passes(1)
        if switch:
            self.world.new(process)
        self.passes(1)
        (self.world.move_folder_back if folder else self.world.move_letta_back)(path)
        if file:
            self.world.make_file(path)

    @rule(index=INDEX, exhausted=st.booleans(), which=INDEX)
    def switch_that_is_hardly_recorded(self, index: int, exhausted: bool, which: int) -> None:
        """No descriptor is free, or an editor puts the old words back."""
        process = self.letta(index)
        if process is None or process.shows is None or process.path not in self.world.folders:
            return
        shown = process.shows
        if exhausted:
            self.world.files_exhausted = True
        self.world.resume(process, self.conversation(which))
        self.world.files_exhausted = False
        if not exhausted:
            self.world.edit_record(process.path, Said().told(shown.key, shown.session))

    @precondition(lambda self: len(self.world.panes) < 3)
    @rule(path=PATHS, socket=st.sampled_from(["/run/herdr.sock", "/run/herdr-2.sock", TMUX]))
    def open_pane(self, path: str, socket: str) -> None:
        self.world.open_pane(path, socket)

    @rule(
        index=INDEX,
        how=st.sampled_from(["bare", "bare", "bare", "id", "id", "new", "resume", "cloud"]),
        which=INDEX,
        hook=st.sampled_from(["on", "on", "on", "slow", "missing"]),
        environ=st.sampled_from([*[{}] * 6, *WITHOUT_A_WRITE]),
        execute=st.sampled_from([False, False, False, True]),
        into=st.sampled_from([None, None, None, None, "/srv/b"]),
    )
    def start(
        self,
        index: int,
        how: str,
        which: int,
        hook: str,
        environ: dict[str, str],
        execute: bool,
        into: str | None,
    ) -> None:
        pane = self.pane(index)
        if pane is None:
            return
        chosen = self.conversation(which)
        arguments = {
            "bare": (),
            "id": ("--conversation", chosen.id, "--agent", chosen.agent),
            "new": ("--new",),
            "resume": ("--resume",),
            "cloud": ("--backend", "cloud"),
        }[how]
        self.world.start(pane, *arguments, hook=hook, environ=environ, execute=execute, into=into)

    @rule(index=INDEX, agent=st.sampled_from([None, *AGENTS]))
    def new(self, index: int, agent: str | None) -> None:
        if process := self.letta(index):
            self.world.new(process, agent)

    @rule(index=INDEX, which=INDEX)
    def resume(self, index: int, which: int) -> None:
        if process := self.letta(index):
            self.world.resume(process, self.conversation(which))

    @rule(index=INDEX, ends=st.booleans())
    def turn(self, index: int, ends: bool) -> None:
        if process := self.letta(index):
            self.world.turn(process, ends)

    @rule(index=INDEX, path=PATHS)
    def change_folder(self, index: int, path: str) -> None:
        if process := self.letta(index):
            self.world.change_folder(process, path)

    @rule(index=INDEX, which=INDEX)
    def choose(self, index: int, which: int) -> None:
        if process := self.letta(index):
            self.world.choose_in_picker(process, self.conversation(which))

    @rule(index=INDEX, seen=st.booleans())
    def close(self, index: int, seen: bool) -> None:
        if pane := self.pane(index):
            self.world.close(pane, seen)

    @rule(index=INDEX, back=st.booleans())
    def background(self, index: int, back: bool) -> None:
        if pane := self.pane(index):
            (self.world.bring_back if back else self.world.interrupt)(pane)

    @rule(
        index=INDEX,
        what=st.sampled_from(["subagent", "fork", "beside", "end", "log", "move", "title"]),
    )
    def around_a_letta(self, index: int, what: str) -> None:
        panes = self.with_letta()
        if not panes:
            return
        pane = picked(panes, index)
        if what in ("subagent", "fork"):
            self.world.subagent(pane, what)
        elif what == "beside":
            self.world.beside(pane)
        elif what == "end":
            self.world.subagents_end(pane)
        elif what == "log":
            self.world.lose_log(pane.letta)
        elif what == "move":
            self.world.move_pane(pane)
        else:
            pane.titled = not pane.titled

    @rule(path=PATHS, agent=st.sampled_from(AGENTS))
    def headless(self, path: str, agent: str) -> None:
        self.world.headless(path, agent)

    @rule(
        path=PATHS,
        what=st.sampled_from(["edit", "words", "touch", "restore", "protect", "allow", "make"]),
        which=INDEX,
    )
    def at_the_record(self, path: str, what: str, which: int) -> None:
        if path not in self.world.folders:
            return
        chosen = self.conversation(which)
        said = Said().told(chosen.key, chosen.session)
        if what == "edit":
            self.world.edit_record(path)
        elif what == "words":
            self.world.edit_record(path, said)
        elif what == "touch":
            self.world.touch_record(path, 5_000)
        elif what == "restore":
            self.world.restore_record(path, said, 5_000)
        elif what == "make":
            self.world.make_file(path)
        else:
            self.world.protect_record(path, writable=what == "allow")

    @rule(path=PATHS, what=st.sampled_from(["letta", "folder"]), back=st.booleans())
    def move_folders(self, path: str, what: str, back: bool) -> None:
        if path in self.world.folders or back:
            step = {
                ("letta", False): self.world.move_letta_away,
                ("letta", True): self.world.move_letta_back,
                ("folder", False): self.world.move_folder_away,
                ("folder", True): self.world.move_folder_back,
            }[(what, back)]
            step(path)

    @rule(what=st.sampled_from(["delete", "cloud", "lose", "truncate"]), which=INDEX)
    def at_the_store(self, what: str, which: int) -> None:
        chosen = self.conversation(which)
        if what == "delete":
            self.world.delete_newest()
        elif what == "cloud":
            self.world.delete_in_cloud(chosen)
        elif what == "lose":
            self.world.lose_transcript(chosen.session)
        else:
            self.world.truncate_transcript(chosen.session)

    @rule(agents=st.sets(st.sampled_from(AGENTS), max_size=1), signed_in=st.booleans())
    def accounts(self, agents: set[str], signed_in: bool) -> None:
        self.world.unfit, self.world.signed_in = agents, signed_in

    @rule(by=st.sampled_from([-4_000.0, -0.4, 0.4, 4_000.0]))
    def set_clock(self, by: float) -> None:
        self.world.set_clock(by)

    @rule(resume=st.booleans())
    def restart_herdr(self, resume: bool) -> None:
        self.world.restart_herdr(resume)

    @rule(
        index=INDEX,
        what=st.sampled_from(["reload", "suspend", "go on", "kill", "half", "copy", "put back"]),
        which=INDEX,
    )
    def at_a_witness(self, index: int, what: str, which: int) -> None:
        panes = self.with_letta()
        if not panes:
            return
        pane = picked(panes, index)
        process = pane.letta
        if what == "reload":
            self.world.load_mod(process)
        elif what == "suspend":
            self.world.suspend(process)
        elif what == "go on":
            self.world.go_on(process)
        elif what == "kill":
            self.world.close(pane, killed=True)
        elif what == "half":
            self.world.half_switched(process, picked(AGENTS, which))
            self.every_verdict_is_right()
            self.world.resume(process, self.conversation(which))
        elif what == "copy":
            self.copies.extend(self.world.told.values())
        elif self.copies:
            self.world.put_back(process, picked(self.copies, which))

    @rule(
        installed=st.sampled_from([None, "current", "current", "old"]),
        disk=st.sampled_from(["free", "free", "full", "stuck"]),
    )
    def at_the_mods(self, installed: str | None, disk: str) -> None:
        self.world.installed, self.world.disk = installed, disk

    @rule()
    def late_reports(self) -> None:
        self.world.deliver_late()

    @rule()
    def look(self) -> None:
        self.world.look()

    @rule(index=INDEX, step=st.sampled_from(["new", "resume", "cd", "close", "ready"]), which=INDEX)
    def something_happens_within_a_look(self, index: int, step: str, which: int) -> None:
        panes = self.with_letta()
        if not panes:
            return
        pane = picked(panes, index)
        process = pane.letta
        before = self.world.facts(pane)
        if step == "new":
            self.world.new(process)
        elif step == "resume":
            self.world.resume(process, self.conversation(which))
        elif step == "cd":
            self.world.change_folder(process, "/srv/b")
        elif step == "close":
            self.world.close(pane)
        else:
            self.world.passes(2.5)
        if before.first is not None and pane in self.world.panes:
            self.check(pane, decide(replace(before, again=self.world.watched(pane, process))))


def test_whatever_people_do() -> None:
    counted.clear()
    run_state_machine_as_test(
        Machine, settings=settings(max_examples=EXAMPLES, stateful_step_count=STEPS)
    )
    print(counted.most_common())
    # The model would hold of a lettafast that binds nothing.
    assert counted["bound"] >= LEAST_BOUND * counted["lettas"]
    assert counted["witnessed"] >= LEAST_BOUND * counted["lettas"]
    assert counted["bound"] - counted["witnessed"] >= LEAST_BOUND / 2 * counted["lettas"]
    assert counted["excused"] < counted["bound"]
