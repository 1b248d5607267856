"""Which herdr sessions a command looks at, and at what pace."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from lettafast.errors import HerdrError
from lettafast.visible import file_name, visible_line

from . import output
from .usage import UsageError

if TYPE_CHECKING:  # loaded only by the commands that bind
    from lettafast.binding import Binder
    from lettafast.binding.world import SeenPane, World
    from lettafast.herdr.client import Herdr

_POLL = 1.0
"""Seconds between two looks: a report that changes makes no event."""


def add_sessions(parser: argparse.ArgumentParser) -> None:
    """Adds what names a session, and `--watch`."""
    named = parser.add_mutually_exclusive_group()
    named.add_argument("--session", metavar="NAME", help="look at this herdr session only")
    named.add_argument("--socket", metavar="PATH", help="look at the session with this socket only")
    parser.add_argument("--watch", action="store_true", help="go on, and print what changes")


def binder(args: argparse.Namespace) -> Binder:
    """A binder that sees every session, the one that `args` names first."""
    try:
        from lettafast.binding import Binder

        chosen = _chosen(args)
        return Binder([chosen] if chosen else [])
    except ModuleNotFoundError as error:
        raise UsageError(
            f"this command needs the package `{error.name}`",
            "install it with `pip install 'lettafast[binding]'`",
        ) from None


def looks(args: argparse.Namespace) -> Iterator[None]:
    """Once, or with `--watch` again and again."""
    yield
    while args.watch:
        time.sleep(_POLL)
        yield


def _chosen(args: argparse.Namespace) -> Herdr | None:
    from lettafast.herdr.client import Herdr
    from lettafast.herdr.sockets import socket_path

    if args.socket is not None:
        if not args.socket:
            raise UsageError("--socket names no path", "name the socket of a herdr session")
        return Herdr(args.socket)
    try:
        return None if args.session is None else Herdr(socket_path(args.session))
    except HerdrError as error:
        raise UsageError(str(error), error.hint or "") from None


class Notes:
    """Tells on standard error which sessions could not be looked at, each time it is news."""

    def __init__(self, args: argparse.Namespace) -> None:
        self._args = args
        self._told: set[str] = set()

    def tell(self, world: World) -> None:
        """Says what is new, and once if there is no session at all."""
        said = {problem.saw for problem in world.unseen.values()}
        chosen = _chosen(self._args)
        if chosen is not None and chosen.socket not in {*world.sessions, *world.unseen}:
            said.add(f"{chosen.socket}: no herdr listens there")
        elif not world.sessions and not world.unseen:
            said.add("no herdr session is running here")
        for text in sorted(said - self._told):
            output.note(visible_line(file_name(text)))
        self._told = said


def shown(args: argparse.Namespace, world: World) -> list[SeenPane]:
    """The panes that `args` let be shown."""
    chosen = _chosen(args)
    return [seen for seen in world.panes if chosen is None or seen.pane.socket == chosen.socket]


def is_reached(args: argparse.Namespace, world: World) -> bool:
    """Whether a session that `args` let be shown answered."""
    chosen = _chosen(args)
    return bool(world.sessions) if chosen is None else chosen.socket in world.sessions
