"""Scenes on the simulated machine: what people did before lettafast looks at a pane."""

from __future__ import annotations

from lettafast.binding.decide import decide
from lettafast.binding.facts import Session
from lettafast.binding.verdict import Bound, Verdict
from world_model import (
    ADA,
    BOB,
    CLOUDY,
    HOME,
    LOCAL_KEY,
    LOG_AFTER,
    TMUX,
    Conversation,
    Pane,
    Process,
    Said,
    World,
)


def verdict_on(world: World, pane: Pane) -> Verdict:
    return decide(world.facts(pane))


def used(world: World, path: str, agent: str = ADA, turns: int = 1) -> tuple[Pane, Conversation]:
    """A pane in whose folder a conversation was made, had turns, and was closed a while ago."""
    pane = world.open_pane(path)
    start = world.find(Session(agent, "default"))
    assert start is not None
    process = world.start(pane, "--conversation", "default", "--agent", agent)
    assert process is not None
    world.passes(3)
    world.new(process)
    for _ in range(turns):
        world.turn(process)
    made = process.shows
    assert made is not None
    world.close(pane)
    world.passes(60)
    return pane, made


def running(world: World, pane: Pane, *arguments: str, **options: object) -> Process:
    """A letta that was started in the pane and is ready."""
    process = world.start(pane, *arguments, **options)
    assert process is not None
    world.passes(3)
    return process


# -- in which the conversation is bound ---------------------------------------


def resumed(world: World) -> Pane:
    pane, _ = used(world, "/srv/a")
    running(world, pane)
    return pane


def resumed_while_it_loads(world: World) -> Pane:
    pane, made = used(world, "/srv/a")
    pane.report = made.value
    world.start(pane)
    return pane


def resumed_by_its_id(world: World) -> Pane:
    pane, made = used(world, "/srv/a")
    running(world, pane, "--conversation", made.id)
    return pane


def default_conversation(world: World) -> Pane:
    pane = world.open_pane("/srv/a")
    for _ in range(2):
        process = running(world, pane, "--conversation", "default", "--agent", ADA)
        world.turn(process)
        world.close(pane)
        world.passes(60)
    running(world, pane)
    return pane


def cloud_conversation(world: World) -> Pane:
    pane, _ = used(world, "/srv/a", CLOUDY)
    running(world, pane)
    return pane


def cold_restart(world: World) -> Pane:
    pane = resumed(world)
    world.passes(60)
    world.restart_herdr(resume=True)
    world.passes(3)
    assert pane.letta is not None
    assert pane.letta.arguments
    return pane


def cold_restart_with_two_panes(world: World) -> Pane:
    first, second = resumed(world), used(world, "/srv/b")[0]
    running(world, second)
    world.passes(60)
    world.restart_herdr(resume=True)
    world.passes(3)
    assert isinstance(verdict_on(world, first), Bound)
    return second


def with_turns(world: World) -> Pane:
    pane = resumed(world)
    for ends in (True, False, True):
        assert pane.letta is not None
        world.turn(pane.letta, ends)
        world.passes(60)
    return pane


def with_a_subagent_and_a_fork(world: World) -> Pane:
    pane = resumed(world)
    world.subagent(pane)
    world.subagent(pane, "fork")
    return pane


def executed_in_the_shells_place(world: World) -> Pane:
    pane, _ = used(world, "/srv/a")
    fresh = world.open_pane("/srv/a")
    world.panes.remove(pane)
    world.passes(5)
    running(world, fresh, execute=True)
    return fresh


def with_the_id_as_title(world: World) -> Pane:
    pane = resumed(world)
    pane.titled = True
    return pane


def in_a_moved_pane(world: World) -> Pane:
    pane = resumed(world)
    world.move_pane(pane)
    return pane


def with_files_made_in_the_folder(world: World) -> Pane:
    pane = resumed(world)
    world.make_file("/srv/a")
    return pane


LIVE = [
    resumed,
    resumed_while_it_loads,
    resumed_by_its_id,
    default_conversation,
    cloud_conversation,
    cold_restart,
    cold_restart_with_two_panes,
    with_turns,
    with_a_subagent_and_a_fork,
    executed_in_the_shells_place,
    with_the_id_as_title,
    in_a_moved_pane,
    with_files_made_in_the_folder,
]


# -- in which another conversation is shown, and one condition alone says so ----


def edited_back(world: World) -> Pane:
    """After /new somebody puts the old words back into the record."""
    pane = resumed(world)
    assert pane.letta is not None
    shown = pane.letta.shows
    assert shown is not None
    world.new(pane.letta)
    world.edit_record("/srv/a", Said().told(LOCAL_KEY, shown.session))
    return pane


def restored_with_its_old_mtime(world: World) -> Pane:
    pane = resumed(world)
    assert pane.letta is not None
    shown = pane.letta.shows
    assert shown is not None
    world.new(pane.letta)
    world.restore_record("/srv/a", Said().told(LOCAL_KEY, shown.session), 30)
    return pane


def reopened_in_another_pane(world: World) -> Pane:
    """After /new here, a letta elsewhere in the folder opens the first conversation, and ends."""
    pane = resumed(world)
    assert pane.letta is not None
    shown = pane.letta.shows
    assert shown is not None
    world.new(pane.letta)
    other = world.open_pane("/srv/a")
    running(world, other, "--conversation", shown.id)
    world.close(other)
    return pane


def still_loading_a_new_one(world: World) -> Pane:
    """Hole 1: until Letta is ready, the record and a kept report agree."""
    pane = resumed(world)
    world.close(pane, seen=False)
    world.passes(60)
    world.start(pane, "--new")
    return pane


def loading_another_by_its_id(world: World) -> Pane:
    pane = resumed(world)
    world.close(pane, seen=False)
    world.passes(60)
    world.start(pane, "--conversation", "default", "--agent", ADA)
    return pane


def waiting_in_the_picker(world: World) -> Pane:
    """Hole 2."""
    pane = resumed(world)
    world.close(pane, seen=False)
    world.passes(60)
    world.start(pane, "--resume")
    world.passes(600)
    return pane


def waiting_for_a_sign_in(world: World) -> Pane:
    """Hole 3."""
    pane = resumed(world)
    world.close(pane, seen=False)
    world.passes(60)
    world.signed_in = False
    world.start(pane, "--backend", "cloud")
    world.passes(600)
    return pane


def no_write_at_the_start(world: World) -> Pane:
    """Hole 4: chosen in a picker, and as a subagent Letta does not record it."""
    pane, made = used(world, "/srv/a")
    other = world.find(Session(BOB, "default"))
    assert other is not None
    pane.report = made.value
    world.unfit = {made.agent}
    process = running(world, pane, environ={"LETTA_CODE_AGENT_ROLE": "subagent"})
    world.choose_in_picker(process, other)
    world.passes(3)
    return pane


def persistence_switched_off(world: World) -> Pane:
    pane, made = used(world, "/srv/a")
    other = world.find(Session(BOB, "default"))
    assert other is not None
    pane.report = made.value
    world.unfit = {made.agent}
    process = running(world, pane, environ={"LETTA_DISABLE_SESSION_PERSIST": "1"})
    world.choose_in_picker(process, other)
    world.passes(3)
    return pane


def record_cannot_be_written(world: World) -> Pane:
    """Hole 5."""
    pane, _ = used(world, "/srv/a")
    world.protect_record("/srv/a", writable=False)
    world.passes(60)
    world.new(running(world, pane))
    return pane


def letta_folder_moved_away_and_back(world: World) -> Pane:
    """Hole 6."""
    pane = resumed(world)
    assert pane.letta is not None
    world.move_letta_away("/srv/a")
    world.new(pane.letta)
    world.move_letta_back("/srv/a")
    return pane


def project_moved_away_and_back(world: World) -> Pane:
    """Hole 7."""
    pane = resumed(world)
    assert pane.letta is not None
    world.move_folder_away("/srv/a")
    world.new(pane.letta)
    world.move_folder_back("/srv/a")
    return pane


def id_given_again(world: World) -> Pane:
    """Hole 8."""
    pane, made = used(world, "/srv/a")
    world.delete_newest()
    process = running(world, pane, "--conversation", "default", "--agent", ADA)
    world.new(process)
    assert process.shows is not made
    assert process.shows is not None
    assert process.shows.session == made.session
    world.close(pane)
    world.passes(60)
    running(world, pane)
    return pane


def another_session_was_the_last(world: World) -> Pane:
    """The record keeps a local session, but a letta of the cloud was the last."""
    pane, made = used(world, "/srv/a")
    running(world, pane, "--conversation", "default", "--agent", CLOUDY)
    world.close(pane)
    world.passes(60)
    pane.report = made.value
    running(world, pane)
    return pane


def recorded_one_is_gone_from_the_store(world: World) -> Pane:
    pane = resumed(world)
    world.close(pane, seen=False)
    world.passes(60)
    world.delete_newest()
    world.start(pane)
    return pane


def recorded_one_is_another_agents_now(world: World) -> Pane:
    pane = resumed(world)
    world.close(pane, seen=False)
    world.passes(60)
    world.delete_newest()
    other = world.open_pane("/srv/b")
    world.new(running(world, other, "--conversation", "default", "--agent", BOB))
    world.start(pane)
    return pane


def in_another_folder_with_the_same_record(world: World) -> Pane:
    """The conversation was last in both folders; /new here, then /cd there."""
    pane, made = used(world, "/srv/a")
    other = world.open_pane("/srv/b")
    running(world, other, "--conversation", made.id)
    world.close(other)
    world.passes(60)
    process = running(world, pane)
    world.new(process)
    world.change_folder(process, "/srv/b")
    return pane


def excursion(world: World, look: bool = False, turn: bool = False, titled: bool = False) -> Pane:
    """/cd away, /new, and back."""
    pane = resumed(world)
    assert pane.letta is not None
    pane.titled = titled
    world.change_folder(pane.letta, "/srv/b")
    if look:
        world.look()
    world.new(pane.letta)
    if turn:
        world.turn(pane.letta)
    world.change_folder(pane.letta, "/srv/a")
    return pane


def seen_excursion(world: World) -> Pane:
    return excursion(world, look=True)


def excursion_with_a_turn(world: World) -> Pane:
    return excursion(world, turn=True)


def excursion_under_a_title(world: World) -> Pane:
    return excursion(world, titled=True)


def clock_set_after_a_look(world: World) -> Pane:
    world.look()
    pane = edited_back(world)
    world.set_clock(3_600)
    return pane


def excursion_and_another_letta_started_at_once(world: World) -> Pane:
    """The log of the first could be the second's."""
    pane, _ = used(world, "/srv/a")
    other, _ = used(world, "/srv/b")
    process = world.start(pane)
    world.start(other, after=LOG_AFTER / 2)
    world.passes(3)
    assert process is not None
    world.change_folder(process, "/srv/b")
    world.new(process)
    world.turn(process)
    world.change_folder(process, "/srv/a")
    return pane


def id_given_again_while_it_is_shown(world: World) -> Pane:
    """The shown one had no turn and is deleted; a letta in another folder makes its id anew."""
    pane, made = used(world, "/srv/a", turns=0)
    running(world, pane)
    world.delete_newest()
    other = world.open_pane("/srv/b")
    process = running(world, other, "--conversation", "default", "--agent", ADA)
    world.new(process)
    assert process.shows is not None
    assert process.shows.session == made.session
    world.turn(process)
    world.close(other)
    return pane


# -- in which the letta itself says what it shows --------------------------------


def letta_of(pane: Pane) -> Process:
    assert pane.letta is not None
    return pane.letta


def after_new(world: World) -> Pane:
    pane = resumed(world)
    world.new(letta_of(pane))
    world.turn(letta_of(pane))
    return pane


def after_resume(world: World) -> Pane:
    _, other = used(world, "/srv/b", BOB)
    pane = resumed(world)
    world.passes(600)
    world.resume(letta_of(pane), other)
    return pane


def reloaded(world: World) -> Pane:
    """The mod was installed while letta ran."""
    installed, world.installed = world.installed, None
    pane = after_resume(world)
    world.installed = installed
    world.load_mod(letta_of(pane))
    return pane


def reloaded_twice(world: World) -> Pane:
    pane = after_new(world)
    for _ in range(2):
        world.load_mod(letta_of(pane))
    return pane


def in_tmux(world: World) -> Pane:
    used(world, "/srv/a", CLOUDY)
    pane = world.open_pane("/srv/a", TMUX)
    running(world, pane)
    return pane


def in_the_home_folder(world: World) -> Pane:
    pane = world.open_pane(HOME)
    world.turn(running(world, pane, "--conversation", "default", "--agent", ADA))
    return pane


def beside_another_in_the_folder(world: World) -> Pane:
    pane = after_new(world)
    other = world.open_pane("/srv/a")
    running(world, other)
    return pane


def while_another_streams(world: World) -> Pane:
    """They started together, so that either log could be of either."""
    first, _ = used(world, "/srv/a")
    second, _ = used(world, "/srv/b")
    world.start(first)
    world.start(second, after=LOG_AFTER / 2)
    world.passes(60)
    world.turn(letta_of(second))
    return first


def after_an_excursion(world: World) -> Pane:
    return excursion(world, turn=True)


def suspended_for_an_hour(world: World) -> Pane:
    pane = after_new(world)
    world.suspend(letta_of(pane))
    world.passes(3_600)
    world.go_on(letta_of(pane))
    return pane


def written_again(world: World) -> Pane:
    """The disk was full for a while, and then nothing could be written or deleted at all."""
    pane = resumed(world)
    for disk in ("full", "stuck"):
        world.disk = disk
        world.new(letta_of(pane))
        world.turn(letta_of(pane))
        world.passes(60)
    world.disk = "free"
    world.passes(5)
    return pane


def clock_set(world: World) -> Pane:
    pane = after_new(world)
    world.look()
    for by in (4_000, -4_000):
        world.set_clock(by)
        world.passes(5)
    return pane


def another_agent_chosen(world: World) -> Pane:
    pane = after_new(world)
    world.half_switched(letta_of(pane), BOB)
    world.new(letta_of(pane), BOB)
    world.turn(letta_of(pane))
    return pane


WITNESSED = [
    after_new,
    after_resume,
    reloaded,
    reloaded_twice,
    in_tmux,
    in_the_home_folder,
    beside_another_in_the_folder,
    while_another_streams,
    after_an_excursion,
    suspended_for_an_hour,
    written_again,
    clock_set,
    another_agent_chosen,
]


# -- in which a witness is wrong, or says no more --------------------------------


def left_by_a_process_before(world: World) -> Pane:
    """It was killed, and its pid was given again."""
    pane = resumed(world)
    before = letta_of(pane)
    world.close(pane, killed=True)
    world.installed = None
    process = running(world, pane, "--new")
    assert process.pid == before.pid
    return pane


def of_an_older_mod(world: World) -> Pane:
    world.installed = "old"
    return after_resume(world)


def taken_out(world: World) -> Pane:
    pane = resumed(world)
    world.installed = None
    world.load_mod(letta_of(pane))
    world.new(letta_of(pane))
    return pane


def never_heard_of_again(world: World) -> Pane:
    pane = resumed(world)
    world.disk = "stuck"
    world.new(letta_of(pane))
    world.passes(20)
    return pane


def streamed_since(world: World) -> Pane:
    pane = resumed(world)
    world.disk = "stuck"
    world.passes(1)
    world.new(letta_of(pane))
    world.turn(letta_of(pane))
    return pane


def drawn_halfway(world: World) -> Pane:
    """Of the agent that is switched to, a conversation once had the id that is still shown."""
    used(world, "/srv/b", BOB)
    world.delete_newest()
    pane = world.open_pane("/srv/a")
    process = running(world, pane, "--conversation", "default", "--agent", ADA)
    world.new(process)
    world.half_switched(process, BOB)
    return pane


def id_given_again_to_what_is_shown(world: World) -> Pane:
    pane, made = used(world, "/srv/a")
    world.delete_newest()
    process = running(world, pane, "--conversation", "default", "--agent", ADA)
    world.new(process)
    assert process.shows is not None
    assert process.shows.session == made.session
    return pane


def taken_out_after_an_excursion(world: World) -> Pane:
    """Nobody saw the excursion, but for the mod, before `/reload` took it out."""
    pane = excursion(world)
    world.installed = None
    world.load_mod(letta_of(pane))
    return pane
