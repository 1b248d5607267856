"""Drives the real Letta Code as a person would: its TUI under tmux, and its stream-json mode.

Everything happens in one temporary folder with a HOME of its own, which is the
only thing that keeps Letta Code away from the user's `~/.letta`.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scripted_model import MODEL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

STARTING = 120.0
"""Seconds within which Letta Code must be ready."""
ANSWERING = 120.0
"""Seconds within which a turn must be written."""


def wait_until(what: str, seconds: float, check: Callable[[], Any]) -> Any:
    """What `check` gives once it is true; `TimeoutError` after `seconds`."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = check()
        if found:
            return found
        time.sleep(0.05)
    message = f"{what}: not within {seconds} seconds"
    raise TimeoutError(message)


class Home:
    """An isolated HOME with a project folder, connected to the scripted model."""

    def __init__(self, letta: str, folder: Path, url: str) -> None:
        self.letta = letta
        self.folder = folder
        self.project = folder / "project"
        self.project.mkdir()
        self.home = folder / "home"
        (self.home / ".letta").mkdir(parents=True)
        # Splits long messages into several rows, as Letta Code does where this is on.
        (self.home / ".letta" / "settings.json").write_text('{"tokenStreaming": true}')
        self.environ = {
            key: value for key, value in os.environ.items() if not key.startswith(("LETTA", "TMUX"))
        } | {
            "HOME": str(self.home),
            "LETTA_CODE_TELEM": "0",
            "LETTA_CODE_OFFLINE": "1",
            "LC_ALL": "C.UTF-8",
        }
        provider = ["openai-compatible", "--base-url", url, "--api-key", "none"]
        subprocess.run(
            [letta, "connect", *provider, "--backend", "local"],
            cwd=self.project,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            check=True,
            timeout=STARTING,
            capture_output=True,
        )

    @property
    def root(self) -> Path:
        return self.home / ".letta" / "transcripts"

    def command(self, *more: str) -> list[str]:
        return [self.letta, "--backend", "local", "-m", f"openai-compatible/{MODEL}", *more]

    def transcripts(self) -> set[Path]:
        return {path for path in self.root.glob("*/*/transcript.jsonl") if path.stat().st_size}


class Tui:
    """Letta Code's terminal interface, on a tmux server of its own."""

    def __init__(self, home: Home) -> None:
        self._socket = str(home.folder / "tmux")
        self._environ = home.environ
        command = ["env", *(f"{k}={v}" for k, v in home.environ.items() if k.startswith("LETTA"))]
        command += [f"HOME={home.home}", *home.command("--reflection-trigger", "off")]
        self._tmux("-f", "/dev/null", "new-session", "-d", "-x", "150", "-y", "50",
                   "-c", str(home.project), *command)  # fmt: skip
        self.pid = int(self._tmux("display-message", "-p", "#{pane_pid}"))

    def _tmux(self, *arguments: str) -> str:
        done = subprocess.run(
            ["tmux", "-u", "-S", self._socket, *arguments],
            env=self._environ,
            check=True,
            capture_output=True,
            text=True,
            timeout=10,
        )
        return done.stdout

    def screen(self) -> str:
        return self._tmux("capture-pane", "-p")

    def say(self, text: str) -> None:
        """Types a line and sends it."""
        self._tmux("send-keys", "-l", text)
        wait_until(f"`{text}` on the screen", 10, lambda: text in self.screen())
        # The TUI takes an Enter that comes with the text for a pasted line's end.
        time.sleep(0.8)
        self._tmux("send-keys", "Enter")

    def wait_ready(self) -> None:
        def ready() -> bool:
            return any(line.startswith("\u203a") for line in self.screen().splitlines())

        wait_until("Letta Code's prompt", STARTING, ready)
        # The prompt is drawn before it takes input.
        time.sleep(2)

    def end(self) -> None:
        """Ends this tmux server, and with it the one process in it."""
        with suppress(subprocess.CalledProcessError):
            self._tmux("kill-server")
        try:
            wait_until("the end of Letta Code", 10, lambda: not _alive(self.pid))
        except TimeoutError:
            os.kill(self.pid, signal.SIGKILL)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@contextmanager
def tui(home: Home) -> Iterator[Tui]:
    """A started TUI that takes input; it is gone afterwards."""
    started = Tui(home)
    try:
        started.wait_ready()
        yield started
    except TimeoutError:
        print(started.screen())
        raise
    finally:
        started.end()


class Conversation:
    """A conversation in the TUI, and the transcript that it writes."""

    def __init__(self, screen: Tui, transcript: Path) -> None:
        self._screen = screen
        self.transcript = transcript

    def say(self, text: str) -> None:
        """Sends a prompt and waits until its turn has begun to be written."""
        before = self.transcript.stat().st_size
        self._screen.say(text)
        wait_until(f"the turn `{text}`", ANSWERING, lambda: self.transcript.stat().st_size > before)


def headless(home: Home, folder: Path, *arguments: str) -> None:
    """`letta -p`, to its end: it answers one prompt beside whatever else runs."""
    subprocess.run(
        [home.letta, *arguments, "-p", "SCN:plain beside"],
        cwd=folder,
        env=home.environ,
        stdin=subprocess.DEVNULL,
        check=True,
        capture_output=True,
        timeout=120,
    )


def talk_stream_json(home: Home, prompts: list[str]) -> None:
    """One run of the bidirectional stream-json mode; each prompt waits for its result."""
    command = home.command("-p", "--input-format", "stream-json", "--output-format", "stream-json")
    with (home.folder / "stream-json.stderr").open("wb") as errors:
        process = subprocess.Popen(
            command,
            cwd=home.project,
            env=home.environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
        )
    # Whatever hangs, this ends the reading below.
    timer = threading.Timer(STARTING + ANSWERING * len(prompts), process.kill)
    timer.start()
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        for prompt in prompts:
            message = {"type": "user", "message": {"role": "user", "content": prompt}}
            process.stdin.write(json.dumps(message).encode() + b"\n")
            process.stdin.flush()
            for line in process.stdout:
                answer = json.loads(line)
                if answer.get("type") == "result":
                    assert answer["subtype"] == "success", answer
                    break
            else:
                message = f"Letta Code ended before it answered `{prompt}`"
                raise AssertionError(message)
        process.stdin.close()
        process.stdout.read()
        assert process.wait(20) == 0
    finally:
        timer.cancel()
        process.kill()
        process.wait()
        process.stdout.close()
