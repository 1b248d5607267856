"""Fresh environments to install what was built into."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).parents[2]


def run(*command: object, **options: object) -> str:
    """The output of a command that must succeed."""
    done = subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        **options,
    )
    assert done.returncode == 0, f"{command}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


class Environment:
    """A virtual environment without pip: the one that runs the tests installs into it."""

    def __init__(self, folder: Path) -> None:
        venv.create(folder)
        self.folder = folder
        self.python = folder / "bin" / "python"

    def install(self, *arguments: object) -> None:
        pip = [sys.executable, "-m", "pip", "--python", self.python]
        run(*pip, "install", "--no-index", *arguments)

    @property
    def packages(self) -> Path:
        [path] = self.folder.glob("lib/python3*/site-packages")
        return path
