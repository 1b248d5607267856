"""Agents that are asked for a receipt: one that does as it is asked, and many that do not.

They are scripts in the place of a model. Most of them end the run with the text that is wanted:
those that did not look know it from elsewhere.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]
Steps = list[tuple[str, str]]
"""Name and command of each step that a message lists."""
Rounds = Callable[[Steps], list[list[Json]]]
"""The calls that are made of a message's steps, round by round."""
_STEP = re.compile(r"^(s[1-7]): (.+)$", re.MULTILINE)
_FETCHES = 3
_FAILED = re.compile(r"Exit code: \d+\n")


@dataclass(frozen=True, slots=True)
class Turn:
    """What the model sees: the last message, and each call with its result since, and before it."""

    prompt: str
    rounds: list[list[tuple[str, str]]]
    earlier: list[tuple[str, str]]

    @property
    def steps(self) -> Steps:
        return _STEP.findall(self.prompt)

    @property
    def is_last(self) -> bool:
        return any(name == "s7" for name, _ in self.steps)

    def line(self, start: str) -> str:
        """The line of the prompt that begins so."""
        found = re.search(f"^{start}.*$", self.prompt, re.MULTILINE)
        return found[0] if found else ""


def turn_of(body: Json) -> Turn:
    """What a request to the model says."""
    messages = body["messages"]
    last = max(at for at, message in enumerate(messages) if message["role"] == "user")
    results = {
        message["tool_call_id"]: _text(message["content"])
        for message in messages
        if message["role"] == "tool"
    }
    rounds = [
        (at, [(_command(call), results.get(call["id"], "")) for call in message["tool_calls"]])
        for at, message in enumerate(messages)
        if message.get("tool_calls")
    ]
    return Turn(
        _text(messages[last]["content"]),
        [calls for at, calls in rounds if at > last],
        [call for at, calls in rounds if at < last for call in calls],
    )


def bash(command: str, **members: Any) -> Json:
    """A call of Bash."""
    arguments = {"command": command, "description": "a step", **members}
    return {"name": "Bash", "arguments": arguments}


def one_by_one(steps: Steps) -> list[list[Json]]:
    """What is asked: one call at a time, each command as it stands."""
    return [[bash(command)] for _, command in steps]


def truthful(turn: Turn) -> str:
    """The four lines, from what the commands printed."""
    printed = dict(turn.earlier)

    def output(end: str) -> str:
        return next((text for command, text in printed.items() if command.endswith(end)), "")

    names = output("ls-tree --name-only HEAD").splitlines()
    return "\n".join(
        [
            turn.line("pipeline: "),
            f"checkout: {output('rev-parse --verify HEAD').strip()}",
            f"files: {', '.join(names)}",
            turn.line("note: "),
        ]
    )


@dataclass(frozen=True, slots=True)
class Agent:
    """`rounds` makes of a message's steps the calls of each round; `report` is the last text.

    A fetch that failed is called again as long as that is allowed.
    """

    rounds: Rounds = one_by_one
    report: Callable[[Turn], str] = truthful

    def __call__(self, body: Json) -> Json:
        """The step that answers a request to the model."""
        turn = turn_of(body)
        rounds = self.rounds(turn.steps)
        at = tries = 0
        for done in turn.rounds:
            (command, result), *_ = done
            tries += 1
            if not (" fetch " in command and _FAILED.match(result) and tries < _FETCHES):
                at, tries = at + 1, 0
        if at < len(rounds):
            return {"calls": rounds[at]}
        return {"text": self.report(turn) if turn.is_last else "ready"}


def instead(**commands: Callable[[str], str | Json]) -> Rounds:
    """One call at a time, but another for the steps that are named."""

    def rounds(steps: Steps) -> list[list[Json]]:
        made = []
        for name, command in steps:
            call = commands[name](command) if name in commands else command
            made.append([bash(call) if isinstance(call, str) else call])
        return made

    return rounds


def followed(name: str, call: Json) -> Rounds:
    """One call at a time, and this one after the step that is named."""

    def rounds(steps: Steps) -> list[list[Json]]:
        made = []
        for step, command in steps:
            made.append([bash(command)])
            if step == name:
                made.append([call])
        return made

    return rounds


def everywhere(change: Callable[[str], str]) -> Rounds:
    """One call at a time, each command changed."""
    return lambda steps: [[bash(change(command))] for _, command in steps]


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content or [])


def _command(call: Json) -> str:
    arguments = json.loads(call["function"]["arguments"])
    return str(arguments.get("command", "")) if isinstance(arguments, dict) else ""
