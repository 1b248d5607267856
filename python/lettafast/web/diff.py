"""What a call of an edit tool changes, line by line.

Source: the edit tools that Letta Code gives its models: `Edit` and `MultiEdit`
(`old_string`, `new_string`), `Write` (`content`), `str_replace` (`old_str`, `new_str`),
`ApplyPatch` (`input` in the form `*** Begin Patch`). A call is known by its arguments.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Sign = Literal["-", "+", " ", "@"]
"""A line that goes, one that comes, one that stays; `@` begins another place."""

_OLD = ("old_string", "old_str", "oldText")
_NEW = ("new_string", "new_str", "newText")
_PATH = ("file_path", "path", "filename", "label")
_PATCH = ("input", "patch", "patchText")
_WRITERS = frozenset(("write", "writefile", "createfile"))
_CONTEXT = 3
# An escape that the text's end cuts, behind none or an even number of backslashes.
_BROKEN_ESCAPE = re.compile(r"(?<!\\)((?:\\\\)*)\\(?:u[0-9a-fA-F]{0,3})?$")
_PATCH_FILE = re.compile(r"\*\*\* (?:Add|Update|Delete) File: (.*)")


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line, without its end."""

    sign: Sign
    text: str


@dataclass(frozen=True, slots=True)
class Diff:
    """The change that a call asks for, as far as its arguments are known."""

    path: str
    lines: tuple[DiffLine, ...]
    cut: bool
    """Whether only the beginning of the arguments is known."""

    @property
    def removed(self) -> int:
        """How many lines go."""
        return sum(line.sign == "-" for line in self.lines)

    @property
    def added(self) -> int:
        """How many lines come."""
        return sum(line.sign == "+" for line in self.lines)


def diff_of(name: str | None, arguments: str | None) -> Diff | None:
    """The change that a call of the tool `name` asks for; None where it is no edit.

    `arguments` is a part's `input`, which may be only the beginning of a JSON object.
    """
    members, cut = _parsed(arguments or "")
    if members is None:
        return None
    lines = tuple(_lines(name or "", members))
    if not lines:
        return None
    path = _first(members, _PATH) or next(
        (found[1] for line in lines if (found := _PATCH_FILE.match(line.text))), ""
    )
    return Diff(path, lines, cut)


def _lines(name: str, members: Mapping[str, Any]) -> Iterator[DiffLine]:
    patch = _first(members, _PATCH)
    edits = members.get("edits")
    if patch is not None and patch.lstrip().startswith("*** Begin Patch"):
        yield from _patch(patch)
    elif isinstance(edits, list):
        for at, edit in enumerate(edits):
            if isinstance(edit, dict) and _first(edit, _OLD) is not None:
                yield DiffLine("@", f"edit {at + 1} of {len(edits)}")
                yield from _change(edit)
    elif _first(members, _OLD) is not None:
        yield from _change(members)
    elif re.sub("[^a-z]", "", name.lower()) in _WRITERS and _first(members, ("content",)):
        yield from _changed("", members["content"])


def _change(members: Mapping[str, Any]) -> Iterator[DiffLine]:
    return _changed(_first(members, _OLD) or "", _first(members, _NEW) or "")


def _changed(old: str, new: str) -> Iterator[DiffLine]:
    if all(text.endswith("\n") for text in (old, new) if text):
        old, new = old.removesuffix("\n"), new.removesuffix("\n")
    before, after = old.split("\n") if old else [], new.split("\n") if new else []
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for at, group in enumerate(matcher.get_grouped_opcodes(_CONTEXT)):
        if at:
            yield DiffLine("@", "further down")
        for tag, old_from, old_to, new_from, new_to in group:
            if tag == "equal":
                yield from (DiffLine(" ", line) for line in before[old_from:old_to])
                continue
            yield from (DiffLine("-", line) for line in before[old_from:old_to])
            yield from (DiffLine("+", line) for line in after[new_from:new_to])


def _patch(text: str) -> Iterator[DiffLine]:
    for line in text.strip().split("\n"):
        if line.startswith(("***", "@@")):
            yield DiffLine("@", line)
        elif line.startswith("-"):
            yield DiffLine("-", line[1:])
        elif line.startswith("+"):
            yield DiffLine("+", line[1:])
        else:
            yield DiffLine(" ", line[1:])


def _first(members: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    return next((members[name] for name in names if isinstance(members.get(name), str)), None)


def _parsed(text: str) -> tuple[dict[str, Any] | None, bool]:
    """The JSON object that `text` is, or begins, and whether it is only a beginning."""
    for whole in (text, *_closed(text)):
        try:
            value = json.loads(whole, strict=False)
        except (ValueError, RecursionError):
            continue
        return (value if isinstance(value, dict) else None), whole is not text
    return None, True


def _closed(text: str) -> Iterator[str]:
    """`text` with the ends that it lacks as the beginning of a JSON text.

    First with all of it, then without the member or item that it breaks off in.
    """
    ends = ""
    before_last = None
    in_string = escaped = False
    for at, character in enumerate(text):
        if in_string:
            in_string = escaped or character != '"'
            escaped = character == "\\" and not escaped
        elif character == '"':
            in_string = True
        elif character in "{[":
            ends = ("}" if character == "{" else "]") + ends
        elif character in "}]":
            ends = ends[1:]
        elif character == ",":
            before_last = text[:at] + ends
    yield _BROKEN_ESCAPE.sub(r"\1", text) + '"' + ends if in_string else text + ends
    if before_last is not None:
        yield before_last
