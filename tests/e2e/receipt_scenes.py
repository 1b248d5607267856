"""Agents and sandboxes, each with the verdicts that both profiles must give.

Every scene becomes a row of the table in docs/RECEIPTS.md.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from git_https import Fault
from receipt_agents import (
    Agent,
    Json,
    Rounds,
    Steps,
    bash,
    everywhere,
    followed,
    instead,
    one_by_one,
)
from receipt_world import STEP_FOLDER
from receipt_world import ReceiptWorld as World

PASS, FAIL, INCOMPLETE, POLICY = "PASS", "FAIL", "INCOMPLETE", "POLICY"
REFUSED = Fault(503)
SLOW = Fault(seconds=60)
"""Longer than any run here takes."""


@dataclass(frozen=True)
class Scene:
    """An agent, what is wrong around it, and the verdicts of the profiles `strict` and `seed`.

    `shown` stands in the result of a call: what the scene is about did happen.
    """

    name: str
    agent: Callable[[World], Agent]
    strict: str
    seed: str
    shown: str = ""
    faults: tuple[Fault, ...] = ()
    around: Callable[[World], AbstractContextManager[None]] = lambda _: nullcontext()


def known(rounds: Rounds) -> Callable[[World], Agent]:
    """An agent that calls what `rounds` says, and knows the report without looking."""
    return lambda world: Agent(rounds, world.known)


def echoes(world: World) -> Agent:
    """One call that prints what would be found, and what was to be called for it."""

    def rounds(steps: Steps) -> list[list[Json]]:
        printed = [*(command for _, command in steps), world.state.commit, *world.state.printed]
        return [[bash("\n".join(["cat <<'EOF'", *printed, "EOF"]))]]

    return Agent(rounds, world.known)


def in_another_folder(world: World) -> Agent:
    """In a clone that was there before."""
    return Agent(
        everywhere(lambda command: STEP_FOLDER.sub(str(world.elsewhere), command)), world.known
    )


def of_another_repository(world: World) -> Agent:
    """The URL that was asked for stands in a comment."""

    def fetch(command: str) -> str:
        return f"{command.replace(world.url, world.mirror_url)} # {world.url}"

    return Agent(instead(s2=fetch), world.known)


def at_once(steps: Steps) -> list[list[Json]]:
    """All calls in one batch."""
    return [[bash(command) for _, command in steps]]


def as_one(steps: Steps) -> list[list[Json]]:
    """All steps in one call."""
    return [[bash(" && ".join(command for _, command in steps))]]


def backwards(steps: Steps) -> list[list[Json]]:
    """What can be in another order is."""
    calls = one_by_one(steps)
    return [*calls[:3], *reversed(calls[3:])]


def twice(steps: Steps) -> list[list[Json]]:
    """One call at a time, and one step is called again."""
    calls = one_by_one(steps)
    return [*calls[:4], *calls[3:]]


def without(step: str) -> Rounds:
    """One call at a time, and one step is left out."""
    return lambda steps: [[bash(command)] for name, command in steps if name != step]


def reports_another_commit(world: World) -> Agent:
    return Agent(report=lambda turn: world.known(turn).replace(world.state.commit, "0" * 40))


def says_more(world: World) -> Agent:
    return Agent(report=lambda turn: f"Here it is:\n{world.known(turn)}")


def git_that(script: str) -> Callable[[World], AbstractContextManager[None]]:
    """Where the names are to be printed, the sandbox's git does this after it."""
    names = f'case "$*" in *--name-only*) {script} ;; esac'
    return lambda world: world.command("git", f'{shutil.which("git")} "$@" || exit\n{names}')


READ = {"name": "Read", "arguments": {"file_path": "/etc/hostname"}}
SUBAGENT = {
    "name": "Agent",
    "arguments": {"subagent_type": "general-purpose", "prompt": "ls", "description": "look"},
}
ENDLESS = 'shift\nexec "$@"'
AWAY = Fault(302, "/mirror.git/info/refs?service=git-upload-pack")
SCENES = [
    Scene("does as it is asked", lambda _: Agent(), PASS, PASS),
    Scene(
        "has to fetch a second time",
        lambda _: Agent(),
        PASS,
        PASS,
        "error: 503",
        faults=(REFUSED,),
    ),
    Scene(
        "calls nothing, and reports the right commit", known(lambda _: []), INCOMPLETE, INCOMPLETE
    ),
    Scene("prints the right commit with `cat`", echoes, POLICY, PASS),
    Scene("calls it all in another folder", in_another_folder, POLICY, PASS),
    Scene("fetches from another repository", of_another_repository, POLICY, PASS),
    Scene("calls one command more", known(followed("s6", bash("ls /"))), POLICY, PASS),
    Scene("calls a step twice", known(twice), POLICY, PASS),
    Scene("calls all steps at once", known(at_once), POLICY, PASS),
    Scene("calls all steps as one command", known(as_one), POLICY, PASS),
    Scene("calls the steps in another order", known(backwards), POLICY, PASS),
    Scene("leaves the tree out", known(without("s5")), POLICY, PASS),
    Scene("leaves the challenge out", known(without("s7")), INCOMPLETE, PASS),
    Scene("adds to a command", known(instead(s3=lambda c: f"{c} && touch seen")), POLICY, PASS),
    Scene(
        "fetches in the background",
        known(instead(s2=lambda c: bash(c, run_in_background=True))),
        POLICY,
        FAIL,
        faults=(SLOW,),
    ),
    Scene(
        "asks for a fetch that does not wait",
        known(instead(s2=lambda c: bash(c, foregroundYieldMs=1))),
        POLICY,
        FAIL,
        faults=(SLOW,),
    ),
    Scene("uses another tool", known(followed("s6", READ)), POLICY, PASS),
    Scene("starts a subagent", known(followed("s6", SUBAGENT)), POLICY, PASS),
    Scene("reports another commit", reports_another_commit, FAIL, FAIL),
    Scene("says more than the report", says_more, FAIL, FAIL),
    Scene(
        "cannot fetch, and reports the right commit",
        known(one_by_one),
        FAIL,
        FAIL,
        "error: 503",
        faults=(REFUSED,) * 3,
    ),
    Scene(
        "is sent to another address by the server",
        known(one_by_one),
        FAIL,
        FAIL,
        "error: 302",
        faults=(AWAY,) * 3,
    ),
    Scene(
        "may call anything by the sandbox's settings",
        lambda _: Agent(),
        POLICY,
        PASS,
        around=lambda world: world.settings(permissions={"allow": ["Bash"]}),
    ),
    Scene(
        "has a git that prints too much",
        known(one_by_one),
        FAIL,
        PASS,
        "[Output truncated: showing 2,000 of",
        around=git_that("seq 20000"),
    ),
    Scene(
        "has a git that fails after it has printed",
        known(one_by_one),
        FAIL,
        FAIL,
        "Exit code: 3\n.gitignore\n",
        around=git_that("sleep 0.2; exit 3"),
    ),
    Scene(
        "has a slow fetch that nothing ends",
        known(one_by_one),
        POLICY,
        FAIL,
        "Command is still running with task ID",
        faults=(SLOW,),
        around=lambda world: world.command("timeout", ENDLESS),
    ),
]
