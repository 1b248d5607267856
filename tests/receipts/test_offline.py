"""A receipt on another machine: what the caller expects decides, and every altered byte is found.

The runs are the synthetic ones of `wire`; the files, keys and signatures are real.
"""

from __future__ import annotations

import dataclasses
import json
import random

import pytest

import wire
from lettafast.receipts.envelope import public_key, signing_key, write_receipt
from lettafast.receipts.frames import read_frames
from lettafast.receipts.offline import verify_receipt
from lettafast.receipts.statement import statements
from lettafast.receipts.verify import Verdict, judge
from made import keys, stage, write_frames, write_run

FILE_CHECKS = ["envelope", "signature", "frames", "chain", "statement", "statement"]


class Desk:
    """One signed run in files, and how to verify it."""

    def __init__(self, folder) -> None:
        private, public = keys(folder)
        self.signer = signing_key(private.read_bytes(), "x")
        self.key = public_key(public.read_bytes(), "x")
        self.folder = folder
        self.expectation = wire.EXPECTATION

    def run(self, name, frames, signer=None, expectation=None):
        write_run(self.folder / name, frames, expectation or self.expectation, signer)
        return self.folder / name

    def verify(
        self, receipt, frames=None, expectation=None, *, key=None, keyless=False, allow=False
    ):
        frames = receipt if frames is None else frames
        return verify_receipt(
            str(receipt / "receipt.jsonl"),
            str(frames / "frames.jsonl"),
            expectation or self.expectation,
            None if keyless else key or self.key,
            allow,
        )


@pytest.fixture
def desk(tmp_path):
    return Desk(tmp_path)


@pytest.fixture
def signed(desk):
    return desk.run("signed", wire.honest().frames, desk.signer)


def wrong(result):
    return [check.name for check in result.checks if check.verdict is not Verdict.PASS]


def expecting(**changed):
    return dataclasses.replace(wire.EXPECTATION, **changed)


@pytest.mark.parametrize("session", ["cloud", "app-server"])
def test_a_signed_pass(desk, session) -> None:
    folder = desk.run("run", wire.honest(session).frames, desk.signer)
    result = desk.verify(folder)
    assert result.verdict is Verdict.PASS
    assert wrong(result) == []
    assert [check.name for check in result.checks][:6] == FILE_CHECKS
    assert result.signed_by == desk.key.keyid
    # The verdict is that of the live run, check by check.
    assert result.checks[6:] == judge(wire.EXPECTATION, wire.honest(session).frames).checks


def test_who_verifies_need_not_know_kind_profile_or_address(desk, signed) -> None:
    result = desk.verify(signed, expectation=expecting(kind=None, profile=None, url=""))
    assert result.verdict is Verdict.PASS


def test_an_unsigned_receipt(desk) -> None:
    folder = desk.run("run", wire.honest().frames)
    result = desk.verify(folder)
    assert (result.verdict, result.signed_by) == (Verdict.UNSIGNED, None)
    assert "proves nothing about who made it" in result.checks[1].sentence
    result = desk.verify(folder, allow=True)
    assert (result.verdict, result.signed_by) == (Verdict.PASS, None)
    assert "proves nothing about who made it" in result.checks[1].sentence


def test_a_signature_that_nobody_checked_is_none(desk, signed) -> None:
    assert desk.verify(signed, keyless=True).verdict is Verdict.UNSIGNED
    result = desk.verify(signed, keyless=True, allow=True)
    assert (result.verdict, result.signed_by) == (Verdict.PASS, None)


def test_another_key_is_never_unsigned(desk, signed, tmp_path) -> None:
    _, public = keys(tmp_path, "other")
    other = public_key(public.read_bytes(), "x")
    for allow in (False, True):
        result = desk.verify(signed, key=other, allow=allow)
        assert (result.verdict, wrong(result)) == (Verdict.FAIL, ["signature"])


def test_an_unsigned_receipt_that_would_not_pass_is_no_unsigned_one(desk) -> None:
    run = wire.honest()
    del run.frames[40:]
    folder = desk.run("run", run.frames)
    verdict = judge(wire.EXPECTATION, run.frames).verdict
    assert verdict is not Verdict.PASS
    assert desk.verify(folder).verdict is verdict
    assert desk.verify(folder, allow=True).verdict is verdict


@pytest.mark.parametrize(
    "changed",
    [
        {"state": dataclasses.replace(wire.STATE, commit="3" * 40)},
        {"state": dataclasses.replace(wire.STATE, tree="3" * 40)},
        {"state": dataclasses.replace(wire.STATE, names=("other",), printed=("other",))},
        {"state": dataclasses.replace(wire.STATE, listing=b"other")},
        {"url": "https://knot.example/other"},
        {"agent_id": "agent-other"},
        {"kind": "manual"},
        {"profile": "seed"},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_a_receipt_of_something_else_than_is_expected(desk, signed, changed) -> None:
    """Soundly signed, and a PASS for whoever made it."""
    result = desk.verify(signed, expectation=expecting(**changed))
    assert result.verdict in (Verdict.FAIL, Verdict.POLICY, Verdict.INCOMPLETE)
    assert result.signed_by == desk.key.keyid
    for allow in (False, True):
        assert desk.verify(signed, expectation=expecting(**changed), allow=allow).verdict not in (
            Verdict.PASS,
            Verdict.UNSIGNED,
        )


def test_frames_of_another_run(desk, signed, monkeypatch) -> None:
    """Both runs are honest, and of the same commit and agent."""
    expectation = stage(monkeypatch, wire.STATE, nonce="ab" * 16)
    other = desk.run("other", wire.honest().frames, desk.signer, expectation)
    assert desk.verify(other).verdict is Verdict.PASS
    for receipt, frames in ((signed, other), (other, signed)):
        result = desk.verify(receipt, frames)
        assert (result.verdict, wrong(result)) == (Verdict.FAIL, ["chain"])


def test_a_receipt_that_lies_about_its_frames(desk) -> None:
    """A signer that says PASS of frames that give none."""
    run = wire.honest()
    del run.frames[40:]
    folder = desk.run("run", run.frames, desk.signer)
    read = read_frames(str(folder / "frames.jsonl"))
    judgement = judge(wire.EXPECTATION, read.frames)
    lie = dataclasses.replace(judgement, verdict=Verdict.PASS, receipts=7)
    said = statements(lie, wire.STATE, read.frames, read.head, read.sha256)
    (folder / "receipt.jsonl").write_bytes(write_receipt(said, desk.signer))
    result = desk.verify(folder)
    assert result.verdict is judgement.verdict or result.verdict is Verdict.FAIL
    assert wrong(result)[:2] == ["statement", "statement"]
    seen = [check.saw for check in result.checks if check.name == "statement"]
    assert seen == ["result", "tool_receipts, verdict"]


@pytest.mark.parametrize(
    ("which", "change"),
    [
        (0, lambda said: said["subject"][0]["digest"].update(gitCommit="3" * 40)),
        (0, lambda said: said["predicate"]["configuration"].pop()),
        (0, lambda said: said.update(predicateType="https://example.org/other")),
        (0, lambda said: said.update(more=1)),
        (1, lambda said: said["subject"].append({"name": "more"})),
        (1, lambda said: said["predicate"]["invocation"].update(agent_id="agent-other")),
        (1, lambda said: said["predicate"].update(more=1)),
        (1, lambda said: said["predicate"]["calls"].pop()),
        (1, lambda said: said["predicate"]["plan"].update(nonce="0" * 32)),
        (1, lambda said: said["predicate"].update(duration_ms=1)),
        (1, lambda said: said.update(predicate="none")),
        (1, lambda said: said["predicate"]["chain"].update(count=1)),
        (1, lambda said: said["predicate"]["chain"].update(frames_sha256="0" * 64)),
    ],
)
def test_signed_statements_that_say_something_else(desk, signed, which, change) -> None:
    read = read_frames(str(signed / "frames.jsonl"))
    judgement = judge(wire.EXPECTATION, read.frames)
    said = json.loads(
        json.dumps(statements(judgement, wire.STATE, read.frames, read.head, read.sha256))
    )
    change(said[which])
    (signed / "receipt.jsonl").write_bytes(write_receipt(tuple(said), desk.signer))
    result = desk.verify(signed)
    assert result.verdict is Verdict.FAIL
    assert wrong(result) in (["statement"], ["chain"])


def test_statements_in_the_other_order(desk, signed) -> None:
    path = signed / "receipt.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[::-1]))
    assert desk.verify(signed).verdict is Verdict.FAIL


def altered_bits(data, positions):
    for at, bit in positions:
        altered = bytearray(data)
        altered[at] ^= 1 << bit
        yield bytes(altered)


def test_altered_bytes_of_a_real_receipt(desk, signed) -> None:
    """A sample of its bits; `test_envelope.py` flips every bit of a small one."""
    path = signed / "receipt.jsonl"
    data = path.read_bytes()
    chance = random.Random(1)
    positions = [(chance.randrange(len(data)), chance.randrange(8)) for _ in range(60)]
    for altered in altered_bits(data, positions):
        path.write_bytes(altered)
        result = desk.verify(signed, allow=True)
        assert result.verdict is Verdict.FAIL
        assert {"envelope", "signature"} & set(wrong(result))
    for altered in (data + b"\n", data + b"{}\n", data[:-1], data * 2, b""):
        path.write_bytes(altered)
        assert wrong(desk.verify(signed, allow=True)) == ["envelope"]


def test_altered_bytes_of_the_frames(desk, signed) -> None:
    path = signed / "frames.jsonl"
    data = path.read_bytes()
    chance = random.Random(2)
    positions = [(chance.randrange(len(data)), chance.randrange(8)) for _ in range(150)]
    for altered in altered_bits(data, positions):
        path.write_bytes(altered)
        for allow in (False, True):
            result = desk.verify(signed, allow=allow)
            assert result.verdict is Verdict.FAIL
            assert wrong(result) == ["frames"]
        assert result.judgement is None


def test_frames_that_were_cut_joined_or_written_anew(desk, signed) -> None:
    path = signed / "frames.jsonl"
    data = path.read_bytes()
    lines = data.splitlines(keepends=True)
    for altered in (b"".join(lines[:-1]), b""):
        path.write_bytes(altered)
        result = desk.verify(signed, allow=True)
        assert "chain" in wrong(result)
        assert result.verdict in (Verdict.FAIL, Verdict.POLICY)
    for altered in (data[:-1], data + b"\n", b"".join(lines[1:]), data + lines[0], b"\xff" + data):
        path.write_bytes(altered)
        assert "frames" in wrong(desk.verify(signed, allow=True))
    # A whole new chain over altered frames is sound in itself, and of another run.
    path.unlink()
    frames = list(read_frames_of(data, desk.folder))
    write_frames(path, [dataclasses.replace(frames[0], at_ms=1), *frames[1:]])
    assert wrong(desk.verify(signed, allow=True)) == ["chain"]


def read_frames_of(data, folder):
    path = folder / "again.jsonl"
    path.write_bytes(data)
    return read_frames(str(path)).frames


def test_what_the_receipt_says_decides_nothing(desk) -> None:
    """The lists of tests and the wording may be anyone's: a verdict never comes from them."""
    run = wire.honest()
    del run.frames[40:]
    folder = desk.run("run", run.frames)
    read = read_frames(str(folder / "frames.jsonl"))
    judgement = judge(wire.EXPECTATION, read.frames)
    said = statements(judgement, wire.STATE, read.frames, read.head, read.sha256)
    said[0]["predicate"].update(failedTests=[], passedTests=["all"])
    said[1]["predicate"].update(checks=[], limits=[])
    (folder / "receipt.jsonl").write_bytes(write_receipt(said, None))
    assert desk.verify(folder, allow=True).verdict is judgement.verdict


def test_files_that_are_not_there(desk, signed, tmp_path) -> None:
    (signed / "frames.jsonl").unlink()
    with pytest.raises(FileNotFoundError):
        desk.verify(signed)
    with pytest.raises(FileNotFoundError):
        desk.verify(tmp_path / "nowhere")
