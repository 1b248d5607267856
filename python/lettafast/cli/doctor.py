"""`lettafast doctor`: what runs here, and what it can read."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Iterator
from typing import Any

from lettafast import __version__, _backend
from lettafast.errors import BackendError, SourceError
from lettafast.paths import JS_WHITE_SPACE, transcript_root
from lettafast.store import Store
from lettafast.visible import file_name, visible_line

from . import output
from .numbers import human_count
from .paint import Paint, paint_for_stdout
from .progress import Progress

HELP = "say what runs here and what it can read"
DESCRIPTION = """\
Says which versions and which backend run and why, where Letta Code keeps its
transcripts, which of them can be read and why the others cannot, and which
packages are there. No transcript is read: `lettafast check` does that."""
EPILOG = """\
exit status:
  0  done    2  the backend that LETTAFAST_BACKEND asks for cannot run

examples:
  lettafast doctor
  lettafast doctor --json | jq .backend"""

_STATES = ("present", "empty", "missing", "unreadable")
_MOST_NAMED = 100
_NAME = re.compile(r"[A-Za-z0-9._-]+")
_EXTRA = re.compile(r"""extra\s*==\s*["']([^"']+)["']""")


def arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """Prints what was found."""
    import platform

    with Progress() as progress:
        progress.say("looking at the store")
        report: dict[str, Any] = {
            "lettafast": __version__,
            "python": f"{platform.python_implementation()} {platform.python_version()}",
            "platform": platform.platform(),
            "backend": _backends(),
            "roots": [_root()],
            "packages": list(_packages()),
        }
    if args.json:
        output.write_json(report)
    else:
        output.write_text("".join(f"{line}\n" for line in _lines(report, paint_for_stdout())))
    return 0 if report["backend"]["runs"] else BackendError.exit_code


def _backends() -> dict[str, Any]:
    """Which backend runs, which was asked for, and whether the native one could."""
    found: dict[str, Any] = {
        "runs": None,
        "asked": os.environ.get("LETTAFAST_BACKEND") or "auto",
        "error": None,
        "native": {"loadable": False, "abi": None, "isa": None, "error": None},
    }
    try:
        found["runs"] = _backend.load().name
    except BackendError as error:
        found["error"] = str(error)
    try:
        from lettafast import _native

        native = _native.NativeBackend()
    except BackendError as error:
        found["native"]["error"] = str(error)
    else:
        found["native"].update(loadable=True, abi=_native.ABI, isa=native.isa())
    return found


def _root() -> dict[str, Any]:
    """The store's root, where its name comes from, and what is beneath it."""
    chosen = os.environ.get("LETTA_TRANSCRIPT_ROOT", "").strip(JS_WHITE_SPACE)
    counts = dict.fromkeys(_STATES, 0)
    found: dict[str, Any] = {
        "path": None,
        "from": "LETTA_TRANSCRIPT_ROOT" if chosen else "the home folder",
        "error": None,
        "conversations": counts,
        "unreadable": [],
    }
    try:
        root = transcript_root()
        found["path"] = file_name(root)
        for conversation in Store(root).conversations():
            counts[conversation.state] += 1
            if conversation.state == "unreadable" and counts["unreadable"] <= _MOST_NAMED:
                found["unreadable"].append(
                    {
                        "agent": file_name(conversation.agent),
                        "conversation": file_name(conversation.conversation),
                        "reason": conversation.reason,
                    }
                )
    except SourceError as error:
        found["error"] = {"reason": str(error.reason), "message": file_name(str(error))}
    return found


def _packages() -> Iterator[dict[str, Any]]:
    """What lettafast requires, as its own metadata says; nothing where it is not installed."""
    from importlib import metadata

    try:
        requirements = metadata.requires("lettafast") or []
    except metadata.PackageNotFoundError:
        return
    for requirement in requirements:
        name = _NAME.match(requirement)
        extra = _EXTRA.search(requirement)
        if name is None:
            continue
        try:
            version = metadata.version(name[0])
        except metadata.PackageNotFoundError:
            version = None
        yield {"name": name[0], "extra": extra[1] if extra else None, "version": version}


def _lines(report: dict[str, Any], paint: Paint) -> Iterator[str]:
    yield f"lettafast {report['lettafast']}, {report['python']}, {report['platform']}"
    yield from _backend_lines(report["backend"], paint)
    for root in report["roots"]:
        yield from _root_lines(root, paint)
    for package in report["packages"]:
        line = f"package: {package['name']} {package['version'] or paint('yellow', 'missing')}"
        if package["extra"]:
            line += f" (only for lettafast[{package['extra']}])"
        yield line


def _backend_lines(backend: dict[str, Any], paint: Paint) -> Iterator[str]:
    why = f"LETTAFAST_BACKEND is {visible_line(file_name(backend['asked']))}"
    if backend["runs"]:
        yield f"backend: {paint('green', backend['runs'])} ({why})"
    else:
        yield f"backend: {paint('red', 'none')} ({why}): {visible_line(backend['error'])}"
    native = backend["native"]
    if native["loadable"]:
        yield f"native library: loadable, ABI {native['abi']}, {native['isa']}"
    else:
        yield f"native library: {paint('yellow', 'not loadable')}: {visible_line(native['error'])}"


def _root_lines(root: dict[str, Any], paint: Paint) -> Iterator[str]:
    path = visible_line(root["path"] or "no absolute path")
    line = f"store: {path} (from {root['from']})"
    if root["error"]:
        line += f": {paint('yellow', root['error']['reason'].replace('_', ' '))}"
    yield line
    counts = root["conversations"]
    words = ", ".join(f"{counts[state]:,} {state}" for state in _STATES)
    yield f"  {human_count(sum(counts.values()), 'conversation', 'conversations')}: {words}"
    for found in root["unreadable"]:
        place = visible_line(f"{found['agent']}/{found['conversation']}".rstrip("/"))
        yield f"  {paint('red', 'unreadable')}: {place}: {found['reason'].replace('_', ' ')}"
    if rest := counts["unreadable"] - len(root["unreadable"]):
        yield f"  and {rest:,} more that are unreadable"
