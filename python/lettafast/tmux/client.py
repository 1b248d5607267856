"""The client of one tmux server: it runs `tmux`, never a shell, in an empty environment."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import socket
import subprocess
from collections.abc import Mapping

from lettafast.errors import TmuxError, TmuxReason
from lettafast.peer import peer_pid

from . import listing
from .listing import TmuxPane

DEADLINE = 2.0
"""Seconds that a call may take, unless another deadline is given."""
MAX_READ_LINES = 1_000
"""Rows of a pane's history that are read, beside what it shows."""

_ENVIRONMENT = {"LC_ALL": "C.UTF-8", "TERM": "dumb"}
_REASONS = {
    errno.ENOENT: TmuxReason.NO_SERVER,
    errno.ENOTDIR: TmuxReason.NO_SERVER,
    errno.ECONNREFUSED: TmuxReason.NO_SERVER,
    errno.EACCES: TmuxReason.PERMISSION_DENIED,
    errno.EPERM: TmuxReason.PERMISSION_DENIED,
    errno.EAGAIN: TmuxReason.TIMEOUT,  # its queue is full
}


def find_program(environ: Mapping[str, str] = os.environ) -> str | None:
    """The `tmux` that `PATH` finds; None where there is none."""
    found = shutil.which("tmux", path=environ.get("PATH"))
    return found if found is not None and os.path.isabs(found) else None


class Tmux:
    """The tmux server that listens at `socket`; nothing is connected between calls.

    Each call ends within `deadline` seconds and may raise `TmuxError`. No call starts a
    server. Several threads may call at once. Ask only sockets that `sockets` finds safe.
    """

    def __init__(self, socket: str, program: str | None = None, deadline: float = DEADLINE) -> None:
        self.socket = socket
        self.deadline = deadline
        self._program = program or find_program()

    def panes(self) -> tuple[TmuxPane, ...]:
        """Every pane of every session, each once."""
        mark = secrets.token_hex(16).encode("ascii")
        try:
            answer = self._run("list-panes", "-a", "-F", listing.template(mark))
        except TmuxError as error:
            # Without a session there is no pane, which tmux takes for a mistake.
            if error.reason is TmuxReason.REFUSED and not self._run("list-sessions", "-F", "x"):
                return ()
            raise
        try:
            return listing.parse(mark, answer)
        except ValueError:
            raise TmuxError(TmuxReason.ANSWER, self.socket) from None

    def capture(self, pane_id: str, pid: int, lines: int = MAX_READ_LINES) -> str:
        """A pane's rows, and `lines` of those above them, without escape sequences.

        `pid` is that of the process that tmux started in it: where a server was started
        anew, or the pane was, another pane has that id.
        """
        target = ("-p", "-t", pane_id)
        capture = ("capture-pane", *target, "-S", str(-lines))
        said = self._run("display-message", *target, "#{pane_pid}", ";", *capture)
        found, _, text = said.partition(b"\n")
        if found != str(pid).encode("ascii"):
            raise TmuxError(TmuxReason.REFUSED, self.socket, f"{pane_id} is another pane now")
        return text.decode("utf-8", "replace")

    def server_pid(self) -> int | None:
        """The pid of the server; 0 where its pid namespace cannot be seen from here.

        None where the system does not say.
        """
        try:
            with contextlib.closing(socket.socket(socket.AF_UNIX)) as connected:
                connected.setblocking(False)
                connected.connect(self.socket)
                return peer_pid(connected)
        except OSError as error:
            number = error.errno or 0
            detail = os.strerror(number) if number else str(error)
            reason = _REASONS.get(number, TmuxReason.IO)
            raise TmuxError(
                reason, self.socket, detail if reason is TmuxReason.IO else ""
            ) from None

    def _run(self, *arguments: str) -> bytes:
        if self._program is None:
            raise TmuxError(TmuxReason.NOT_INSTALLED, self.socket)
        # -u: values are wanted as they are, not with `_` for what is no ASCII.
        command = [self._program, "-u", "-S", self.socket, *arguments]
        try:
            done = subprocess.run(  # noqa: S603 - a list of arguments, and no shell
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=self.deadline,
                env=_ENVIRONMENT,
                cwd="/",
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise TmuxError(TmuxReason.TIMEOUT, self.socket) from None
        except (OSError, ValueError) as error:
            raise TmuxError(TmuxReason.NOT_INSTALLED, self.socket, str(error)) from None
        if done.returncode:
            self.server_pid()  # which says so where the server has ended
            said = done.stderr.decode("utf-8", "replace").strip()
            raise TmuxError(TmuxReason.REFUSED, self.socket, said)
        return done.stdout
