"""The pipeline to copy: its form, and its steps as they are run, in a real shell.

Doubles stand for what a runner would fetch: `make`, and a `python3` whose virtual environment has
the `lettafast` of `played.py`. The shell, git and all that the steps say themselves are real.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import lettafast
import wire
from checkouts import Checkout
from keys import KEY
from made import keys

FOLDER = Path(__file__).parents[2] / "examples" / "tangled"
WORKFLOW = FOLDER / ".tangled" / "workflows" / "agent-ci.yaml"
PLAYED = Path(__file__).with_name("played.py")
URL = "https://knot.example/did:plc:abc/repo"
MAKE = """#!/bin/sh
env >"$SEEN/make"
tr '\\0' '\\n' </proc/$PPID/environ >>"$SEEN/make"
echo made >made.txt
pwd >"$SEEN/where"
exit "${MAKE_STATUS:-0}"
"""
# `-I -m venv DIR`: the environment has a pip that is told of, and lettafast.
PYTHON = """#!/bin/sh
env >"$SEEN/venv"
test "$1 $2 $3" = "-I -m venv" || exit 9
mkdir -p "$4/bin"
printf '#!/bin/sh\\nenv >"$SEEN/pip"\\necho "$@" >"$SEEN/pip-arguments"\\n' >"$4/bin/python"
printf '#!/bin/sh\\necho "$@" >"$SEEN/arguments"\\nexec %s %s "$@"\\n' "$REAL" "$PLAYED_BY" \\
  >"$4/bin/lettafast"
chmod +x "$4/bin/python" "$4/bin/lettafast"
"""


@pytest.fixture(scope="module")
def workflow():
    return yaml.safe_load(WORKFLOW.read_text("utf-8"))


class Runner:
    """Runs a step as Tangled's spindle does: `bash -c` in the checkout, with all secrets."""

    def __init__(self, folder: Path, workflow) -> None:
        self.commands = [step["command"] for step in workflow["steps"]]
        self.checkout = Checkout(folder / "workspace")
        self.checkout.commit("Makefile", "README.md")
        self.seen = folder / "seen"
        self.seen.mkdir()
        tools = folder / "tools"
        tools.mkdir()
        for name, text in {"make": MAKE, "python3": PYTHON}.items():
            (tools / name).write_text(text)
            (tools / name).chmod(0o755)
        private, _ = keys(folder)
        self.environ = {
            "PATH": f"{tools}:{os.environ['PATH']}",
            "HOME": str(folder),
            "TMPDIR": str(folder),
            "SEEN": str(self.seen),
            "REAL": sys.executable,
            "PLAYED_BY": str(PLAYED),
            "PLAYED": "honest",
            "PYTHONPATH": str(Path(lettafast.__file__).parents[1]),
            "CI": "true",
            "TANGLED_PIPELINE_ID": "at://did:web:knot.example/sh.tangled.pipeline/3abc",
            "TANGLED_PIPELINE_KIND": "push",
            "TANGLED_REPO_URL": URL,
            "TANGLED_SHA": self.checkout.head,
            "TANGLED_COMMIT_SHA": self.checkout.head,
            "LETTA_API_KEY": KEY,
            "LETTA_AGENT_ID": wire.AGENT,
            "LETTAFAST_SIGNING_KEY": private.read_text(),
        }

    def step(self, number: int, **environ: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [shutil.which("bash"), "-c", self.commands[number]],
            env={**self.environ, **environ},
            cwd=self.checkout.folder,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def environment_of(self, name: str) -> str:
        return (self.seen / name).read_text()


@pytest.fixture
def runner(tmp_path, workflow):
    return Runner(tmp_path, workflow)


def test_the_form_is_that_of_tangled(workflow) -> None:
    # YAML 1.1 reads `on` and the like as other things; `when` is plain.
    assert set(workflow) == {"when", "engine", "clone", "dependencies", "steps"}
    assert {tuple(one["event"]) for one in workflow["when"]} == {("push",), ("manual",)}
    for one in workflow["when"]:
        assert set(one) <= {"event", "branch", "tag"}
    assert workflow["engine"] == "nixery"
    assert workflow["clone"] == {"skip": False, "depth": 1, "submodules": False}
    assert set(workflow["dependencies"]) == {"nixpkgs"}
    for step in workflow["steps"]:
        assert set(step) == {"name", "command"}
    assert len(workflow["steps"]) == 2


def test_no_secret_stands_in_it() -> None:
    """`environment` of a workflow is public."""
    text = WORKFLOW.read_text("utf-8")
    assert "environment:" not in text
    assert "LETTA_API_KEY=" not in text


def test_the_checks_get_no_key_and_leave_the_checkout_clean(runner) -> None:
    done = runner.step(0)
    assert done.returncode == 0, done.stderr
    seen = runner.environment_of("make")
    assert "LETTA_AGENT_ID=" in seen  # the environment was seen
    for secret in ("LETTA_API_KEY", "LETTAFAST_SIGNING_KEY", KEY, "PRIVATE KEY"):
        assert secret not in seen
    assert runner.environment_of("where").strip() != str(runner.checkout.folder)
    assert runner.checkout.git("status", "--porcelain") == ""


def test_checks_that_fail_end_the_pipeline(runner) -> None:
    assert runner.step(0, MAKE_STATUS="7").returncode == 7


def test_the_receipt_step(runner) -> None:
    assert runner.step(0).returncode == 0
    done = runner.step(1)
    assert done.returncode == 0, done.stderr
    sha = runner.checkout.head
    assert done.stdout.splitlines()[-5:] == [
        "tool_receipts: 7 successful",
        f"pipeline: push {sha}",
        f"checkout: {sha}",
        "files: Makefile, README.md",
        "note: those names were listed inside the Letta Cloud sandbox",
    ]
    assert runner.environment_of("arguments").startswith("receipt run --seconds 200 --out ")
    installed = runner.environment_of("pip-arguments").split()
    assert installed[:5] == ["-I", "-m", "pip", "--isolated", "install"]
    assert installed[-3:] == ["--only-binary", ":all:", "lettafast[receipts]"]
    for name in ("venv", "pip"):
        assert "LETTA_API_KEY" not in runner.environment_of(name)
        assert KEY not in runner.environment_of(name)
    assert "not signed" not in done.stderr
    assert KEY not in done.stdout + done.stderr


@pytest.mark.parametrize(("played", "status"), [("cut", 11), ("extra", 12)])
def test_what_is_no_pass_fails_the_step(runner, played, status) -> None:
    done = runner.step(1, PLAYED=played)
    assert done.returncode == status
    assert "successful" not in done.stdout


def test_a_pull_request_gets_nowhere(runner) -> None:
    done = runner.step(1, TANGLED_PIPELINE_KIND="pull_request")
    assert done.returncode == 2
    assert done.stderr.startswith("TANGLED_PIPELINE_KIND: ")


def test_all_of_it_fits_into_five_minutes(workflow) -> None:
    checks, receipt = (step["command"] for step in workflow["steps"])
    assert "timeout 60 " in checks
    assert "--seconds 200 " in receipt
    assert 60 + 20 + 200 < 300
