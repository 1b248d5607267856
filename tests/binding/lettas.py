"""Stand-ins for a running Letta Code: real processes that execute what it executes.

What runs `letta.js` is a shell under the name `node`, so that a test can tell
it to move, fork or execute something else: `letta.js` reads commands from its
standard input. The kernel shows it as it shows the real one.
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence

VERSION = "0.34.12"
_SCRIPT = """#!/usr/bin/env node
echo ready
while read -r line; do eval "$line"; echo done; done
"""


def package(folder: pathlib.Path, version: str = VERSION) -> pathlib.Path:
    """A package of Letta Code in `folder`, and its script."""
    folder.mkdir(parents=True)
    (folder / "package.json").write_text(
        json.dumps({"name": "@letta-ai/letta-code", "version": version})
    )
    script = folder / "letta.js"
    script.write_text(_SCRIPT)
    script.chmod(0o755)
    return script


def npm(prefix: pathlib.Path, version: str = VERSION) -> pathlib.Path:
    """As `npm install --global` leaves it; the launcher."""
    package(prefix / "lib" / "node_modules" / "@letta-ai" / "letta-code", version)
    launcher = prefix / "bin" / "letta"
    launcher.parent.mkdir()
    launcher.symlink_to("../lib/node_modules/@letta-ai/letta-code/letta.js")
    return launcher


def shell_named(path: pathlib.Path) -> pathlib.Path:
    """A copy of the shell under another name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(os.path.realpath("/bin/sh"), path)
    return path


class Letta:
    """A running process that obeys."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.pid = process.pid
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"

    def tell(self, command: str) -> str:
        """What the command printed, once it was obeyed."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{command}\n")
        self.process.stdin.flush()
        said = ""
        while (line := self.process.stdout.readline()) != "done\n":
            assert line, "it ended"
            said += line
        return said

    def send(self, command: str) -> None:
        """As `tell`, without waiting."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{command}\n")
        self.process.stdin.flush()

    def stop(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, 9)
        self.process.wait(timeout=10)
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()


class Desk:
    """A machine's corner: a home, a folder to work in, an installed Letta, and what runs."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.project = folder / "project"
        self.home.mkdir()
        self.project.mkdir()
        self.node = shell_named(folder / "tools" / "node")
        self.launcher = npm(folder / "npm")
        self.script = self.launcher.resolve()
        self._running: list[Letta] = []

    def environ(self, **more: str) -> dict[str, str]:
        return {
            "HOME": str(self.home),
            "PWD": str(self.project),
            "PATH": f"{self.node.parent}:{os.environ['PATH']}",
            **more,
        }

    def run(
        self,
        argv: Sequence[str] | None = None,
        *,
        executable: str | pathlib.Path | None = None,
        cwd: pathlib.Path | None = None,
        environ: Mapping[str, str] | None = None,
        user: int | None = None,
    ) -> Letta:
        """Starts a letta, in a process group of its own; `argv` is `node letta.js` else."""
        process = subprocess.Popen(
            list(argv or ["node", str(self.script)]),
            executable=None if argv and executable is None else str(executable or self.node),
            cwd=cwd or self.project,
            env=dict(self.environ() if environ is None else environ),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            user=user,
        )
        try:
            letta = Letta(process)
        except BaseException:
            process.kill()
            process.wait()
            raise
        self._running.append(letta)
        return letta

    def close(self) -> None:
        for letta in self._running:
            letta.stop()


@contextlib.contextmanager
def desk(folder: pathlib.Path) -> Iterator[Desk]:
    """A corner whose processes end with it."""
    found = Desk(folder)
    try:
        yield found
    finally:
        found.close()
