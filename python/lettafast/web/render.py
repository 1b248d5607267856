"""Turns of a page as what the templates show: plain values and safe HTML."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from markupsafe import Markup, escape

from lettafast.summary import summarize_arguments
from lettafast.visible import file_name, visible, visible_line

from .diff import Diff, diff_of
from .markdown import MAX_MARKDOWN_CHARS, markdown

MARKDOWN_CHARS_OF_A_PAGE = 300_000
"""Characters of Markdown that one page renders, the newest first; the rest is shown as it is."""
SECONDS_OF_A_PAGE = 2.0
"""Seconds after which a page renders no more Markdown and compares no more texts: some are made
to be slow."""
TOOL_CHARS_OF_A_PAGE = 200_000
"""Characters of arguments and outputs that a page holds; the rest is fetched when opened."""
BOXED_CHARS = 8_000
"""A plain text longer than this scrolls in a box of its own."""

MARKS_OF_A_TEXT = 10_000
"""Spelled-out characters of one text that are marked; with more of them, a browser takes long."""

_CODE = re.compile("`([^`]+)`")
_MARK = '<span class="odd">'

STATES = {
    "ok": "done",
    "failed": "failed",
    "unfinished": "no result",
    "unknown": "result unknown",
}


@dataclass(frozen=True, slots=True)
class LongText:
    """A text, or its beginning, with the rest to be had from the server in ranges."""

    part: str
    ref: str | None
    text: str | None
    """None where the page holds nothing of it."""
    shown: int
    """UTF-8 bytes of the text that the page holds."""
    size: int
    """UTF-8 bytes of the whole text."""
    absent: bool = False
    """Whether the entry has no such text at all."""

    @property
    def is_cut(self) -> bool:
        """Whether there is more to fetch."""
        return self.shown < self.size

    @property
    def is_boxed(self) -> bool:
        """Whether it scrolls in a box of its own."""
        return self.is_cut or self.size > BOXED_CHARS


@dataclass(frozen=True, slots=True)
class TextPart:
    """Something that was said, thought, or went wrong."""

    kind: str
    body: LongText
    rendered: Markup | None
    """The Markdown of it; None where it is shown as it is."""
    is_too_long: bool
    """Whether it would be rendered if it were shorter."""


@dataclass(frozen=True, slots=True)
class ToolPart:
    """One call of a tool."""

    kind: Literal["tool"]
    ref: str
    name: str
    id: str | None
    state: str
    state_label: str
    summary: str
    input: LongText
    output: LongText
    diff: Diff | None


@dataclass(frozen=True, slots=True)
class ShownTurn:
    """One turn, or what this page holds of it."""

    role: str
    speaker: str
    offset: int
    ts: str
    continues: bool
    """Whether it began on an older page."""
    parts: tuple[TextPart | ToolPart, ...]

    @property
    def tools(self) -> int:
        """How many calls of tools it holds."""
        return sum(isinstance(part, ToolPart) for part in self.parts)

    @property
    def failed(self) -> int:
        """How many of them failed."""
        return sum(isinstance(part, ToolPart) and part.state == "failed" for part in self.parts)


@dataclass(slots=True)
class _Budget:
    """What a page may still spend, so that it is there at once whatever it shows."""

    markdown: int = MARKDOWN_CHARS_OF_A_PAGE
    tools: int = TOOL_CHARS_OF_A_PAGE
    deadline: float = field(default_factory=lambda: time.monotonic() + SECONDS_OF_A_PAGE)

    def renders(self, text: str) -> bool:
        """Whether this text's Markdown is rendered."""
        if len(text) > min(self.markdown, MAX_MARKDOWN_CHARS) or self.is_spent:
            return False
        self.markdown -= len(text)
        return True

    @property
    def is_spent(self) -> bool:
        """Whether the page took so long that the rest is shown as it is."""
        return time.monotonic() > self.deadline

    def holds(self, text: str) -> bool:
        """Whether the page holds this argument or output."""
        if len(text) > self.tools:
            return False
        self.tools -= len(text)
        return True


def shown_turns(page: Mapping[str, Any] | None) -> tuple[ShownTurn, ...]:
    """The turns of a page's JSON, oldest first."""
    if page is None:
        return ()
    budget = _Budget()
    # The newest is what a reader came for: it gets its share first.
    newest_first = [_turn(turn, budget) for turn in reversed(page["turns"])]
    turns = newest_first[::-1]
    if turns and page["starts_mid_turn"]:
        turns[0] = _continued(turns[0])
    return tuple(turns)


def seen_line(text: object) -> Markup:
    """Any value as one line of HTML, with what steers or misleads spelled out."""
    return _marked(visible_line, "" if text is None else str(text))


def seen_text(text: object) -> Markup:
    """The same with its line ends and tabs."""
    return _marked(visible, "" if text is None else str(text))


def seen_advice(text: str) -> Markup:
    """A sentence of this project's own, with what stands in backquotes as code."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(seen_line(text))))  # noqa: S704 - escaped


def _marked(spell: Any, text: str) -> Markup:
    escaped = str(escape(file_name(text)))
    shown = spell(escaped, f"{_MARK}{{}}</span>".format)
    if shown.count(_MARK) > MARKS_OF_A_TEXT:
        shown = spell(escaped)
    return Markup(shown)  # noqa: S704 - escaped


def _turn(turn: Mapping[str, Any], budget: _Budget) -> ShownTurn:
    parts = [_part(part, turn["role"], budget) for part in reversed(turn["parts"])]
    return ShownTurn(
        role=turn["role"],
        speaker="You" if turn["role"] == "user" else "Agent",
        offset=turn["offset"],
        ts=turn["ts"],
        continues=False,
        parts=tuple(parts[::-1]),
    )


def _continued(turn: ShownTurn) -> ShownTurn:
    return ShownTurn(turn.role, turn.speaker, turn.offset, turn.ts, True, turn.parts)


def _part(part: Mapping[str, Any], role: str, budget: _Budget) -> TextPart | ToolPart:
    if part["kind"] == "tool":
        return _tool(part, budget)
    text = part["text"]
    shown = len(text.encode())
    body = LongText("text", part.get("ref"), text, shown, part.get("size", shown))
    # What a person typed is shown as typed: it is more often a log than Markdown.
    wanted = role == "assistant" and part["kind"] != "error" and bool(text.strip())
    rendered = None
    if wanted and not body.is_cut and budget.renders(text):
        rendered = Markup(markdown(text))  # noqa: S704 - cleaned by nh3
    return TextPart(part["kind"], body, rendered, wanted and rendered is None)


def _tool(part: Mapping[str, Any], budget: _Budget) -> ToolPart:
    output = _long("output", part, budget)
    given = _long("input", part, budget)
    compares = given.text is not None and not budget.is_spent
    return ToolPart(
        kind="tool",
        ref=part["ref"],
        name=part["name"] or "unnamed tool",
        id=part["id"],
        state=part["state"],
        state_label=STATES[part["state"]],
        summary=summarize_arguments(part["input"]),
        input=given,
        output=output,
        diff=diff_of(part["name"], part["input"]) if compares else None,
    )


def _long(name: str, part: Mapping[str, Any], budget: _Budget) -> LongText:
    text, size = part[name], part[f"{name}_size"]
    if text is None:
        return LongText(name, part["ref"], None, 0, 0, absent=True)
    if not budget.holds(text):
        return LongText(name, part["ref"], None, 0, size)
    return LongText(name, part["ref"], text, len(text.encode()), size)
