"""The panes of one tmux server.

tmux knows what it started in a pane, not what runs there now: the foreground process group
of each terminal is asked of the kernel. A tmux that runs in a pane of something else shows
there as its client, so that a letta in it is in front of the inner pane only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lettafast.herdr.records import DescribedProcess
from lettafast.herdr.screen import plain
from lettafast.tmux.client import Tmux
from lettafast.tmux.listing import TmuxPane

from .pane import Pane, Terminal
from .process import foregrounds, peer_shares_pid_namespace
from .providers import Origin


class TmuxPanes:
    """The provider over a client of tmux."""

    name = "tmux"
    reports = False

    def __init__(self, tmux: Tmux) -> None:
        self._tmux = tmux
        self.socket = tmux.socket
        self._terminals: Mapping[str, Terminal] = {}
        """By terminal id, as tmux named them last."""
        self._server: int | None = None

    def panes(self) -> Sequence[Pane]:
        """As `Provider.panes`."""
        # Where no server is left behind its socket, no tmux is run to find that out.
        self._server = self._tmux.server_pid()
        found = self._tmux.panes()
        self._terminals = {
            _terminal_id(one): Terminal(one.pid, one.tty) for one in found if not one.is_dead
        }
        return [self._pane(one) for one in found]

    def pane(self, pane_id: str) -> Pane | None:
        """As `Provider.pane`."""
        return next((pane for pane in self.panes() if pane.pane_id == pane_id), None)

    def foregrounds(self, panes: Sequence[Pane]) -> Sequence[tuple[DescribedProcess, ...]]:
        """As `Provider.foregrounds`; the kernel describes what it names."""
        known = self._terminals
        found = foregrounds([known.get(pane.terminal_id) for pane in panes])
        return [tuple(DescribedProcess(pid, None, None) for pid in pids) for pids in found]

    def shares_pids(self) -> bool:
        """As `Provider.shares_pids`."""
        return self._server is not None and peer_shares_pid_namespace(self._server)

    def origin(self, environ: Mapping[str, str], pane: Pane) -> Origin:  # noqa: ARG002
        """As `Provider.origin`: no integration reports to a tmux, so nothing hangs on it."""
        return Origin(None, pane.terminal_id)

    def terminal_text(self, pane: Pane) -> str:
        """As `Provider.terminal_text`."""
        pid = int(pane.terminal_id.rpartition(".")[2])
        text = plain(self._tmux.capture(pane.pane_id, pid)).rstrip("\n")
        return text and f"{text}\n"  # tmux tells the rows below that are empty, too

    def _pane(self, found: TmuxPane) -> Pane:
        return Pane(
            provider=self.name,
            socket=self.socket,
            pane_id=found.pane_id,
            terminal_id=_terminal_id(found),
            cwd=found.folder or None,
            label=found.place,
            title=found.title,
            agent=None,
            agent_status="unknown",
            report=None,
        )


def _terminal_id(pane: TmuxPane) -> str:
    """Another server at the same socket counts its panes from `%0` again."""
    return f"{pane.pane_id}.{pane.pid}"
