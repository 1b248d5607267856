"""`lettafast serve`: the front-end for a browser."""

from __future__ import annotations

import argparse
import errno
import importlib
import os
import re
import sys
import threading
from typing import TYPE_CHECKING

from lettafast.errors import LettafastError

from . import output
from .listing import add_root
from .status import UNREACHABLE
from .usage import UsageError

if TYPE_CHECKING:
    from lettafast.binding import Binder

HELP = "show panes and conversations in a browser, live"
DESCRIPTION = """\
Serves the conversations of the store and the panes of herdr and tmux; it changes
nothing. It prints the address to open: that works once, in one browser, which is
then let in until the server ends. Scripts send the token that is printed to
standard error, as `Authorization: Bearer`."""
EPILOG = """\
exit status:
  0  ended by Ctrl-C or SIGTERM    3  the address cannot be listened at

environment:
  LETTAFAST_TOKEN  the token for scripts; `--token` shows it to whoever lists processes

examples:
  lettafast serve --open
  lettafast serve --root /backup/transcripts --port 0
  lettafast serve --json | jq -r .url"""

PORT = 5388
"""LETT on the keys of a phone."""
_PANES_NEED = ("platformdirs", "psutil")
_DISPLAYS = ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY")
_HIGHEST_PORT = 65_535
_OF_PORTS = (errno.EADDRINUSE, errno.EACCES)
_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]{16,512}=*")


def arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        help="the address to listen at (default: 127.0.0.1, which only this machine reaches)",
    )
    parser.add_argument(
        "--port",
        type=_port,
        help=f"the port, 0 for a free one (default: {PORT}, or a free one where that is taken)",
    )
    parser.add_argument(
        "--token", help="the token for scripts: 16 or more of A-Z a-z 0-9 . _ ~ + / - (else random)"
    )
    add_root(parser)
    parser.add_argument("--note", metavar="TEXT", help="what to say first on the start page")
    parser.add_argument("--open", action="store_true", help="open the address in a browser")
    parser.add_argument(
        "--json", action="store_true", help="print the address and the token as one JSON object"
    )


def run(args: argparse.Namespace) -> int:
    """Serves until it is told to end."""
    try:
        from lettafast.web.serving import Served, serve
    except ModuleNotFoundError as error:
        raise UsageError(
            f"this command needs the package `{error.name}`",
            "install it with `pip install 'lettafast[web]'`",
        ) from None

    def tell(served: Served) -> None:
        if not args.json:
            output.note(
                f"the address works once, in one browser; token for scripts: {served.token}"
            )
        if not served.is_loopback:
            output.note("plain HTTP: who can read this network can read the token, and all pages")
        if args.open:
            _open(served.url)
        if args.json:
            output.write_json({"url": served.url, "token": served.token})
        else:
            output.write_text(f"{served.url}\n")
        output.flush()

    try:
        serve(
            args.host,
            PORT if args.port is None else args.port,
            tell,
            root=args.root,
            token=_token(args),
            note=args.note,
            binder=_binder(),
            or_any_port=args.port is None,
        )
    except BrokenPipeError:  # of standard output
        raise
    except OSError as error:
        _complain(args, error)
        return UNREACHABLE
    _leave()
    return 0


def _complain(args: argparse.Namespace, error: OSError) -> None:
    """Says why nothing can be listened at: for the port or for the host."""
    import socket

    # The numbers of a resolver's errors are none of the system's.
    if error.errno and not isinstance(error, socket.gaierror):
        reason = os.strerror(error.errno)
    else:
        reason = error.strerror or str(error)
    port = PORT if args.port is None else args.port
    hint = "`--host` is the address, or the name, of this machine that it listens at"
    if error.errno in _OF_PORTS:
        hint = "`--port 0` takes a port that is free"
    output.complain(f"{args.host} port {port}: {reason}", hint)


def _leave() -> None:
    """Ends at once where a thread still asks herdr or tmux: Python would wait for its answer."""
    output.flush()
    if threading.active_count() > 1:
        os._exit(0)


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) > _HIGHEST_PORT:
        raise argparse.ArgumentTypeError(f"a port is a number from 0 to {_HIGHEST_PORT}")
    return int(text)


def _token(args: argparse.Namespace) -> str | None:
    token: str | None = args.token or os.environ.get("LETTAFAST_TOKEN") or None
    if token is not None and not _TOKEN.fullmatch(token):
        raise UsageError(
            "the token cannot be sent as `Authorization: Bearer`, or is short",
            "it is 16 to 512 of `A-Z a-z 0-9 . _ ~ + / -`; without one, a random one is made",
        )
    return token


def _binder() -> Binder | None:
    """Panes need more than pages do, and some of it only once they are looked at."""
    try:
        for package in _PANES_NEED:
            importlib.import_module(package)
        from lettafast.binding import Binder

        return Binder()
    except ModuleNotFoundError as error:
        output.note(
            f"no panes are shown: they need the package `{error.name}` "
            "(`pip install 'lettafast[binding]'`)"
        )
    except LettafastError as error:
        output.note(f"no panes are shown: {error}")
    return None


def _open(url: str) -> None:
    """A browser that cannot be started is no reason to end: the address was printed.

    Without a display, Python would start one that takes this terminal.
    """
    if sys.platform != "darwin" and not any(os.environ.get(name) for name in _DISPLAYS):
        output.note("no browser is opened: there is no display")
        return
    import webbrowser

    threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()
