"""What every provider of panes offers, so that nothing else needs to know which one it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from lettafast.errors import (
    HerdrUnavailable,
    HerdrUnavailableReason,
    ProviderError,
    TmuxError,
    TmuxReason,
)
from lettafast.herdr.records import DescribedProcess

from .facts import Problem
from .pane import Pane
from .verdict import Reason

_GONE = (
    HerdrUnavailableReason.MISSING,
    HerdrUnavailableReason.NOT_LISTENING,
    TmuxReason.NO_SERVER,
)
"""A socket that a server left behind is none."""


class Origin(NamedTuple):
    """What a process's environment says of the pane that it was started in."""

    is_here: bool | None
    """Whether that is of this server; None where it does not say."""
    terminal_id: str | None
    """The terminal that the server has for the pane it names; None where it has none."""


class Provider(Protocol):
    """One server that shows panes. Each call ends in time, and may raise `ProviderError`."""

    @property
    def name(self) -> str:
        """`herdr`, `tmux` or `pid`."""

    @property
    def socket(self) -> str:
        """The path of its socket; "" where it has none."""

    @property
    def reports(self) -> bool:
        """Whether it labels the agent in front and is told the conversation by an integration."""

    def panes(self) -> Sequence[Pane]:
        """Every pane that it has now."""

    def pane(self, pane_id: str) -> Pane | None:
        """One of them; None where it is gone."""

    def foregrounds(self, panes: Sequence[Pane]) -> Sequence[tuple[DescribedProcess, ...]]:
        """What runs in front of each of these panes; of none where that is not known."""

    def shares_pids(self) -> bool:
        """Whether a pid that it names means the same process here; asked after `panes`."""

    def origin(self, environ: Mapping[str, str], pane: Pane) -> Origin:
        """Where a process in front of `pane` says that it was started."""

    def terminal_text(self, pane: Pane) -> str:
        """The pane's last rows as plain text, without anything that steers a terminal."""


def unavailable(name: str) -> Reason:
    """Why a provider of this name tells nothing when it does not answer."""
    return Reason.TMUX_UNAVAILABLE if name == "tmux" else Reason.HERDR_UNAVAILABLE


def problem_of(error: ProviderError) -> Problem:
    """Why a provider told nothing."""
    reason = Reason.HERDR_PROTOCOL
    if isinstance(error, HerdrUnavailable):
        reason = Reason.HERDR_UNAVAILABLE
    elif isinstance(error, TmuxError):
        reason = Reason.TMUX_UNAVAILABLE
    return Problem(reason, str(error))


def is_gone(error: ProviderError) -> bool:
    """Whether nobody listens at the socket, which is no failure."""
    return error.reason in _GONE
