"""`lettafast receipt`: exit codes, what is printed where, and the files.

Where a run is needed, `played.py` plays one; `tests/e2e` runs the real thing.
"""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import junitparser
import pytest

import lettafast
import wire
from checkouts import Checkout
from lettafast.cli import main
from lettafast.receipts import artifacts
from lettafast.receipts import run as run_module
from made import keys
from played import play

SECONDS = 60
PACKAGE = Path(lettafast.__file__).parents[1]
PLAYED = Path(__file__).with_name("played.py")
URL = "https://knot.example/did:plc:abc/repo"
NOTE = "note: those names were listed inside the Letta Cloud sandbox"


class Result(NamedTuple):
    status: int
    out: str
    err: str


class Desk:
    """A checkout, keys, and the command with an environment of its own.

    The command runs in this process unless `how` says how Python is to start it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.checkout = Checkout(folder / "repo")
        self.checkout.commit("README.md", "src/a.txt", "b.txt")
        self.private, self.public = keys(folder)
        self.out = folder / "out"

    def __call__(self, *arguments, how=(), **environ) -> Result:
        argv = ["receipt", *map(str, arguments)]
        environ = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(PACKAGE),
            "PYTHONWARNINGS": "error",
            "HOME": str(self.folder),
            "TMPDIR": str(self.folder),
            "LC_ALL": "C.UTF-8",
            **environ,
        }
        result = self._process(how, argv, environ) if how else self._here(argv, environ)
        assert "Traceback" not in result.err, result.err
        return result

    def _process(self, how, argv, environ) -> Result:
        done = subprocess.run(
            [sys.executable, *map(str, how), *argv],
            env=environ,
            cwd=self.checkout.folder,
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
        return Result(done.returncode, done.stdout.decode(), done.stderr.decode())

    def _here(self, argv, environ) -> Result:
        with (
            pytest.MonkeyPatch.context() as patch,
            mock.patch.dict(os.environ, environ, clear=True),
        ):
            out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
            for name, value in {"stdout": out, "stderr": err}.items():
                patch.setattr(sys, name, value)
            patch.setattr(tempfile, "tempdir", environ["TMPDIR"])
            patch.setattr(run_module, "run_receipt", play)
            patch.chdir(self.checkout.folder)
            status = main(argv)
        return Result(status, *(one.buffer.getvalue().decode() for one in (out, err)))

    def run(self, *arguments, how=(), played="honest", **environ) -> Result:
        """`receipt run`, played."""
        usual = {
            "LETTA_API_KEY": "sk-let-0123456789abcdef",
            "LETTA_AGENT_ID": wire.AGENT,
            "TANGLED_PIPELINE_KIND": "push",
            "TANGLED_PIPELINE_ID": "at://did:web:knot.example/sh.tangled.pipeline/3abc",
            "TANGLED_REPO_URL": URL,
            "TANGLED_SHA": self.checkout.head,
            "PLAYED": played,
        }
        given = {name: value for name, value in {**usual, **environ}.items() if value is not None}
        return self("run", "--out", self.out, *arguments, how=how, **given)

    def verify(self, *arguments, **changed) -> Result:
        usual = {"commit": self.checkout.head, "agent": wire.AGENT, **changed}
        options = [f"--{name}={value}" for name, value in usual.items() if value is not None]
        return self("verify", self.out / "receipt.jsonl", *options, *arguments)


@pytest.fixture
def desk(tmp_path):
    return Desk(tmp_path)


def complaint(result: Result, message: str, hint: str = ".+", status: int = 2) -> None:
    assert (result.status, result.out) == (status, ""), result
    assert re.fullmatch(f"[^\n]*{message}[^\n]*\n\nhint: [^\n]*{hint}[^\n]*\n", result.err), result


def test_the_log_has_one_name() -> None:
    assert artifacts.FRAMES == run_module.FRAMES


@pytest.mark.parametrize("how", [(), (PLAYED,)], ids=["here", "process"])
def test_a_pass(desk, how) -> None:
    result = desk.run("--key", desk.private, how=how)
    sha = desk.checkout.head
    assert result.out.splitlines() == [
        f"agent: {wire.AGENT}",
        "model: (the agent's own)",
        f"conversation: {wire.CONVERSATION}",
        "duration_ms: 12345",
        "tool_receipts: 7 successful",
        f"pipeline: push {sha}",
        f"checkout: {sha}",
        "files: README.md, b.txt, src",
        NOTE,
    ]
    assert result.status == 0
    assert result.err.splitlines() == [
        "played \\x1b[31m progress",
        f"the files are in {desk.out}",
    ]
    assert sorted(os.listdir(desk.out)) == [
        "frames.jsonl",
        "junit.xml",
        "plan.json",
        "receipt.jsonl",
    ]
    plan = json.loads((desk.out / "plan.json").read_bytes())
    assert [step["name"] for step in plan["steps"]] == [f"s{n}" for n in range(1, 8)]
    (suite,) = junitparser.JUnitXml.fromfile(str(desk.out / "junit.xml"))
    properties = {one.name: one.value for one in suite.properties()}
    assert properties["commit"] == sha
    assert properties["conversation_id"] == wire.CONVERSATION
    assert (suite.failures, suite.errors) == (0, 0)


@pytest.mark.parametrize(("played", "status"), [("cut", 11), ("extra", 12)])
def test_what_is_no_pass(desk, played, status) -> None:
    result = desk.run(played=played)
    verdict = {11: "INCOMPLETE", 12: "POLICY"}[status]
    assert result.status == status
    first, *rest = result.out.splitlines()
    assert first == f"verdict: {verdict}"
    assert [line.split(":")[0] for line in rest[:3]] == ["agent", "model", "conversation"]
    assert rest[3].startswith(f"reason: {verdict} ")
    for line in rest[3:]:
        assert line.startswith("reason: ")
    assert "successful" not in result.out
    assert NOTE not in result.out
    assert (desk.out / "receipt.jsonl").exists()
    # Judged again, it is the same.
    again = desk.verify("--allow-unsigned")
    assert again.status == status
    assert again.out.startswith(f"verdict: {verdict}\n")


def test_signed_and_verified(desk) -> None:
    assert desk.run(LETTAFAST_SIGNING_KEY=desk.private.read_text()).status == 0
    result = desk.verify(key=desk.public, url=URL)
    assert result.status == 0, result
    assert result.err == ""
    lines = result.out.splitlines()
    assert lines[0] == "verdict: PASS"
    assert f"url: {URL}" in lines
    assert "session: cloud" in lines
    assert re.search(r"^signed_by: [0-9a-f]{64}$", result.out, re.MULTILINE)
    result = desk.verify("--json", key=desk.public)
    said = json.loads(result.out)
    assert said["verdict"] == "PASS"
    assert said["commit"] == desk.checkout.head
    assert {check["verdict"] for check in said["checks"]} == {"PASS"}


def test_unsigned(desk) -> None:
    result = desk.run()
    assert result.status == 0
    assert "the receipt is not signed: it proves nothing about who made it\n" in result.err
    for key in (None, desk.public):
        result = desk.verify(key=key)
        assert (result.status, result.out.splitlines()[0]) == (13, "verdict: UNSIGNED")
        assert "signed_by: nobody: it proves nothing about who made it\n" in result.out
        result = desk.verify("--allow-unsigned", key=key)
        assert (result.status, result.out.splitlines()[0]) == (0, "verdict: PASS")
        assert "signed_by: nobody: it proves nothing about who made it\n" in result.out


def test_verified_against_other_expectations(desk, tmp_path) -> None:
    before = desk.checkout.head
    assert desk.run("--key", desk.private).status == 0
    after = desk.checkout.commit("more.txt")
    assert desk.verify(commit=before, key=desk.public).status == 0
    for changed in (
        {"commit": after},
        {"commit": before, "agent": "agent-other"},
        {"commit": before, "url": "https://knot.example/other"},
        {"commit": before, "profile": "seed"},
    ):
        result = desk.verify(**{"key": desk.public, **changed})
        assert result.status in (10, 11, 12), changed
        assert not result.out.startswith("verdict: PASS")
    _, other = keys(tmp_path, "other")
    assert desk.verify(commit=before, key=other).status == 10


def test_an_altered_receipt_or_log(desk) -> None:
    desk.run("--key", desk.private)
    for name in ("receipt.jsonl", "frames.jsonl"):
        path = desk.out / name
        data = path.read_bytes()
        path.write_bytes(data.replace(b"a", b"b", 1))
        result = desk.verify("--allow-unsigned", key=desk.public)
        assert (result.status, result.out.splitlines()[0]) == (10, "verdict: FAIL")
        path.write_bytes(data)
    assert desk.verify(key=desk.public).status == 0


def test_the_seed_profile_is_verified_only_where_it_is_named(desk) -> None:
    assert desk.run("--key", desk.private, "--profile", "seed").status == 0
    assert desk.verify(key=desk.public).status in (10, 11, 12)
    for profile in ("seed", "any"):
        result = desk.verify(key=desk.public, profile=profile)
        assert result.status == 0
        assert "profile: seed\n" in result.out
    assert "was only looked at afterwards" in desk("explain", desk.out / "receipt.jsonl").out


def test_explain(desk) -> None:
    desk.run("--key", desk.private)
    path = desk.out / "receipt.jsonl"
    result = desk("explain", path)
    assert result.status == 0
    lines = result.out.splitlines()
    assert lines[0] == "the receipt says PASS"
    assert f"  commit: {desk.checkout.head}" in lines
    assert "  conversation_id: " + wire.CONVERSATION in lines
    assert len([line for line in lines if line.startswith("  holds ")]) > 40
    before_the_limits = lines[lines.index("") + 1 :]
    assert before_the_limits.count("") == 1  # none beneath a check that saw nothing to tell
    assert all(line.strip() for line in before_the_limits[: before_the_limits.index("")])
    assert lines[-1] == "This is what the file says; `lettafast receipt verify` proves it."
    assert "does not stand against a sandbox whose harness lies" in result.out
    said = json.loads(desk("explain", path, "--json").out)
    assert said["verdict"] == "PASS"
    assert {"name", "step", "verdict", "saw", "sentence"} == set(said["checks"][0])
    path.write_bytes(path.read_bytes() + b" ")
    complaint(desk("explain", path), "not two lines", "run", status=10)
    assert desk("explain", desk.out / "nothing").status == 3


def test_explain_a_receipt_of_anyones_making(desk) -> None:
    """It may hold what it likes; the terminal gets no control character."""
    from lettafast.receipts.envelope import write_receipt

    path = desk.folder / "theirs.jsonl"
    odd = {
        "checks": [1, {"name": "\x1b[2J##[group]", "saw": ["\x07##[error]"]}],
        "verdict": "\x1b",
        "limits": [{}],
    }
    for statement in ({}, {"predicate": odd, "subject": 1}, {"predicate": odd, "subject": [[]]}):
        path.write_bytes(write_receipt((statement, statement), None))
        result = desk("explain", path)
        assert result.status == 0
        assert not {"\x1b", "\x07"} & set(result.out)
        assert "##[" not in result.out
        assert desk("explain", path, "--json").status == 0


def test_plan_needs_no_network_and_no_agent(desk) -> None:
    result = desk("plan", "--url", URL)
    assert result.status == 0, result
    sha = desk.checkout.head
    assert result.out.startswith(f"commit {sha} of {URL}\n")
    commands = re.findall(r"^  ((?:git|timeout|\{).*)$", result.out, re.MULTILINE)
    assert len(commands) == 7
    assert f"fetch -q --depth=1 --no-tags --no-recurse-submodules {URL} {sha}" in commands[1]
    said = json.loads(desk("plan", "--url", URL, "--json").out)
    assert said["commit"] == sha
    assert said["final_text"].splitlines()[1] == f"checkout: {sha}"
    # Each plan has a nonce of its own.
    assert said["nonce"] not in result.out


def test_what_is_refused_before_anything_is_asked(desk) -> None:
    complaint(desk.run(TANGLED_SHA="f" * 40), "TANGLED_SHA: it must be the commit that is checked")
    complaint(desk.run(TANGLED_PIPELINE_KIND="pull_request"), "TANGLED_PIPELINE_KIND: a pull")
    complaint(desk.run(LETTA_AGENT_ID=None), "LETTA_AGENT_ID: it must be set")
    complaint(desk.run(LETTA_API_KEY=None), "LETTA_API_KEY")
    result = desk.run(TANGLED_REPO_URL="http://knot.example/x")
    assert (result.status, result.out) == (2, "")
    complaint(
        desk.run("--key", desk.private, LETTAFAST_SIGNING_KEY=desk.private.read_text()),
        "both --key and LETTAFAST_SIGNING_KEY",
    )
    complaint(desk.run("--key", desk.public), "not a key in PEM")
    complaint(desk.run(LETTAFAST_SIGNING_KEY="x"), "LETTAFAST_SIGNING_KEY: not a key in PEM")
    result = desk.run("--key", desk.folder / "nothing")
    assert (result.status, result.err) == (2, f"{desk.folder}/nothing: the key could not be read\n")
    key = "sk-let-0123456789abcdef"
    result = desk.run(LETTA_MODEL=f"x/{key}")
    assert (result.status, result.err) == (2, "LETTA_MODEL: it must not hold the API key\n")
    assert not desk.out.exists()
    desk.checkout.write("new.txt")
    complaint(desk.run(), "untracked and not ignored `new.txt`", "gitignore")
    assert not desk.out.exists()


def test_a_repository_that_no_plan_can_be_made_of(desk) -> None:
    desk.checkout.commit(*(f"{'x' * 200}{number:04}" for number in range(100)))
    complaint(desk.run(), "names are too long")
    complaint(desk("plan", "--url", URL), "names are too long")
    assert not desk.out.exists()


def test_a_receipt_is_never_written_over(desk) -> None:
    assert desk.run().status == 0
    before = (desk.out / "receipt.jsonl").read_bytes()
    complaint(desk.run(), "has a `frames.jsonl` already", "a new folder")
    assert (desk.out / "receipt.jsonl").read_bytes() == before


def test_without_out_a_new_folder_is_made(desk) -> None:
    environ = {"LETTA_AGENT_ID": wire.AGENT, "LETTA_API_KEY": "sk-let-key", "PLAYED": "honest"}
    result = desk("run", "--url", URL, **environ)
    assert result.status == 0, result
    assert f"pipeline: local {desk.checkout.head}\n" in result.out
    folder = Path(result.err.splitlines()[-1].removeprefix("the files are in "))
    assert (folder / "receipt.jsonl").exists()
    assert folder.parent == desk.folder


def test_the_time_that_a_run_may_take(desk) -> None:
    from lettafast.receipts.deadlines import Deadlines

    given, usual = [], play

    async def note(options, on_progress):
        given.append(options.deadlines)
        return await usual(options, on_progress)

    with mock.patch(f"{__name__}.play", note):
        assert desk.run().status == 0
        desk.out = desk.folder / "out2"
        assert desk.run("--seconds", "200").status == 0
    assert given == [Deadlines(), Deadlines(total=200)]
    complaint(desk.run("--seconds", "89"), "at least 90")
    complaint(desk.run("--seconds", "1e3"), "not a whole number")


def test_usage(desk) -> None:
    complaint(desk(), "ACTION")
    complaint(desk("fly"), "invalid choice")
    complaint(desk("verify", "x", "--agent", "agent-1"), "--commit")
    complaint(desk("verify", "x", "--commit", "main", "--agent", "agent-1"), "40 or 64", "whole")
    head = desk.checkout.head
    result = desk("verify", "x", "--commit", head, "--agent", "x")
    assert (result.status, result.out) == (2, "")
    assert result.err.startswith("--agent: it must be an agent's id")
    result = desk("verify", "nothing.jsonl", "--commit", head, "--agent", "agent-1")
    assert (result.status, result.err) == (3, "nothing.jsonl: No such file or directory\n")
    complaint(desk("verify", "x", "--commit", "0" * 40, "--agent", "agent-1"), "no such commit")


def test_github_actions(desk) -> None:
    summary = desk.folder / "summary.md"
    github = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary)}
    result = desk.run(played="extra", **github)
    assert result.status == 12
    errors = [line for line in result.out.splitlines() if line.startswith("::error ")]
    reasons = [line for line in result.out.splitlines() if line.startswith("reason: ")]
    assert len(errors) == len(reasons) > 0
    assert errors[0].startswith("::error title=receipt POLICY%2C ")
    assert summary.read_text().startswith("### Receipt: POLICY\n")
    desk.out = desk.folder / "out2"
    result = desk.run(**github)
    assert result.status == 0
    assert "::" not in result.out
    assert summary.read_text().count("### Receipt: ") == 2
    desk.out = desk.folder / "out3"
    assert "::error" not in desk.run(played="extra", GITHUB_ACTIONS="false").out


def test_one_app_server_needs_no_key(desk) -> None:
    result = desk.run("--app-server", "ws://127.0.0.1:1", LETTA_API_KEY=None)
    assert result.status == 0
    # Whoever expects a sandbox of Letta Cloud must not take the runner's own machine for one.
    assert desk.verify("--allow-unsigned").status == 10
    for session in ("app-server", "any"):
        verified = desk.verify("--allow-unsigned", session=session)
        assert verified.status == 0
        assert "session: app-server\n" in verified.out


def test_without_the_extra_it_says_which_one(desk) -> None:
    """As where the packages of the extra were never installed."""
    code = (
        "import sys\n"
        "for name in ('rfc8785', 'securesystemslib', 'websockets', 'letta_client'):\n"
        "    sys.modules[name] = None\n"
        "from lettafast.cli import main\n"
        "sys.exit(main())"
    )
    for arguments in (
        ("run", "--url", URL),
        ("plan", "--url", URL),
        ("verify", "x", "--commit", "0" * 40, "--agent", "agent-1"),
        ("explain", "x"),
    ):
        result = desk(*arguments, how=("-c", code), LETTA_AGENT_ID=wire.AGENT)
        complaint(result, "this command needs the package `[a-z_0-9]+`", r"lettafast\[receipts\]")


def test_help_needs_no_extra(desk) -> None:
    code = (
        "import sys; sys.modules['rfc8785'] = None\n"
        "from lettafast.cli import main\n"
        "sys.exit(main())"
    )
    for action in ("run", "plan", "verify", "explain"):
        result = desk(action, "--help", how=("-c", code))
        assert result.status == 0
        assert "exit status:" in result.out
