"""What the runner knows of the commit before any agent is asked: from its own checkout."""

from __future__ import annotations

import os
import re
import unicodedata
from dataclasses import dataclass

from lettafast.errors import ExpectedReason, ExpectedStateError

from .git import filters, git

_OBJECT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_SEPARATOR = ", "
# `git ls-files -v` marks an ordinary entry so; others hide changes from `git status`.
_PLAIN = "H"


@dataclass(frozen=True, slots=True)
class ExpectedState:
    """A commit and its tree, in hex, and the names at its top level in git's quoting.

    `names` are sorted by their raw bytes. `printed` are the same in the order in which
    `git ls-tree --name-only` prints them: there a folder counts as if `/` ended its name.
    `listing` is what `git ls-tree -r -z --full-tree` prints.
    """

    commit: str
    tree: str
    names: tuple[str, ...]
    printed: tuple[str, ...]
    listing: bytes


def expected_state(folder: str, commit: str = "HEAD") -> ExpectedState:
    """The state of the checkout in `folder`, or of another commit that the repository has.

    `HEAD` must be checked out and clean: nothing changed, nothing untracked that is not ignored.
    Any other commit is 40 or 64 lower-case hex digits and needs no checkout. Raises
    `ExpectedStateError`.
    """
    if commit == "HEAD":
        _refuse_unclean(folder)
    elif not _OBJECT.fullmatch(commit):
        raise ExpectedStateError(ExpectedReason.COMMIT_FORM, folder)
    found = _object(folder, f"{commit}^{{commit}}")
    if commit not in ("HEAD", found):  # a tag, say
        raise ExpectedStateError(ExpectedReason.NO_COMMIT, folder)
    tree = _object(folder, f"{found}^{{tree}}")
    printed, names = _names(folder, tree)
    listing = git(folder, "ls-tree", "-r", "-z", "--full-tree", tree)
    if commit == "HEAD" and _object(folder, "HEAD^{commit}") != found:
        raise ExpectedStateError(ExpectedReason.CHANGED, folder)
    return ExpectedState(found, tree, names, printed, listing)


def _refuse_unclean(folder: str) -> None:
    inside = git(
        folder, "rev-parse", "--is-inside-work-tree", wrong=ExpectedReason.NOT_A_REPOSITORY
    )
    if inside.strip() != b"true":
        raise ExpectedStateError(ExpectedReason.NO_CHECKOUT, folder)
    # From the top: `git ls-files` would only look beneath the folder.
    top = os.fsdecode(git(folder, "rev-parse", "--show-toplevel").rstrip(b"\n"))
    for entry in _split(git(top, "ls-files", "-v", "-z")):
        if entry[:1] != _PLAIN:
            raise ExpectedStateError(ExpectedReason.HIDDEN, folder, entry[2:])
    status = git(
        top,
        "status",
        "--porcelain=v1",
        "-z",
        "--no-renames",
        "--untracked-files=all",
        # Only which commit is checked out in a submodule: to look for changes in it, git starts
        # another git there, and the submodule's own configuration steers that one.
        "--ignore-submodules=dirty",
        without=filters(top),
    )
    for entry in _split(status):
        untracked = entry.startswith("??")
        reason = ExpectedReason.UNTRACKED if untracked else ExpectedReason.DIRTY
        raise ExpectedStateError(reason, folder, entry[3:])


def _object(folder: str, name: str) -> str:
    said = git(folder, "rev-parse", "--verify", name, wrong=ExpectedReason.NO_COMMIT)
    found = said.decode("ascii", "replace").rstrip("\n")
    if not _OBJECT.fullmatch(found):
        raise ExpectedStateError(ExpectedReason.GIT, folder, "no object's name")
    return found


def _names(folder: str, tree: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The top-level names as they are printed, and sorted by their raw bytes."""
    raw = git(folder, "ls-tree", "--name-only", "--full-tree", "-z", tree).split(b"\0")[:-1]
    quoted = git(folder, "ls-tree", "--name-only", "--full-tree", tree).decode("ascii", "replace")
    printed = tuple(quoted.split("\n")[:-1])
    for name in raw:
        text = name.decode("utf-8", "surrogateescape")
        if _SEPARATOR in text or any(unicodedata.category(one) == "Cc" for one in text):
            raise ExpectedStateError(ExpectedReason.BAD_NAME, folder, text)
    if len(printed) != len(raw):
        raise ExpectedStateError(ExpectedReason.GIT, folder, "ls-tree")
    by_bytes = sorted(zip(raw, printed, strict=True))
    return printed, tuple(name for _, name in by_bytes)


def _split(listed: bytes) -> list[str]:
    return [entry.decode("utf-8", "surrogateescape") for entry in listed.split(b"\0")[:-1]]
