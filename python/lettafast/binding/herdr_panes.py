"""The panes of one herdr session."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as LateError

from lettafast.errors import (
    HerdrError,
    HerdrRefused,
    HerdrRefusedReason,
    HerdrUnavailable,
    HerdrUnavailableReason,
)
from lettafast.herdr.client import Herdr
from lettafast.herdr.records import DescribedProcess, PaneInfo

from .pane import Pane
from .process import peer_shares_pid_namespace
from .providers import Origin

LOOK_SECONDS = 10.0
"""How long one session may take to describe all its panes."""
_AT_ONCE = 8
"""Questions to one session at a time."""


class HerdrPanes:
    """The provider over a client of herdr."""

    name = "herdr"
    reports = True

    def __init__(self, herdr: Herdr) -> None:
        self._herdr = herdr
        self.socket = herdr.socket

    def panes(self) -> Sequence[Pane]:
        """As `Provider.panes`."""
        return [_pane(found) for found in self._herdr.snapshot().panes]

    def pane(self, pane_id: str) -> Pane | None:
        """As `Provider.pane`."""
        try:
            return _pane(self._herdr.pane(pane_id))
        except HerdrRefused as error:
            if error.reason is HerdrRefusedReason.PANE_NOT_FOUND:
                return None
            raise

    def foregrounds(self, panes: Sequence[Pane]) -> Sequence[tuple[DescribedProcess, ...]]:
        """As `Provider.foregrounds`: some are asked at a time, all within a bound."""
        pool = ThreadPoolExecutor(_AT_ONCE)
        try:
            asked = [pool.submit(self._foreground, pane) for pane in panes]
            until = time.monotonic() + LOOK_SECONDS
            return [call.result(max(0.0, until - time.monotonic())) for call in asked]
        except LateError:
            raise HerdrUnavailable(HerdrUnavailableReason.TIMEOUT, self.socket) from None
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def shares_pids(self) -> bool:
        """As `Provider.shares_pids`."""
        peer = self._herdr.peer_pid()
        return peer is not None and peer_shares_pid_namespace(peer)

    def origin(self, environ: Mapping[str, str], pane: Pane) -> Origin:
        """As `Provider.origin`: `HERDR_SOCKET_PATH` and `HERDR_PANE_ID`."""
        return Origin(
            _is_socket(environ.get("HERDR_SOCKET_PATH"), self.socket),
            self._terminal_named(environ.get("HERDR_PANE_ID"), pane),
        )

    def terminal_text(self, pane: Pane) -> str:
        """As `Provider.terminal_text`."""
        return self._herdr.read(pane.pane_id).text

    def _foreground(self, pane: Pane) -> tuple[DescribedProcess, ...]:
        try:
            return self._herdr.process_info(pane.pane_id).processes
        except HerdrRefused as error:
            if error.reason is HerdrRefusedReason.PANE_NOT_FOUND:  # nothing was started in it yet
                return ()
            raise

    def _terminal_named(self, named: str | None, pane: Pane) -> str | None:
        if named is None or named == pane.pane_id:
            return pane.terminal_id
        try:
            # A pane that was moved answers to the id that it had before.
            return self._herdr.pane(named).terminal_id
        except HerdrError:
            return None


def _pane(found: PaneInfo) -> Pane:
    return Pane(
        provider=HerdrPanes.name,
        socket=found.socket,
        pane_id=found.pane_id,
        terminal_id=found.terminal_id,
        cwd=found.foreground_cwd or found.cwd,
        label=found.label,
        title=found.title,
        agent=found.agent,
        agent_status=found.agent_status,
        report=found.report,
    )


def _is_socket(named: str | None, socket: str) -> bool | None:
    if named is None:
        return None
    try:
        return os.path.samefile(named, socket)
    except (OSError, ValueError):
        return False
