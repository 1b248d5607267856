"""A process that was named itself, as if it were alone in front of a pane."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lettafast.herdr.records import DescribedProcess

from .pane import Pane
from .process import folder_name, identity_of
from .providers import Origin


class PidPane:
    """The provider of one process's pane: none while no such process runs."""

    name = "pid"
    socket = ""
    reports = False

    def __init__(self, pid: int) -> None:
        self._pid = pid

    def panes(self) -> Sequence[Pane]:
        """As `Provider.panes`."""
        identity = identity_of(self._pid)
        if identity is None:
            return []
        pane = Pane(
            provider=self.name,
            socket=self.socket,
            pane_id=str(self._pid),
            terminal_id=f"{self._pid}.{identity.start_ticks}",
            cwd=folder_name(self._pid),
            label=None,
            title=None,
            agent=None,
            agent_status="unknown",
            report=None,
        )
        return [pane]

    def pane(self, pane_id: str) -> Pane | None:
        """As `Provider.pane`."""
        return next((pane for pane in self.panes() if pane.pane_id == pane_id), None)

    def foregrounds(self, panes: Sequence[Pane]) -> Sequence[tuple[DescribedProcess, ...]]:
        """As `Provider.foregrounds`."""
        return [(DescribedProcess(self._pid, None, None),) for _ in panes]

    def shares_pids(self) -> bool:
        """As `Provider.shares_pids`: who named the pid meant one of here."""
        return True

    def origin(self, environ: Mapping[str, str], pane: Pane) -> Origin:  # noqa: ARG002
        """As `Provider.origin`."""
        return Origin(None, pane.terminal_id)

    def terminal_text(self, pane: Pane) -> str:  # noqa: ARG002
        """As `Provider.terminal_text`: which terminal it writes to is not looked for."""
        return ""
