"""Runs and receipts as files, from the synthetic honest log of `wire`."""

from __future__ import annotations

import dataclasses
import subprocess
from pathlib import Path

import wire
from lettafast.receipts.artifacts import write_artifacts
from lettafast.receipts.frame import GENESIS, Frame, line, link
from lettafast.receipts.frames import read_frames
from lettafast.receipts.plan import make_plan
from lettafast.receipts.verify import judge


def keys(folder: Path, name: str = "ci") -> tuple[Path, Path]:
    """A private and a public key, made as docs/RECEIPTS.md says."""
    private, public = folder / f"{name}.pem", folder / f"{name}.pub.pem"
    for arguments in (
        ["genpkey", "-algorithm", "ed25519", "-out", private],
        ["pkey", "-in", private, "-pubout", "-out", public],
    ):
        subprocess.run(["openssl", *map(str, arguments)], check=True, timeout=30)
    return private, public


def write_frames(path: Path, frames: list[Frame]) -> None:
    """A log file as a run writes it, with the frames' own times."""
    chain = GENESIS
    with open(path, "xb") as file:
        for frame in frames:
            chain = link(chain, frame)
            file.write(line(frame, chain))


def write_run(folder: Path, frames: list[Frame], expectation, signer=None):
    """All files of a run; its judgement."""
    folder.mkdir(parents=True, exist_ok=True)
    write_frames(folder / "frames.jsonl", frames)
    read = read_frames(str(folder / "frames.jsonl"))
    judgement = judge(expectation, read.frames)
    write_artifacts(str(folder), expectation.state, judgement, read, signer)
    return judgement


def stage(monkeypatch, state, url=wire.URL, agent_id=wire.AGENT, nonce=wire.NONCE, **changed):
    """Has `wire` play runs about this state; what to expect of them."""
    expectation = dataclasses.replace(
        wire.EXPECTATION, state=state, url=url, agent_id=agent_id, **changed
    )
    plan = make_plan(state, url, nonce, expectation.kind)
    for name, value in {
        "STATE": state,
        "URL": url,
        "AGENT": agent_id,
        "NONCE": nonce,
        "RUNTIME": {**wire.RUNTIME, "agent_id": agent_id},
        "PLAN": plan,
        "CHALLENGED": plan.challenged(wire.CHALLENGE),
        "EXPECTATION": expectation,
    }.items():
        monkeypatch.setattr(wire, name, value)
    return expectation
