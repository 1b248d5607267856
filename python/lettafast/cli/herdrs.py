"""Which herdr sessions a command looks at, and at what pace."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .usage import UsageError

if TYPE_CHECKING:  # loaded only by the commands that bind
    from lettafast.binding import Binder
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


def is_chosen(args: argparse.Namespace, socket: str) -> bool:
    """Whether `args` let this session be shown."""
    chosen = _chosen(args)
    return chosen is None or chosen.socket == socket


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
        return Herdr(args.socket)
    return None if args.session is None else Herdr(socket_path(args.session))
