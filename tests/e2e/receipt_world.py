"""A repository, its HTTPS server, a real App Server and a scripted agent: a receipt's whole world.

Letta Cloud is left out, or is the double of `tests/receipts/cloud_double.py` in front of the same
App Server. The steps' folders are in the temporary folder of the machine, since the plan says so.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519

from app_server import AppServer
from cloud_double import CloudDouble
from git_https import SECONDS, Fault, GitHttps
from lettafast.receipts.deadlines import Deadlines
from lettafast.receipts.expected import expected_state
from lettafast.receipts.frames import Frame, read_frames
from lettafast.receipts.run import RunOptions, RunResult, run_receipt
from lettafast.receipts.secret import Secret
from lettafast.receipts.verify import Expectation, judge
from receipt_agents import Agent, Turn
from scripted_model import serving

if TYPE_CHECKING:
    from collections.abc import Iterator

KEY = "sk-let-0123456789abcdef-of-the-end-to-end-tests"
KIND = "push"
FILES = {
    ".gitignore": "build\n",
    "README.md": "# A repository to be seen\n",
    "src.txt": "git prints it before the folder\n",
    "src/main.py": "print('seen')\n",
    "b\u00fccher.txt": "a name that git quotes\n",
}
STEP_FOLDER = re.compile(r"/tmp/lettafast-[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class Run:
    """A run that is over, and the frames that it left."""

    result: RunResult
    frames: tuple[Frame, ...]

    @property
    def verdict(self) -> str:
        return str(self.result.judgement.verdict)

    def deltas(self, message_type: str) -> list[dict[str, Any]]:
        """The deltas of this type that came over the control socket, in order."""
        said = [json.loads(frame.raw) for frame in self.frames if frame.channel == "control"]
        deltas = [frame["delta"] for frame in said if "delta" in frame]
        return [delta for delta in deltas if delta.get("message_type") == message_type]

    def results(self) -> list[str]:
        """What the calls returned, in the end or before it."""
        return [str(delta["tool_return"]) for delta in self.deltas("tool_return_message")]

    def why(self) -> str:
        """The checks that do not hold."""
        checks = self.result.judgement.checks
        return "\n".join(
            f"{check.verdict} {check.name} {check.step or ''}: {check.sentence} Saw: {check.saw}"
            for check in checks
            if str(check.verdict) != "PASS"
        )


class ReceiptWorld:
    """All of it, running."""

    def __init__(self, folder: Path, git: GitHttps) -> None:
        self.folder = folder
        self.git = git
        self.checkout = folder / "checkout"
        _repository(self.checkout)
        self.url = git.add(self.checkout, "seen.git")
        self.mirror_url = git.add(self.checkout, "mirror.git")
        self.elsewhere = folder / "elsewhere"
        _git(folder, "clone", "-q", str(self.checkout), str(self.elsewhere))
        self.state = expected_state(str(self.checkout))
        self.commands = folder / "commands"
        """A folder in front of the sandbox's PATH."""
        self.commands.mkdir()
        self.agent = Agent()
        self.server: AppServer
        self.agent_id: str
        self._runs = 0
        self._step_folders: set[str] = set()

    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        """What the agent of the current run says."""
        self._step_folders.update(STEP_FOLDER.findall(json.dumps(body["messages"])))
        return self.agent(body)

    def remove_step_folders(self) -> None:
        """Removes what the agents were asked to make in the machine's temporary folder."""
        for folder in self._step_folders:
            shutil.rmtree(folder, ignore_errors=True)

    def known(self, turn: Turn) -> str:
        """The four lines, by an agent that need not look."""
        return "\n".join(
            [
                turn.line("pipeline: "),
                f"checkout: {self.state.commit}",
                f"files: {', '.join(self.state.printed)}",
                turn.line("note: "),
            ]
        )

    @contextmanager
    def command(self, name: str, script: str) -> Iterator[None]:
        """The sandbox has this command in the place of its own."""
        path = self.commands / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        try:
            yield
        finally:
            path.unlink()

    @contextmanager
    def settings(self, **members: Any) -> Iterator[None]:
        """The user of the sandbox has these settings."""
        path = self.server.home / ".letta" / "settings.json"
        before = path.read_text() if path.exists() else None
        path.write_text(json.dumps({**json.loads(before or "{}"), **members}))
        try:
            yield
        finally:
            path.write_text(before) if before is not None else path.unlink()

    def environ(self, **members: str) -> dict[str, str]:
        """What a pipeline for this commit has in its environment, and `members`."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("LETTA", "TANGLED", "GIT"))
        }
        return {
            **kept,
            "TANGLED_PIPELINE_KIND": KIND,
            "TANGLED_PIPELINE_ID": "at://did:web:knot.example.org/sh.tangled.pipeline/1",
            "TANGLED_REPO_URL": self.url,
            "TANGLED_COMMIT_SHA": self.state.commit,
            "LETTA_AGENT_ID": self.agent_id,
            **members,
        }

    def run(
        self, agent: Agent, profile: str = "strict", *, faults: list[Fault] | None = None
    ) -> Run:
        """A run on the App Server itself."""
        return self._run(agent, profile, faults, app_server=self.server.url)

    def run_in(self, cloud: CloudDouble, agent: Agent, *, faults: list[Fault] | None = None) -> Run:
        """A run through the double of Letta Cloud."""
        return self._run(agent, "strict", faults, base_url=cloud.url, api_key=Secret(KEY))

    def _run(self, agent: Agent, profile: str, faults: list[Fault] | None, **where: Any) -> Run:
        self._runs += 1
        self.agent = agent
        self.git.begin(faults or [])
        options = RunOptions(
            state=self.state,
            url=self.url,
            kind=KIND,
            agent_id=self.agent_id,
            out=str(self.folder / "runs" / str(self._runs)),
            profile=profile,
            deadlines=Deadlines(answer=10.0, connect=10.0, poll=0.05),
            **where,
        )
        try:
            result = asyncio.run(run_receipt(options))
        finally:
            self.git.release()
        recorded = read_frames(result.frames_path)
        assert (recorded.head, recorded.sha256) == (result.head, result.frames_sha256)
        expectation = Expectation(self.state, self.url, self.agent_id, KIND, profile)
        # Offline it is the same, down to the last sentence.
        assert judge(expectation, recorded.frames) == result.judgement
        return Run(result, recorded.frames)


@contextmanager
def receipt_world(letta: str, folder: Path) -> Iterator[ReceiptWorld]:
    """A world that is gone afterwards."""
    with ExitStack() as stack:
        git = stack.enter_context(GitHttps(folder / "git"))
        world = ReceiptWorld(folder, git)
        model = stack.enter_context(serving(world.answer))
        # After the App Server has ended, since a command of its may still run.
        stack.callback(world.remove_step_folders)
        environ = {
            "GIT_SSL_CAINFO": str(git.certificate),
            "PATH": f"{world.commands}:{os.environ['PATH']}",
        }
        server = AppServer(letta, folder / "sandbox", model, environ)
        world.server = stack.enter_context(server)
        world.agent_id = world.server.agent()
        yield world


def signing_keys(folder: Path) -> tuple[Path, Path]:
    """A new Ed25519 key in PEM: the files of its private and its public half."""
    key = ed25519.Ed25519PrivateKey.generate()
    private, public = folder / "ci.pem", folder / "ci.pub.pem"
    private.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    public.write_bytes(
        key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
    )
    return private, public


def _repository(folder: Path) -> None:
    folder.mkdir(parents=True)
    _git(folder, "init", "-q")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    _git(folder, "add", ".")
    _git(folder, "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qm", "all")


def _git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True, timeout=SECONDS)
