"""Real git repositories for the tests."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_AUTHOR_NAME": "A",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "A",
    "GIT_COMMITTER_EMAIL": "a@example.org",
    "GIT_AUTHOR_DATE": "1700000000 +0000",
    "GIT_COMMITTER_DATE": "1700000000 +0000",
}


class Checkout:
    """A repository with a work tree. `git` runs the real git in it."""

    def __init__(self, folder: Path, *, object_format: str = "sha1") -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        self.git("init", "-q", "-b", "main", f"--object-format={object_format}")

    def __str__(self) -> str:
        return str(self.folder)

    def git(self, *arguments: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(self.folder), *arguments],
            env=ENVIRONMENT,
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.decode("utf-8", "surrogateescape")

    def write(self, name: str, text: str = "x\n") -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def commit(self, *names: str) -> str:
        """Commits these files, each with its own name in it; the commit."""
        for name in names:
            self.write(name, f"# {name}\n")
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "a commit")
        return self.head

    @property
    def head(self) -> str:
        return self.git("rev-parse", "HEAD").strip()
