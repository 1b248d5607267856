"""A receipt judged again on another machine: from its frames and the caller's own expectations.

Nothing in the envelope decides. It must say what the frames give, be signed with the caller's key,
and name exactly these frames; then the verdict is the one that the live run gave, computed once
more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from securesystemslib.signer import SSlibKey

from lettafast.errors import EnvelopeError

from .envelope import LONGEST, Receipt, check_signatures, read_receipt
from .frames import Frames, FramesError, read_frames
from .judgement import Check, Expectation, Judgement, Verdict, worst
from .statement import facts, note, statements
from .strict_json import same
from .verify import judge


@dataclass(frozen=True, slots=True)
class OfflineResult:
    """The verdict of a verification, and its checks: those of the file, then those of the run.

    `signed_by` is the id of the caller's key where it has signed the receipt. `judgement` is None
    where the frames could not be read.
    """

    verdict: Verdict
    checks: tuple[Check, ...]
    judgement: Judgement | None
    signed_by: str | None


def verify_receipt(
    receipt_path: str,
    frames_path: str,
    expectation: Expectation,
    public_key: SSlibKey | None,
    allow_unsigned: bool,
) -> OfflineResult:
    """Judges a receipt. Raises `OSError` where a file cannot be read, and nothing else.

    An `expectation.url` of "" expects any address: commit and tree name the content.
    """
    with open(receipt_path, "rb") as file:
        data = file.read(LONGEST + 1)
    checks: list[Check] = []
    receipt = _read(data, checks)
    signed_by = None if receipt is None else _signed_by(receipt, public_key, checks)
    frames = _frames(frames_path, checks)
    judgement = None
    if frames is not None:
        judgement = judge(_with_url(expectation, frames), frames.frames)
        if receipt is not None:
            checks += _compared(receipt, frames, judgement, expectation)
        checks += judgement.checks
    verdict = worst(tuple(checks))
    if verdict is Verdict.PASS and signed_by is None and not allow_unsigned:
        verdict = Verdict.UNSIGNED
    return OfflineResult(verdict, tuple(checks), judgement, signed_by)


def _read(data: bytes, checks: list[Check]) -> Receipt | None:
    try:
        receipt = read_receipt(data)
    except EnvelopeError as error:
        checks.append(Check("envelope", Verdict.FAIL, str(error), "The file is no sound receipt."))
        return None
    saw = f"{len(receipt.statements)} statements"
    checks.append(Check("envelope", Verdict.PASS, saw, "The file is a receipt in its only form."))
    return receipt


def _signed_by(receipt: Receipt, key: SSlibKey | None, checks: list[Check]) -> str | None:
    """The key's id where it has signed. That nobody has, or no key is named, is no fault yet."""
    if receipt.key_id is None:
        sentence = "Nobody signed it: it proves nothing about who made it."
        checks.append(Check("signature", Verdict.PASS, "no signature", sentence))
        return None
    if key is None:
        sentence = "No public key was named: it proves nothing about who made it."
        checks.append(Check("signature", Verdict.PASS, f"key {receipt.key_id}", sentence))
        return None
    try:
        check_signatures(receipt, key)
    except EnvelopeError as error:
        saw = f"key {receipt.key_id}: {error}"
        sentence = "The key that was named did not sign this."
        checks.append(Check("signature", Verdict.FAIL, saw, sentence))
        return None
    sentence = "The key that was named signed both statements."
    checks.append(Check("signature", Verdict.PASS, f"key {receipt.key_id}", sentence))
    return str(key.keyid)


def _frames(path: str, checks: list[Check]) -> Frames | None:
    try:
        frames = read_frames(path)
    except FramesError as error:
        sentence = "The frame log is not as it was written."
        checks.append(Check("frames", Verdict.FAIL, str(error), sentence))
        return None
    saw = f"{len(frames.frames)} frames, chain {frames.head}"
    sentence = "The frame log is whole: each line is chained to the one before."
    checks.append(Check("frames", Verdict.PASS, saw, sentence))
    return frames


def _with_url(expectation: Expectation, frames: Frames) -> Expectation:
    if expectation.url:
        return expectation
    return replace(expectation, url=str(note(frames.frames, "begin").get("url", "")))


def _compared(
    receipt: Receipt, frames: Frames, judgement: Judgement, expectation: Expectation
) -> list[Check]:
    """Whether the statements name these frames, and say what the frames give."""
    own = statements(judgement, expectation.state, frames.frames, frames.head, frames.sha256)
    chain = own[1]["predicate"]["chain"]
    predicate = receipt.statements[1].get("predicate")
    said = predicate.get("chain") if isinstance(predicate, dict) else None
    if not same(said, chain):
        sentence = "The receipt is of another run than the frame log."
        return [Check("chain", Verdict.FAIL, f"the log's chain is {frames.head}", sentence)]
    checks = [
        Check("chain", Verdict.PASS, frames.head, "The receipt is of exactly this frame log.")
    ]
    for found, made in zip(receipt.statements, own, strict=True):
        name = made["predicateType"].split("/")[-2]
        if same(facts(found), facts(made)):
            sentence = "The statement says what the frames give."
            checks.append(Check("statement", Verdict.PASS, name, sentence))
        else:
            sentence = (
                "The statement says something else than the frames and your expectations give."
            )
            checks.append(Check("statement", Verdict.FAIL, _difference(found, made), sentence))
    return checks


def _difference(found: dict[str, object], made: dict[str, object]) -> str:
    """The members that differ, by name."""
    said, own = facts(found), facts(made)
    names = [name for name in sorted({*said, *own}) if not same(said.get(name), own.get(name))]
    if names != ["predicate"]:
        return ", ".join(names)
    inner, expected = said["predicate"], own["predicate"]
    if not isinstance(inner, dict) or not isinstance(expected, dict):
        return "predicate"
    return ", ".join(
        name
        for name in sorted({*inner, *expected})
        if not same(inner.get(name), expected.get(name))
    )
