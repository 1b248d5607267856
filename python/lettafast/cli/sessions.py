"""Which herdr sessions and tmux servers a command looks at, and at what pace."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from lettafast.errors import HerdrError
from lettafast.visible import file_name, visible_line

from . import output
from .usage import UsageError

if TYPE_CHECKING:  # loaded only by the commands that bind
    from lettafast.binding import Binder, Provider
    from lettafast.binding.world import SeenPane, World

_POLL = 0.5
"""Seconds between two looks: neither a report nor a switch in Letta makes an event."""


def add_watch(parser: argparse.ArgumentParser) -> None:
    """Adds `--watch`."""
    parser.add_argument("--watch", action="store_true", help="go on, and print what changes")


def add_sessions(parser: argparse.ArgumentParser) -> None:
    """Adds what names a session, and `--watch`."""
    named = parser.add_mutually_exclusive_group()
    named.add_argument(
        "--session",
        metavar="NAME",
        help="look only at this herdr session, or at the one whose `session` `panes --json` gives",
    )
    named.add_argument(
        "--socket",
        metavar="PATH",
        help="look only at the herdr session or the tmux server with this socket",
    )
    add_watch(parser)


def looks(args: argparse.Namespace) -> Iterator[None]:
    """Once, or with `--watch` again and again."""
    yield
    while args.watch:
        time.sleep(_POLL)
        yield


def plain_binder() -> Binder:
    """A binder that sees every session. Raises `UsageError` where the extra is missing."""
    try:
        from lettafast.binding import Binder

        return Binder()
    except ModuleNotFoundError as error:
        raise _missing(error) from None


class Sessions:
    """The sessions that a command's arguments name, or all; tells which cannot be looked at."""

    def __init__(self, args: argparse.Namespace) -> None:
        from lettafast.binding.names import is_session_name

        self._name: str | None = args.session if is_session_name(args.session or "") else None
        self._told: set[str] = set()
        try:
            self._chosen = None if self._name else _chosen(args)
        except ModuleNotFoundError as error:
            raise _missing(error) from None

    def binder(self) -> Binder:
        """A binder that sees every session, the one that is named first."""
        if self._chosen is None:
            return plain_binder()
        from lettafast.binding import Binder

        return Binder([self._chosen])

    def shown(self, world: World) -> list[SeenPane]:
        """The panes of the sessions that are meant."""
        return [seen for seen in world.panes if self._is_meant(seen.provider)]

    def is_reached(self, world: World) -> bool:
        """Whether a session that is meant answered."""
        return any(map(self._is_meant, world.answered))

    def tell(self, world: World) -> None:
        """Says on standard error what is news: who gave no answer, or that nobody is there."""
        said = {problem.saw for problem in world.unseen.values()}
        if not any(map(self._is_meant, {*world.answered, *world.unseen})):
            said.add(self._nobody())
        for text in sorted(said - self._told):
            output.note(visible_line(file_name(text)))
        self._told = said

    def _is_meant(self, provider: Provider) -> bool:
        from lettafast.binding.names import session_name

        if self._name is not None:
            name = session_name(provider.name, provider.socket)
            return name == self._name
        return self._chosen is None or provider is self._chosen

    def _nobody(self) -> str:
        if self._name is not None:
            return f"no session {self._name} is running here"
        if self._chosen is not None:
            return f"{self._chosen.socket}: no {self._chosen.name} listens there"
        return "no herdr session and no tmux server is running here"


def _chosen(args: argparse.Namespace) -> Provider | None:
    from lettafast.binding import HerdrPanes, TmuxPanes
    from lettafast.herdr.client import Herdr
    from lettafast.herdr.sockets import socket_path
    from lettafast.tmux.client import Tmux

    if args.socket is not None:
        if not args.socket:
            raise UsageError(
                "--socket names no path", "name the socket of a herdr session or a tmux server"
            )
        real = os.path.realpath(args.socket)
        return TmuxPanes(Tmux(real)) if _is_tmux(real) else HerdrPanes(Herdr(args.socket))
    try:
        return None if args.session is None else HerdrPanes(Herdr(socket_path(args.session)))
    except HerdrError as error:
        raise UsageError(str(error), error.hint or "") from None


def _is_tmux(path: str) -> bool:
    """Whether it is a tmux server's: one in its usual place, or that a server listens at."""
    from lettafast.binding.process import runs_program
    from lettafast.errors import TmuxError
    from lettafast.tmux.client import Tmux
    from lettafast.tmux.sockets import find_sockets, is_safe

    if path in find_sockets():
        return True
    try:
        server = Tmux(path).server_pid()
    except TmuxError:
        return False
    if not server or not runs_program(server, "tmux"):
        return False
    if not is_safe(path):
        raise UsageError(
            f"{path}: others may put another socket in the place of this tmux server's",
            "start it with its socket in a folder that only you may write to",
        )
    return True


def _missing(error: ModuleNotFoundError) -> UsageError:
    return UsageError(
        f"this command needs the package `{error.name}`",
        "install it with `pip install 'lettafast[binding]'`",
    )
