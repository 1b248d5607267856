"""What the agent is asked to run: exact commands, each with the text that the tool must return.

The commands leave git no room: no templates, hooks, redirects or other protocols, one commit, no
tags or submodules. The folder is named by the nonce, so that nothing in it was there before.
`timeout 9` ends a fetch before Letta Code would put it into the background, after 10 s.
"""

from __future__ import annotations

import hashlib
import re
import shlex
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .expected import ExpectedState

KINDS = ("push", "manual", "local")
"""What may have started a run."""
NO_OUTPUT = "(Command completed with no output)"
"""What Letta Code's Bash returns of a command that succeeds and prints nothing (0.34.12)."""
FETCH = "s2"
PROOF = "s7"
NOTE = "those names were listed inside the Letta Cloud sandbox"

_FETCHES = 3
_LONGEST_OUTPUT = 20_000
"""Characters. Letta Code cuts what is longer than 30,000."""
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_SHA1 = 40
_NONCE = re.compile(r"[0-9a-f]{32}")
_URL = re.compile(r"https://[A-Za-z0-9._~:/@-]+")


class PlanError(ValueError):
    """No plan can be made of these values."""


@dataclass(frozen=True, slots=True)
class Step:
    """One command: `output` is all that the tool must return, `attempts` how often it may run."""

    name: str
    title: str
    command: str
    output: str
    attempts: int = 1


@dataclass(frozen=True, slots=True)
class Plan:
    """The steps s1 to s6, or to s7 where the challenge is known, and the text that ends the run."""

    state: ExpectedState
    url: str
    nonce: str
    steps: tuple[Step, ...]
    final_text: str

    def challenged(self, challenge: str) -> Plan:
        """The plan with s7: 32 lower-case hex digits that nobody knew before."""
        if not _NONCE.fullmatch(challenge):
            raise PlanError("a challenge is 32 lower-case hex digits")
        digest = hashlib.sha256(challenge.encode() + self.state.listing).hexdigest()
        tree = f"git -C {_folder(self.nonce)} ls-tree -r -z --full-tree HEAD"
        command = f"{{ printf %s {challenge}; {tree}; }} | sha256sum"
        return replace(
            self, steps=(*self.steps[:6], Step(PROOF, "proof", command, f"{digest}  -\n"))
        )


def make_plan(state: ExpectedState, url: str, nonce: str, kind: str) -> Plan:
    """The plan without its challenge. Raises `PlanError`."""
    if not _COMMIT.fullmatch(state.commit) or not _COMMIT.fullmatch(state.tree):
        raise PlanError("a commit and a tree are 40 or 64 lower-case hex digits")
    if not _NONCE.fullmatch(nonce):
        raise PlanError("a nonce is 32 lower-case hex digits")
    if not _URL.fullmatch(url):
        raise PlanError("the URL holds what a plain HTTPS address does not")
    if kind not in KINDS:
        raise PlanError("the kind is push, manual or local")
    listing = "".join(f"{name}\n" for name in state.printed)
    if len(listing) > _LONGEST_OUTPUT:
        raise PlanError("the top-level names are too long for one tool result")
    return Plan(state, url, nonce, _steps(state, url, nonce, listing), _final_text(state, kind))


def opening_message(plan: Plan) -> str:
    """What the agent is asked first: s1 to s6."""
    return "\n".join(
        [
            "You check one commit of a git repository, and nothing else.",
            "Run these commands with the Bash tool, each exactly as it stands, in this order,",
            "one call at a time: wait for the result of each before you make the next call.",
            "",
            *_listed(plan.steps[:6]),
            "",
            f"If s2 fails, run it again exactly as it stands, {_FETCHES} times in all.",
            "If another command fails, stop.",
            "Run nothing else, use no other tool, and do not run a command in the background.",
            "Every other call is refused and makes the check fail.",
            "When all of them have succeeded, answer with the single word `ready`.",
            "One more command follows in the next message.",
        ]
    )


def challenge_message(plan: Plan) -> str:
    """What the agent is asked then: s7, and the four lines. `plan` is a challenged one."""
    pipeline = plan.final_text.partition("\n")[0]
    return "\n".join(
        [
            "Run this last command with the Bash tool, exactly as it stands, once:",
            "",
            *_listed(plan.steps[6:]),
            "",
            "Then answer with exactly these four lines, and nothing before, between or after them:",
            "",
            pipeline,
            "checkout: <what s4 printed>",
            "files: <the lines that s6 printed, in that order, joined by a comma and a space>",
            f"note: {NOTE}",
        ]
    )


def plan_json(plan: Plan) -> dict[str, Any]:
    """The plan as JSON, for people and for its digest."""
    return {
        "commit": plan.state.commit,
        "tree": plan.state.tree,
        "names": list(plan.state.names),
        "url": plan.url,
        "nonce": plan.nonce,
        "steps": [
            {
                "name": step.name,
                "title": step.title,
                "command": step.command,
                "output": step.output,
                "attempts": step.attempts,
            }
            for step in plan.steps
        ],
        "final_text": plan.final_text,
    }


def _folder(nonce: str) -> str:
    return f"/tmp/lettafast-{nonce}"  # noqa: S108 - in the sandbox, and named by a fresh nonce


def _steps(state: ExpectedState, url: str, nonce: str, listing: str) -> tuple[Step, ...]:
    folder = _folder(nonce)
    git = f"git -C {folder}"
    hooks = "-c core.hooksPath=/dev/null"
    # Objects named by SHA-256 are fetched only into a repository of that kind.
    objects = "" if len(state.commit) == _SHA1 else " --object-format=sha256"
    return (
        Step("s1", "init", f"git init -q --template={objects} {folder}", NO_OUTPUT),
        Step(
            FETCH,
            "fetch",
            f"timeout 9 {git} {hooks} -c http.followRedirects=false -c protocol.allow=never"
            " -c protocol.https.allow=always"
            " fetch -q --depth=1 --no-tags --no-recurse-submodules"
            f" {shlex.quote(url)} {state.commit}",
            NO_OUTPUT,
            attempts=_FETCHES,
        ),
        Step(
            "s3",
            "checkout",
            f"{git} {hooks} -c advice.detachedHead=false checkout -q --detach FETCH_HEAD",
            NO_OUTPUT,
        ),
        Step("s4", "head", f"{git} rev-parse --verify HEAD", f"{state.commit}\n"),
        Step("s5", "tree", f"{git} rev-parse --verify 'HEAD^{{tree}}'", f"{state.tree}\n"),
        Step(
            "s6",
            "names",
            f"{git} -c core.quotePath=true ls-tree --name-only HEAD",
            listing or NO_OUTPUT,
        ),
    )


def _final_text(state: ExpectedState, kind: str) -> str:
    return "\n".join(
        [
            f"pipeline: {kind} {state.commit}",
            f"checkout: {state.commit}",
            f"files: {', '.join(state.printed)}",
            f"note: {NOTE}",
        ]
    )


def _listed(steps: tuple[Step, ...]) -> list[str]:
    return [f"{step.name}: {step.command}" for step in steps]
