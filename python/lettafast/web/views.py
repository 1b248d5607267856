"""What the pages of the front-end are made from: plain values, gathered by the routes.

How a page stays current. It opens `/api/events?watch=<view.watch>` (`watch` may be repeated,
64 at most; each value percent-encoded once as any query value). At the start of the stream, and
after each reconnect, every watch gets one event that says how it stands; then one whenever that
changes. `data` is JSON with `watch` (as it was asked) and:

| event | further members |
| --- | --- |
| `grown` | `bytes` since the last one (0 at the start), `cursor`: the end now, or null |
| `history_changed` | `reason`: another history is there; load the page again |
| `refused` | `problem`: the problem details |
| `missing` | `problem`: not there, not written yet, or unreadable, as its `type` says |
| `verdict` | `pane`: as `PaneView.pane`; only for panes |
| `pane_closed` | nothing |

On `grown` with a `cursor` other than the view's `end`: `GET <view.turns>?after=<view.end>` and
go on from the `end` of the answer; until `at_end` where it was cut. Where `end` is None: the newest
page. 409 there is `history_changed`. A watched pane gets the events of the conversation that it is
bound to under its own watch, and a `verdict` whenever that changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

State = Literal["ok", "empty", "not_written", "missing", "refused", "unreadable"]
"""`empty`: a transcript without an entry; `not_written`: a conversation that has no transcript
yet; `missing`: no such conversation; `unreadable`: it could not be opened."""


@dataclass(frozen=True, slots=True)
class ConversationView:
    """One page of a conversation. Paths are those of this server, without its origin."""

    agent: str
    conversation: str
    title: str
    mode: Literal["strict", "lenient"]
    state: State
    page: Mapping[str, Any] | None
    """The page's JSON, decoded (`docs/PAGES.md`); None unless `state` is `ok` or `empty`."""
    problem: Mapping[str, Any] | None
    """The problem details of a conversation that is refused or unreadable."""
    diagnostics: Sequence[Mapping[str, Any]]
    """What a lenient reading skipped: reason, line, offset, field, excerpt."""
    api: str
    """`/api/conversations/<agent>/<conversation>` or, where a pane shows it,
    `/api/panes/<session>/<terminal>/conversation`. Ranges of long texts:
    `<api>/content?ref=&part=&start=&length=`."""
    turns: str
    """Answers fragments of HTML, with `before`, `after`, `limit` and `mode` as the page has."""
    here: str
    """This page's own path."""
    watch: str
    """What to ask `/api/events` for: `conversation:<agent>/<conversation>` or
    `pane:<session>/<terminal>`, and `?mode=lenient` behind it where that is read."""
    end: str | None
    """The cursor behind the page's last row, to pass as `after`; None while there is no entry."""
    at_end: bool
    """Whether nothing came behind the page when it was read."""


@dataclass(frozen=True, slots=True)
class PaneView:
    """A pane: the verdict on it, and what it shows."""

    session: str
    terminal: str
    pane: Mapping[str, Any]
    """`ShownPane.shape`: names, verdict, evidence, advice, offer."""
    conversation: ConversationView | None
    """None where the pane shows its terminal."""
    scrollback: str | None
    """The terminal's text, without escape sequences; None where it could not be read."""
    api: str
    """`/api/panes/<session>/<terminal>`."""
    here: str
    watch: str
    """`pane:<session>/<terminal>`."""
    turns: str
    """Answers the fragment of the conversation, or of the scrollback where nothing is bound."""


@dataclass(frozen=True, slots=True)
class IndexView:
    """The start page."""

    panes: Sequence[Mapping[str, Any]]
    """`ShownPane.shape` each."""
    unreachable: Sequence[Mapping[str, Any]]
    """Sessions that could not be asked: `provider`, `socket` and `saw`."""
    offers: Sequence[Mapping[str, Any]]
    """What would help panes: an `offer`, as panes have it, and how many `lettas` it is for."""
    conversations: Sequence[Mapping[str, Any]]
    """Newest first: agent, conversation, title, state (`present`, `empty`, `missing` or
    `unreadable`, as `lettafast list` says), size (bytes), mtime (Unix seconds), href (None where
    the folder cannot be looked into)."""
    root: str
    note: str | None
    """What to say first, such as that a bundled recording is shown."""
    is_late: bool = False
    """Whether the panes are not here yet."""
