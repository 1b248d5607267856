"""Writes docs/CLI.md: what `lettafast --help` and each command's `--help` say.

`make docs` runs it; `test_cli.py` compares the page with it.
"""

from __future__ import annotations

import os
import subprocess
import sys

from lettafast.cli import _COMMANDS
from lettafast.cli.receipt import _ACTIONS

HEAD = """\
# The command line

What `lettafast --help` and the `--help` of each command say. `make docs` writes this page, and a
test compares it.
"""


def help_of(*command: str) -> str:
    """The help text at a width of 80 columns."""
    done = subprocess.run(
        [sys.executable, "-m", "lettafast", *command, "--help"],
        env=os.environ | {"COLUMNS": "80", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def page() -> str:
    """The whole page."""
    sections = [("lettafast", help_of())]
    sections += [(f"lettafast {name}", help_of(name)) for name in _COMMANDS]
    sections += [(f"lettafast receipt {name}", help_of("receipt", name)) for name in _ACTIONS]
    return HEAD + "".join(f"\n## {title}\n\n```text\n{text}```\n" for title, text in sections)


if __name__ == "__main__":
    sys.stdout.write(page())
