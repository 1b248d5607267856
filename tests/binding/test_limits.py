"""The known limits, played: what defeats the proof, so that nothing is excused without need."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lettafast.binding.verdict import Bound
from world_model import ADA, KNOWN_LIMITS, WITNESS_LIMITS, Pane, World
from world_scenes import (
    cloud_conversation,
    edited_back,
    excursion,
    project_moved_away_and_back,
    resumed,
    running,
    used,
    verdict_on,
)


def stale_pwd(world: World) -> Pane:
    """`env -C` changes the folder and not PWD; then /cd to where PWD says."""
    pane, made = used(world, "/srv/a")
    used(world, "/srv/b")
    pane.report = made.value
    process = running(world, pane, into="/srv/b", hook="missing")
    world.change_folder(process, "/srv/a")
    return pane


def excursion_that_nobody_saw(world: World) -> Pane:
    return excursion(world)


def excursion_whose_log_is_lost(world: World) -> Pane:
    pane = excursion(world, turn=True)
    assert pane.letta is not None
    world.lose_log(pane.letta)
    return pane


def excursion_after_exec(world: World) -> Pane:
    """The log is named by the time of `exec`, long after the shell's start."""
    pane, _ = used(world, "/srv/a")
    fresh = world.open_pane("/srv/a")
    world.panes.remove(pane)
    world.passes(100)
    process = running(world, fresh, execute=True)
    world.change_folder(process, "/srv/b")
    world.new(process)
    world.turn(process)
    world.change_folder(process, "/srv/a")
    return fresh


def record_that_could_not_be_written(world: World) -> Pane:
    pane = resumed(world)
    assert pane.letta is not None
    world.files_exhausted = True
    world.new(pane.letta)
    return pane


def bare_letta_in_its_picker(world: World) -> Pane:
    pane = resumed(world)
    world.close(pane, seen=False)
    world.passes(60)
    world.unfit = {ADA}
    running(world, pane)
    return pane


def bare_letta_in_its_sign_in_screen(world: World) -> Pane:
    pane = cloud_conversation(world)
    world.close(pane, seen=False)
    world.passes(60)
    world.signed_in = False
    running(world, pane)
    return pane


def letta_of_the_cloud_in_its_sign_in_screen(world: World) -> Pane:
    pane = cloud_conversation(world)
    world.close(pane, seen=False)
    world.passes(60)
    world.signed_in = False
    running(world, pane, "--backend", "cloud")
    return pane


def loading_what_is_gone_in_the_cloud(world: World) -> Pane:
    """For two seconds, until Letta records what it opens instead."""
    pane = cloud_conversation(world)
    assert pane.letta is not None
    assert pane.letta.shows is not None
    world.delete_in_cloud(pane.letta.shows)
    world.close(pane, seen=False)
    world.passes(60)
    world.start(pane)
    return pane


def project_moved_and_then_written_to(world: World) -> Pane:
    pane = project_moved_away_and_back(world)
    world.make_file("/srv/a")
    return pane


def clock_set_while_nobody_looked(world: World) -> Pane:
    pane = edited_back(world)
    world.set_clock(3_600)
    return pane


def id_given_again_at_an_earlier_time(world: World) -> Pane:
    """The clock was set back between the old conversation's turn and the new one's making."""
    pane, _ = used(world, "/srv/a")
    world.delete_newest()
    world.set_clock(-1_000)
    world.new(running(world, pane, "--conversation", "default", "--agent", ADA))
    world.close(pane)
    world.passes(2_000)
    running(world, pane)
    return pane


def cannot_be_taken_back(world: World) -> Pane:
    """Neither written nor deleted, as on a disk that failed; fresh for some seconds more."""
    pane = resumed(world)
    assert pane.letta is not None
    world.disk = "stuck"
    world.new(pane.letta)
    return pane


def put_back(world: World) -> Pane:
    """Another program puts an older file in the witness's place, until the mod writes again."""
    pane = resumed(world)
    assert pane.letta is not None
    old = world.told[pane.letta.pid]
    world.new(pane.letta)
    world.put_back(pane.letta, old)
    return pane


LIMITS = [
    stale_pwd,
    excursion_that_nobody_saw,
    excursion_whose_log_is_lost,
    excursion_after_exec,
    record_that_could_not_be_written,
    bare_letta_in_its_picker,
    bare_letta_in_its_sign_in_screen,
    letta_of_the_cloud_in_its_sign_in_screen,
    loading_what_is_gone_in_the_cloud,
    project_moved_and_then_written_to,
    clock_set_while_nobody_looked,
    id_given_again_at_an_earlier_time,
]
LIMITS_OF_THE_WITNESS = [
    cannot_be_taken_back,
    put_back,
    id_given_again_at_an_earlier_time,
]
UNHEARD = [
    bare_letta_in_its_picker,
    bare_letta_in_its_sign_in_screen,
    letta_of_the_cloud_in_its_sign_in_screen,
    loading_what_is_gone_in_the_cloud,
]
"""In which the mod has not been drawn yet."""


@pytest.mark.parametrize("scene", LIMITS, ids=lambda scene: scene.__name__)
def test_known_limit(scene: Callable[[World], Pane]) -> None:
    """It is wrong here, so that the model excuses nothing without need."""
    world = World()
    pane = scene(world)
    assert world.fault(pane, verdict_on(world, pane)) is not None
    assert world.excuse(pane)


@pytest.mark.parametrize("scene", LIMITS_OF_THE_WITNESS, ids=lambda scene: scene.__name__)
def test_known_limit_of_the_witness(scene: Callable[[World], Pane]) -> None:
    world = World("current")
    pane = scene(world)
    verdict = verdict_on(world, pane)
    assert isinstance(verdict, Bound)
    assert verdict.proof == "witnessed"
    assert world.fault(pane, verdict) is not None
    assert world.excuse(pane, "witnessed")


@pytest.mark.parametrize(
    ("scene", "seconds"), [(cannot_be_taken_back, 15.1), (put_back, 5)], ids=["stuck", "put back"]
)
def test_a_witness_is_wrong_for_some_seconds_only(
    scene: Callable[[World], Pane], seconds: float
) -> None:
    world = World("current")
    pane = scene(world)
    world.passes(seconds)
    assert world.fault(pane, verdict_on(world, pane)) is None


@pytest.mark.parametrize("scene", LIMITS, ids=lambda scene: scene.__name__)
def test_a_witness_ends_the_other_limits(scene: Callable[[World], Pane]) -> None:
    """Once it was heard of: letta may wait in a picker or a sign-in screen, or still load."""
    world = World("current")
    pane = scene(world)
    wrong = world.fault(pane, verdict_on(world, pane)) is not None
    assert wrong == (scene in [*UNHEARD, *LIMITS_OF_THE_WITNESS])


def test_every_excuse_is_needed() -> None:
    excuses, of_the_witness = set(), set()
    for scene in LIMITS:
        world = World()
        excuses |= world.excuse(scene(world))
    assert excuses == KNOWN_LIMITS
    for scene in LIMITS_OF_THE_WITNESS:
        world = World("current")
        of_the_witness |= world.excuse(scene(world), "witnessed")
    assert of_the_witness == WITNESS_LIMITS
