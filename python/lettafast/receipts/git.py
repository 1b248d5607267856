"""Git on the runner's own checkout: an argument list, a deadline, nothing that steers it.

Git gets an environment of its own. No variable of the caller but PATH and TMPDIR is in it, so
neither `GIT_DIR` and its like nor a secret reaches git or what git starts. Configuration of the
system and the user is shut out; of the repository's own, what could run a program or hide a change
is overruled. It may be of the making of the repository's own code, which a pipeline has run before.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence

from lettafast.errors import ExpectedReason, ExpectedStateError

SECONDS = 60.0
"""How long one call may take."""

_KEPT = ("PATH", "TMPDIR")
_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    # An object that a partial clone lacks is not fetched: no protocol has this name.
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
_OVERRULED = (
    f"core.hooksPath={os.devnull}",
    f"core.excludesFile={os.devnull}",
    f"core.attributesFile={os.devnull}",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.ignoreStat=false",
    "core.checkStat=default",
    "core.trustctime=true",
    "core.quotePath=true",
)
_LONGEST_COMPLAINT = 300


def environment() -> dict[str, str]:
    """What git gets as its environment."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return kept | _ENVIRONMENT


def filters(folder: str) -> list[str]:
    """The settings by which the repository names programs that git has files go through."""
    names = git(folder, "config", "--list", "--name-only", "-z").split(b"\0")[:-1]
    return [os.fsdecode(name) for name in names if name.startswith(b"filter.")]


def git(
    folder: str,
    *arguments: str,
    wrong: ExpectedReason = ExpectedReason.GIT,
    without: Sequence[str] = (),
) -> bytes:
    """What git prints. Raises `ExpectedStateError`, with `wrong` where git says no.

    The settings named in `without` are empty for it.
    """
    options = [part for setting in _OVERRULED for part in ("-c", setting)]
    try:
        done = subprocess.run(  # noqa: S603 - a list, and no shell
            ["git", "-C", folder, *options, *arguments],  # noqa: S607 - PATH says which git is used
            env=environment() | _emptied(without),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    except FileNotFoundError:
        raise ExpectedStateError(ExpectedReason.NO_GIT, folder) from None
    except subprocess.TimeoutExpired:
        raise ExpectedStateError(ExpectedReason.TIMEOUT, folder, arguments[0]) from None
    except (OSError, ValueError) as error:  # a folder's name with a NUL
        raise ExpectedStateError(ExpectedReason.GIT, folder, type(error).__name__) from None
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().removeprefix("fatal: ")
        raise ExpectedStateError(wrong, folder, said[:_LONGEST_COMPLAINT])
    return done.stdout


def _emptied(settings: Sequence[str]) -> dict[str, str]:
    """Variables, since `-c` cannot say a name that holds `=`."""
    emptied = {"GIT_CONFIG_COUNT": str(len(settings))}
    for at, name in enumerate(settings):
        emptied |= {f"GIT_CONFIG_KEY_{at}": name, f"GIT_CONFIG_VALUE_{at}": ""}
    return emptied
