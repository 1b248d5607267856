"""One line of what a tool call was asked to do, for the front-ends."""

from __future__ import annotations

import json
import re

SUMMARY_CHARS = 100
"""Characters of a summary where the caller names no limit."""

# The arguments that tell a person what a call does, the most telling first.
_TELLING = (
    "command",
    "cmd",
    "file_path",
    "path",
    "notebook_path",
    "pattern",
    "query",
    "url",
    "description",
    "subject",
    "prompt",
    "message",
    "skill",
    "name",
)

# A string may lack its end: then it ends before the first escape that was cut.
_STRING = r'"(?:[^"\\]|\\u[0-9a-fA-F]{4}|\\[^u])*'
_MEMBER = re.compile(rf'\s*[{{,]\s*({_STRING}")\s*:\s*(?:({_STRING})"?|([^\s",{{}}\[\]]+))')
_SURROGATE = re.compile("[\ud800-\udfff]")


def summarize_arguments(arguments: str | None, limit: int = SUMMARY_CHARS) -> str:
    """The most telling of a tool call's arguments, on one line of at most `limit` characters.

    `arguments` is a part's `input`, which may be only a preview of a JSON
    object. White space is collapsed, and `...` marks what was left out. Text
    that is no JSON object is shown as it is; "" says that there is nothing to
    show. Control characters stay: a front-end must treat the line as hostile
    text. No surrogate is in it.
    """
    line = _SURROGATE.sub("\ufffd", " ".join(_telling(arguments or "").split()))
    return line if len(line) <= limit else line[: max(limit - 3, 0)] + "..."


def _telling(arguments: str) -> str:
    try:
        members = json.loads(arguments, strict=False)
    except (ValueError, RecursionError):
        members = _first_members(arguments)
    if not isinstance(members, dict):
        return arguments
    for name in _TELLING:
        value = members.get(name)
        if isinstance(value, str) and value.strip():
            return value
    return next((f"{name}: {_words(value)}" for name, value in members.items()), "")


def _words(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return "{...}"
    return "[...]" if isinstance(value, list) else json.dumps(value)


def _first_members(text: str) -> dict[str, object] | None:
    """The members that a cut object begins with, up to its first nested value."""
    members: dict[str, object] = {}
    at = 0
    while found := _MEMBER.match(text, at):
        name, string, other = found.groups()
        try:
            value = json.loads(other if string is None else string + '"', strict=False)
            members[json.loads(name, strict=False)] = value
        except ValueError:
            break
        at = found.end()
    return members or None
