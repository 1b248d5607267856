"""A herdr session whose panes are real terminals: real shells under tmux, with the real Letta Code.

herdr itself is a double (`tests/herdr/double.py`), since it cannot be had for a test. What it says
of a pane is read from the real processes whenever it is asked, and Letta's own SessionStart hook
reports to it, as herdr's integration does.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from double import HerdrDouble
from letta_code import STARTING, wait_until
from lettafast import witness

if TYPE_CHECKING:
    from collections.abc import Iterable

    from letta_code import Home

HOOK = """\
import json, os, socket, sys, time
said = json.load(sys.stdin)
value = said.get("conversation_id")
if value == "default":
    value = "default:" + said["agent_id"]
if value and os.environ.get("HERDR_PANE_ID"):
    params = {
        "pane_id": os.environ["HERDR_PANE_ID"], "source": "herdr:letta", "agent": "letta",
        "agent_session_id": value, "seq": time.time_ns(),
        "session_start_source": "new" if said.get("is_new_session") else "resume",
    }
    request = {"id": "1", "method": "pane.report_agent_session", "params": params}
    with socket.socket(socket.AF_UNIX) as herdr:
        herdr.settimeout(1)
        herdr.connect(os.environ["HERDR_SOCKET_PATH"])
        herdr.sendall(json.dumps(request).encode() + b"\\n")
        herdr.recv(4096)
"""
CONVERSATION = re.compile(r"default|local-conv-[0-9]+")
OLDER = 2.3
"""Seconds by which a record must be older than a letta, and some more."""


def install(home: Home) -> None:
    """The reporting hook, the witness, the local backend, and a title that is an id.

    The title is how a test knows which conversation is on the screen; lettafast is not told.
    """
    hook = home.home / "report.py"
    hook.write_text(HOOK)
    path = home.home / ".letta" / "settings.json"
    settings = json.loads(path.read_text())
    command = {"type": "command", "command": f"{sys.executable} {hook}", "quiet": True}
    settings["hooks"] = {"SessionStart": [{"hooks": [command]}]}
    settings["windowTitle"] = {"items": ["thread-id"]}
    path.write_text(json.dumps(settings))
    witness.install(str(home.home))
    subprocess.run(
        [home.letta, "backend", "local"],
        env=home.environ,
        cwd=home.project,
        stdin=subprocess.DEVNULL,
        check=True,
        capture_output=True,
        timeout=STARTING,
    )


class Screen:
    """A pane: a shell in a real terminal. `pane_id` is herdr's."""

    def __init__(self, stage: Stage, pane_id: str, folder: Path, environ: dict[str, str]) -> None:
        self.pane_id = pane_id
        self._stage = stage
        self._name = pane_id.replace(":", "-")
        variables = {
            **stage.home.environ,
            "HERDR_ENV": "1",
            "HERDR_SOCKET_PATH": stage.herdr.path,
            "HERDR_PANE_ID": pane_id,
            "PS1": "$ ",
            **environ,
        }
        shell = ["env", "-i", *(f"{name}={value}" for name, value in variables.items())]
        stage.tmux("new-session", "-d", "-s", self._name, "-x", "120", "-y", "40",
                   "-c", str(folder), *shell, "bash", "--norc", "--noprofile", "-i")  # fmt: skip
        self.shell = int(self._ask("#{pane_pid}"))

    def _ask(self, what: str) -> str:
        return self._stage.tmux("display-message", "-p", "-t", self._name, what).strip()

    @property
    def title(self) -> str:
        """The conversation that letta shows now: its title is that id."""
        return self._ask("#{pane_title}")

    @property
    def text(self) -> str:
        return self._stage.tmux("capture-pane", "-p", "-t", self._name)

    @property
    def letta(self) -> int:
        """The pid of the first process in front; 0 in the moment when there is none."""
        return next((int(process["pid"]) for process in foreground(self.shell)), 0)

    def type(self, text: str) -> None:
        """Types a line and sends it."""
        self._stage.tmux("send-keys", "-t", self._name, "-l", text)
        end = text[-12:]
        with suppress(TimeoutError):  # a completion may stand in its place
            wait_until(f"`{end}` on the screen", 5, lambda: end in self.text.replace("\n", ""))
        time.sleep(0.8)  # an Enter that comes with the text is taken for a pasted line's end
        self.enter()

    def enter(self) -> None:
        self._stage.tmux("send-keys", "-t", self._name, "Enter")

    def start(
        self, *arguments: str, conversation: str | None = None, program: str | Path = ""
    ) -> None:
        """Starts letta, or `program`, and waits until it shows a conversation and takes input."""
        # What an earlier letta left on the screen and in the title is not waited for.
        clear = r"clear; printf '\033]0;shell\007'; "
        self.type(clear + shlex.join([str(program or self._stage.home.letta), *arguments]))

        def ready() -> bool:
            shown = any(line.startswith("\u203a") for line in self.text.splitlines())
            return shown and CONVERSATION.fullmatch(self.title) is not None

        try:
            wait_until("Letta Code's prompt", STARTING, ready)
        except TimeoutError:
            print(self.text, self.title)
            raise
        time.sleep(2.5)  # it records what it opened only once it is ready
        if conversation is not None:
            assert self.title == conversation, (self.title, self.text)

    def command(self, text: str, title: str | None = None) -> None:
        """A command to letta, such as `/new`; waits until the title has changed, or is `title`."""
        before = self.title
        self.type(text)

        def changed() -> bool:
            return self.title == title if title is not None else self.title != before

        try:
            wait_until(f"another conversation after {text}", 30, changed)
        except TimeoutError:
            print(self.text, self.title)
            raise
        time.sleep(2)  # it records the conversation that it shows

    def say(self, text: str) -> None:
        """A prompt; waits until its turn is written."""
        before = self._stage.turns()
        self.type(text)
        wait_until(f"the turn `{text}`", 60, lambda: self._stage.turns() > before)
        time.sleep(0.5)

    def quit(self) -> None:
        """Leaves letta; waits for the shell."""
        self.type("/exit")
        wait_until("the shell", 30, lambda: self.letta == self.shell)
        self._stage.observe()


class Stage(HerdrDouble):
    """One herdr session beside a tmux server. While it is `blind` it does not see a letta's end."""

    def __init__(self, home: Home, folder: Path) -> None:
        self.home = home
        self.folder = folder
        self.herdr = self
        self.blind = False
        self._screens: dict[str, Screen] = {}
        self.tmux_socket = str(folder / "t")
        tab = {"tab_id": "w1:t1", "label": "1", "panes": []}
        workspace = {"workspace_id": "w1", "label": "w", "tabs": [tab]}
        super().__init__(folder / "herdr.sock", {"workspaces": [workspace]})

    def tmux(self, *arguments: str) -> str:
        command = ["tmux", "-u", "-f", "/dev/null", "-S", self.tmux_socket, *arguments]
        environ = {name: value for name, value in os.environ.items() if name != "TMUX"}
        done = subprocess.run(
            command, env=environ, check=True, capture_output=True, text=True, timeout=20
        )
        return done.stdout

    def turns(self) -> int:
        """Bytes of all transcripts: they grow by whole turns."""
        return sum(path.stat().st_size for path in self.home.transcripts())

    def open(self, pane_id: str, folder: Path, **environ: str) -> Screen:
        """A new pane with a shell in `folder`."""
        screen = Screen(self, pane_id, folder, environ)
        with self.lock:
            self._screens[pane_id] = screen
            pane = {"pane_id": pane_id, "shell_pid": screen.shell, "cwd": str(folder)}
            self.create_pane("w1:t1", pane)
        return screen

    def close_all(self) -> None:
        """Ends every terminal; each letta gets a hang-up."""
        with self.lock:
            screens, self._screens = self._screens, {}
        self._end(screens.values(), "kill-server")

    def _end(self, screens: Iterable[Screen], *how: str) -> None:
        running = [pid for screen in screens for pid in _tree(screen.shell)]
        with suppress(subprocess.CalledProcessError):
            self.tmux(*how)
        with suppress(TimeoutError):
            wait_until("the end of all", 5, lambda: not any(map(_runs, running)))
        for pid in filter(_runs, running):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def restart(self, screen: Screen, folder: Path) -> Screen:
        """What herdr does to a pane when it starts anew: another terminal, the same report."""
        with self.lock:
            pane = self.pane(screen.pane_id)
            report = pane.get("agent_session")
            self.close(screen)
            again = self.open(screen.pane_id, folder)
            self.set_pane(screen.pane_id, agent_session=report)
        return again

    def close(self, screen: Screen) -> None:
        """Ends one pane; its letta gets a hang-up."""
        with self.lock:
            del self._screens[screen.pane_id]
            self.close_pane(screen.pane_id)
        self._end([screen], "kill-session", "-t", screen.pane_id.replace(":", "-"))

    def report_of(self, pane_id: str) -> str | None:
        session = self.pane(pane_id).get("agent_session")
        return session["value"] if session else None

    def _answer(self, request_id: str, method: str, params: Any) -> dict[str, Any]:
        self.observe()
        return super()._answer(request_id, method, params)

    def observe(self) -> None:
        """Sees what runs in front of each pane, as herdr does every 0.3 s."""
        with self.lock:
            for pane_id, screen in self._screens.items():
                pane = self.pane(pane_id)
                found = foreground(screen.shell)
                runs = any(_is_interactive_letta(process["argv"]) for process in found)
                if pane.get("agent") and not runs:
                    if self.blind:
                        pane.pop("agent")
                    else:
                        self.exit_process(pane_id)
                elif runs and not pane.get("agent"):
                    self.set_pane(pane_id, agent="letta", agent_status="idle")
                pane["processes"] = found
                pane["process_group_id"] = found[0]["pid"] if found else None


def foreground(shell: int) -> list[dict[str, Any]]:
    """The processes of the foreground group of the terminal that `shell` runs in."""
    group = _status(shell)[5] if _runs(shell) else None
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            if _status(int(name))[2] != group:
                continue
            argv = Path(f"/proc/{name}/cmdline").read_bytes().rstrip(b"\0").split(b"\0")
            comm = Path(f"/proc/{name}/comm").read_text().strip()
            cwd = os.readlink(f"/proc/{name}/cwd")
        except OSError:
            continue
        arguments = [os.fsdecode(argument) for argument in argv]
        found.append({"pid": int(name), "name": comm, "argv": arguments, "cwd": cwd})
    return sorted(found, key=lambda process: int(process["pid"]))


def _status(pid: int) -> list[int]:
    """Parent, group, session, terminal and its foreground group: fields 4 to 8, from index 1."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return [0, int(fields[1]), int(fields[2]), int(fields[3]), int(fields[4]), int(fields[5])]


def _is_interactive_letta(argv: list[str]) -> bool:
    return any(word.endswith("letta.js") for word in argv) and "-p" not in argv


def _tree(pid: int) -> list[int]:
    """The process and all beneath it."""
    parents: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError):
                parents.setdefault(_status(int(name))[1], []).append(int(name))
    found, todo = [], [pid]
    while todo:
        found.append(todo.pop())
        todo.extend(parents.get(found[-1], ()))
    return found


def _runs(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False
