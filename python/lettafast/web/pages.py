"""The pages of the front-end and their fragments, as HTML from views.

Pure: what is shown comes in, text goes out. Everything is escaped by the templates;
the only HTML that is put in as it is comes from `markdown` and from the marks of
spelled-out characters.
"""

from __future__ import annotations

import datetime as dt
import functools
from collections.abc import Mapping
from typing import Any

import jinja2

from .assets import static_url
from .render import seen_advice, seen_line, seen_text, shown_turns
from .views import ConversationView, IndexView, PaneView

TYPE = "text/html; charset=utf-8"
"""The media type of what this module writes."""

_KILO = 1_000
_WITH_TENTHS = 100
"""A smaller number of kB, MB or GB is shown with its tenths."""


def index_page(view: IndexView) -> str:
    """The start page: panes and conversations."""
    return _render("index.html", view=view)


def conversation_page(view: ConversationView) -> str:
    """A conversation, without any pane."""
    return _render("conversation.html", shown=view, turns=shown_turns(view.page))


def pane_page(view: PaneView) -> str:
    """A pane: its conversation, or its terminal's text, and why."""
    shown = view.conversation
    turns = shown_turns(shown.page) if shown else ()
    return _render("pane.html", view=view, shown=shown, turns=turns)


def turns_fragment(view: ConversationView) -> str:
    """The turns of one page and nothing around them."""
    return _render("turns.html", shown=view, turns=shown_turns(view.page))


def scrollback_fragment(view: PaneView) -> str:
    """The terminal's text of a pane and nothing around it."""
    return _render("scrollback.html", view=view)


def problem_page(problem: Mapping[str, Any]) -> str:
    """A page for problem details (RFC 9457)."""
    return _render("problem.html", problem=problem)


def _render(name: str, **values: Any) -> str:
    return _environment().get_template(name).render(**values)


@functools.cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("lettafast.web"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters.update(
        seen=seen_line, seen_text=seen_text, advice=seen_advice, bytes=_bytes, clock=_clock
    )
    environment.globals.update(static=static_url)
    return environment


def _bytes(size: int) -> str:
    """A number of bytes for people, in decimal units."""
    if size < _KILO:
        return f"{size} B"
    value, units = size / _KILO, ["kB", "MB", "GB"]
    while round(value) >= _KILO and len(units) > 1:
        value /= _KILO
        units.pop(0)
    return f"{value:.1f} {units[0]}" if value < _WITH_TENTHS else f"{value:.0f} {units[0]}"


def _clock(seconds: float) -> str:
    """Unix seconds as RFC 3339 in UTC, to the second."""
    try:
        found = dt.datetime.fromtimestamp(seconds, dt.timezone.utc)
    except (OverflowError, OSError, ValueError):
        return ""
    return found.strftime("%Y-%m-%dT%H:%M:%SZ")
