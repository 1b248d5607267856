"""Real tmux servers on sockets of their own, in folders that a binder can be pointed at."""

from __future__ import annotations

import os
import pathlib
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping

import pytest

SECONDS = 10
SHELL = ("env", "-i", "PATH=/usr/bin:/bin", "PS1=$ ", "bash", "--norc", "--noprofile", "-i")


class Server:
    """One tmux server beneath `folder`, which is its `TMUX_TMPDIR`; none runs before `start`."""

    def __init__(self, folder: pathlib.Path, name: str = "default") -> None:
        if shutil.which("tmux") is None:
            if os.environ.get("CI"):
                pytest.fail("tmux is missing: `apt-get install tmux`")
            pytest.skip("tmux is missing: `apt-get install tmux`")
        self.folder = folder
        own = folder / f"tmux-{os.geteuid()}"
        own.mkdir(mode=0o700, exist_ok=True)
        self.socket = str(own / name)
        self.pid = 0

    def __call__(self, *arguments: str, check: bool = True) -> str:
        done = subprocess.run(
            ["tmux", "-u", "-f", "/dev/null", "-S", self.socket, *arguments],
            capture_output=True,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TERM": "xterm", "HOME": "/"},
            timeout=SECONDS,
            check=False,
        )
        assert not check or done.returncode == 0, done.stderr
        return done.stdout.decode("utf-8", "surrogateescape").rstrip("\n")

    def start(self, *command: str, session: str = "work", cwd: pathlib.Path | None = None) -> str:
        """A session with one pane; its id. Without a command a shell runs in it."""
        shown = self(
            "new-session", "-d", "-x", "80", "-y", "24", "-s", session, "-P", "-F", "#{pane_id}",
            "-c", str(cwd or self.folder), *(command or SHELL),
        )  # fmt: skip
        self.pid = int(self.ask("#{pid}"))
        return shown

    def window(self, *command: str, cwd: pathlib.Path | None = None) -> str:
        """Another window of the first session; its pane's id."""
        return self("new-window", "-d", "-P", "-F", "#{pane_id}", "-c", str(cwd or self.folder),
                    *(command or SHELL))  # fmt: skip

    def ask(self, what: str, pane: str | None = None) -> str:
        return self("display-message", "-p", *(["-t", pane] if pane else []), what)

    def type(self, pane: str, text: str) -> None:
        self("send-keys", "-t", pane, "-l", text)
        self("send-keys", "-t", pane, "Enter")

    def stop(self) -> None:
        if self.pid:
            self("kill-server", check=False)
            until(lambda: has_ended(self.pid))


def as_command(argv: list[str], environ: Mapping[str, str]) -> str:
    """What a shell is told to run a program in that environment, as one line."""
    return shlex.join(["env", "-i", *(f"{name}={value}" for name, value in environ.items()), *argv])


def has_ended(pid: int) -> bool:
    """Whether it ended, even if nobody has waited for it yet."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_bytes()
    except FileNotFoundError:
        return True
    return stat[stat.rindex(b")") + 2 :].startswith(b"Z")


def until(holds: Callable[[], object], seconds: float = SECONDS) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)
