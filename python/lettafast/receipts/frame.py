"""One recorded frame, its line in `frames.jsonl`, and the chain over the lines.

A line is the RFC 8785 form of `{"at_ms","chain","channel","dir","i","raw"}`, ended by LF. With
c(-1) the SHA-256 of `lettafast-receipt/1` and a zero byte, c(i) is the SHA-256 of c(i-1) followed
by the SHA-256 of line i without its member `chain`, which holds c(i) in hex.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, get_args

from . import strict_json

Direction = Literal["in", "out", "note"]
"""From the session, to the session, or said by the runner."""
Channel = Literal["control", "stream", "rest", "runner"]
"""Where a frame was seen. The direct App Server's one socket is `control`."""

GENESIS = hashlib.sha256(b"lettafast-receipt/1\0").digest()
_MEMBERS = {"at_ms", "chain", "channel", "dir", "i", "raw"}


class FramesError(ValueError):
    """A frame log is not one that `FrameLog` writes. `line` counts from 1."""

    def __init__(self, line: int, reason: str) -> None:
        self.line = line
        self.reason = reason
        super().__init__(f"line {line}: {reason}")


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame. `at_ms` is Unix milliseconds; `raw` is its text as it was on the wire."""

    index: int
    direction: Direction
    channel: Channel
    at_ms: int
    raw: str


@dataclass(frozen=True, slots=True)
class Frames:
    """A whole log. `head` is the chain's last link, `sha256` that of the file, both in hex."""

    frames: tuple[Frame, ...]
    head: str
    sha256: str


def link(before: bytes, frame: Frame) -> bytes:
    """The chain's next link. Raises `ValueError` for a text that is no Unicode."""
    digest = hashlib.sha256(strict_json.canonical(_said(frame))).digest()
    return hashlib.sha256(before + digest).digest()


def line(frame: Frame, chain: bytes) -> bytes:
    """The frame's line, with its LF."""
    return strict_json.canonical({**_said(frame), "chain": chain.hex()}) + b"\n"


def read_lines(data: Iterable[bytes]) -> Frames:
    """The frames of a log's lines. Raises `FramesError` where a byte is not what we write."""
    frames: list[Frame] = []
    chain = GENESIS
    whole = hashlib.sha256()
    for number, text in enumerate(data, 1):
        whole.update(text)
        try:
            frame = _frame(strict_json.parse_object(text.decode("utf-8")))
            chain = link(chain, frame)
            written = line(frame, chain)
        except ValueError as error:
            raise FramesError(number, str(error)) from None
        if frame.index != number - 1:
            raise FramesError(number, "its number is not its place")
        if written != text:
            raise FramesError(number, "not the bytes that were written")
        frames.append(frame)
    return Frames(tuple(frames), chain.hex(), whole.hexdigest())


def _said(frame: Frame) -> dict[str, Any]:
    return {
        "at_ms": frame.at_ms,
        "channel": frame.channel,
        "dir": frame.direction,
        "i": frame.index,
        "raw": frame.raw,
    }


def _frame(said: dict[str, Any]) -> Frame:
    if set(said) != _MEMBERS:
        raise ValueError("other members than those of a frame")
    numbers = (said["at_ms"], said["i"])
    if any(type(number) is not int or number < 0 for number in numbers):
        raise ValueError("a number is none")
    if not isinstance(said["raw"], str):
        raise ValueError("`raw` is no text")  # noqa: TRY004 - all that is wrong with a line
    if said["dir"] not in get_args(Direction) or said["channel"] not in get_args(Channel):
        raise ValueError("an unknown direction or channel")
    return Frame(said["i"], said["dir"], said["channel"], said["at_ms"], said["raw"])
