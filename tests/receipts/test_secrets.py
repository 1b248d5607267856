"""The API key and the signing key are nowhere: not in a file, a line that is printed, or a child.

A real process runs against the double of the cloud, which may say the key back.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import lettafast
from checkouts import Checkout
from cloud_double import Answer, CloudDouble
from keys import KEY
from little_agent import AGENT, LittleAgent
from made import keys

SECONDS = 60
URL = "https://knot.example/me/repo"
# Told of every program that Python starts, before it starts.
WATCH = """
import json, os, sys

def watch(event, arguments):
    if event == "subprocess.Popen":
        _, command, _, environ = arguments
        environ = dict(os.environ) if environ is None else environ  # it inherits
        said = {"command": [os.fsdecode(one) for one in command], "environ": environ}
    elif event in ("os.exec", "os.posix_spawn", "os.spawn", "os.system", "os.fork", "pty.spawn"):
        said = {"command": [event], "environ": dict(os.environ)}
    else:
        return
    with open(os.environ["WATCHED"], "a") as file:
        file.write(json.dumps(said, default=repr) + "\\n")

sys.addaudithook(watch)
"""


class Desk:
    """A checkout, a signing key, and what a run leaves anywhere beneath one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.checkout = Checkout(folder / "repo")
        self.checkout.commit("README.md")
        private, _ = keys(folder)
        self.pem = private.read_text()
        private.unlink()
        self.secrets = [KEY, *(line for line in self.pem.splitlines() if not line.startswith("-"))]
        (folder / "hook").mkdir()
        (folder / "hook" / "sitecustomize.py").write_text(WATCH)
        self.watched = folder / "watched.jsonl"

    @contextlib.contextmanager
    def start(self, base_url: str, *arguments: str, code: str = ""):
        how = ["-c", textwrap.dedent(code)] if code else ["-m", "lettafast"]
        out = str(self.folder / "out")
        command = [sys.executable, "-X", "dev", *how, "receipt", "run", "--out", out, *arguments]
        environ = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": f"{self.folder / 'hook'}:{Path(lettafast.__file__).parents[1]}",
            "HOME": str(self.folder),
            "TMPDIR": str(self.folder),
            "WATCHED": str(self.watched),
            "LETTA_API_KEY": KEY,
            "LETTA_AGENT_ID": AGENT,
            "LETTA_BASE_URL": base_url,
            "LETTAFAST_SIGNING_KEY": self.pem,
            "GITHUB_ACTIONS": "true",
            "GITHUB_STEP_SUMMARY": str(self.folder / "summary.md"),
            "TANGLED_REPO_URL": URL,
        }
        with subprocess.Popen(
            command,
            env=environ,
            cwd=self.checkout.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                yield process
            finally:
                process.kill()

    def run(self, base_url: str, **options) -> tuple[int, str]:
        """The exit status, and all that was printed."""
        with self.start(base_url, **options) as process:
            said = "".join(process.communicate(timeout=SECONDS))
        return process.returncode, said

    def assert_kept(self, *texts: str) -> None:
        """No secret is in these texts, in any file, or in the environment of any child."""
        for secret in self.secrets:
            for text in texts:
                assert secret not in text
            for path in self.folder.rglob("*"):
                if path.is_file():
                    assert secret.encode() not in path.read_bytes(), path
        started = [json.loads(line) for line in self.watched.read_text().splitlines()]
        git = [one for one in started if one["command"][0] == "git"]
        assert len(git) > 5
        assert not [name for one in git for name in one["environ"] if "LETTA" in name]
        # letta-client has the `platform` of Python ask `uname`, which inherits.
        others = [one for one in started if one not in git]
        assert {one["command"][0] for one in others} <= {"uname"}
        for one in started:
            assert not {"LETTA_API_KEY", "LETTAFAST_SIGNING_KEY"} & set(one["environ"])
            assert not [value for value in one["environ"].values() if KEY in value]


@pytest.fixture
def desk(tmp_path):
    return Desk(tmp_path)


def test_the_watch_sees_what_is_started(desk) -> None:
    """Else the tests below would hold of anything."""
    code = """
        import os, subprocess, sys
        subprocess.run([sys.executable, "-c", ""])
        os.system("true")
    """
    desk.run("http://127.0.0.1:9", code=code)
    started = [json.loads(line) for line in desk.watched.read_text().splitlines()]
    assert len(started) >= 2  # Python 3.13 tells twice of the first: that it spawns it, and how
    assert {one["environ"]["LETTA_API_KEY"] for one in started} == {KEY}


def test_a_run_whose_agent_and_cloud_say_the_key_back(desk) -> None:
    turns = [[f"the key is {KEY}"]]
    answers = {"refresh": [Answer(change={"echo": KEY})]}
    with CloudDouble(LittleAgent(turns), KEY, answers=answers) as cloud:
        status, said = desk.run(cloud.url)
        assert all(asked.authorized for asked in cloud.asked)
        assert KEY not in repr([(asked.path, asked.query, asked.body) for asked in cloud.asked])
    assert status in (10, 11, 12), said
    assert "verdict: " in said
    names = ["frames.jsonl", "junit.xml", "plan.json", "receipt.jsonl"]
    assert sorted(os.listdir(desk.folder / "out")) == names
    assert "[the API key]" in (desk.folder / "out" / "frames.jsonl").read_text()
    assert (desk.folder / "summary.md").exists()
    desk.assert_kept(said)


@pytest.mark.parametrize("route", ["conversation", "sandbox", "control"])
def test_a_cloud_that_refuses_and_says_the_key_back(desk, route) -> None:
    body = {"error": f"bad key {KEY}", "detail": KEY}
    with CloudDouble(LittleAgent(), KEY, answers={route: [Answer(401, body)] * 9}) as cloud:
        status, said = desk.run(cloud.url)
    assert status != 0
    desk.assert_kept(said)


def test_a_cloud_that_cannot_be_reached(desk) -> None:
    status, said = desk.run("http://127.0.0.1:9")
    assert status != 0
    desk.assert_kept(said)


@pytest.mark.parametrize(
    "url", [f"https://{KEY}@api.letta.com", f"https://api.letta.com?key={KEY}", f"{KEY}"]
)
def test_the_key_in_an_address(desk, url) -> None:
    status, said = desk.run(url)
    assert status == 2
    desk.assert_kept(said)


def test_a_bug_of_ours_shows_a_traceback_without_the_key(desk) -> None:
    code = """
        import sys
        from lettafast.cli import main
        from lettafast.receipts import run
        def broken(self):
            raise RuntimeError("a bug")
        run._Run.run = broken
        sys.exit(main())
    """
    with CloudDouble(LittleAgent(), KEY) as cloud:
        status, said = desk.run(cloud.url, code=code)
    assert status == 1
    assert "RuntimeError: a bug" in said
    desk.assert_kept(said)


def test_a_run_that_is_stopped(desk) -> None:
    with (
        CloudDouble(LittleAgent(faults=["silent"]), KEY) as cloud,
        desk.start(cloud.url) as process,
    ):
        said = ""
        for line in process.stderr:
            said += line
            if line.startswith("first turn"):
                break
        process.send_signal(signal.SIGTERM)
        said += "".join(process.communicate(timeout=SECONDS))
        # The double leaves out what a device says of its tools, so perhaps FAIL.
        assert process.returncode in (10, 11), said
        assert cloud.running == set()
    assert "tool_receipts" not in said
    desk.assert_kept(said)


@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone has that")
def test_what_git_starts_may_not_read_what_the_command_was_started_with(desk) -> None:
    """`/proc/PID/environ` would show the keys. Who may trace any process still can."""
    code = """
        import ctypes, sys
        from lettafast.cli import main
        from lettafast.receipts import expected
        from lettafast.receipts.git import git
        def watched(*arguments, **named):
            print("dumpable:", ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))
            return git(*arguments, **named)
        expected.git = watched
        status = main()
        print("after:", ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))
        sys.exit(status)
    """
    _, said = desk.run("http://127.0.0.1:9", code=code)
    assert set(re.findall("dumpable: .", said)) == {"dumpable: 0"}
    assert "after: 1" in said


def test_the_command_takes_the_keys_out_of_its_own_environment(monkeypatch, tmp_path) -> None:
    """So that whatever a library may start has nothing to inherit."""
    from lettafast.cli import main

    monkeypatch.setenv("LETTA_API_KEY", KEY)
    monkeypatch.setenv("LETTAFAST_SIGNING_KEY", "x")
    assert main(["receipt", "run", "--repo", str(tmp_path)]) == 2
    assert "LETTA_API_KEY" not in os.environ
    assert "LETTAFAST_SIGNING_KEY" not in os.environ
