"""The frame log of a run: `frames.jsonl`, written while the run goes on, and read again."""

from __future__ import annotations

import hashlib
import time
from typing import IO

from .frame import GENESIS, Channel, Direction, Frame, Frames, FramesError, line, link, read_lines

__all__ = ["Channel", "Direction", "Frame", "FrameLog", "Frames", "FramesError", "read_frames"]


FRAMES = "frames.jsonl"
"""The name of the file."""


class FrameLog:
    """Keeps frames in memory, and writes each to `path` (a new file) before it goes on."""

    def __init__(self, path: str | None) -> None:
        """`None` writes no file. Raises `OSError`, also where the file is there already."""
        self.frames: list[Frame] = []
        self._chain = GENESIS
        self._whole = hashlib.sha256()
        self._file: IO[bytes] | None = None if path is None else open(path, "xb")  # noqa: SIM115 - `close` does

    @property
    def head(self) -> str:
        """The chain's last link, in hex."""
        return self._chain.hex()

    @property
    def sha256(self) -> str:
        """That of the file as it is now, in hex."""
        return self._whole.hexdigest()

    def append(self, direction: Direction, channel: Channel, raw: str) -> Frame:
        """Records a frame, now. Raises `ValueError` for half a surrogate pair, and `OSError`."""
        frame = Frame(len(self.frames), direction, channel, time.time_ns() // 1_000_000, raw)
        chain = link(self._chain, frame)
        written = line(frame, chain)
        if self._file is not None:
            self._file.write(written)
            self._file.flush()
        self._whole.update(written)
        self._chain = chain
        self.frames.append(frame)
        return frame

    def close(self) -> None:
        """Closes the file; nothing can be appended to it after that."""
        if self._file is not None:
            self._file.close()


def read_frames(path: str) -> Frames:
    """A log as it was written. Raises `FramesError` for any other byte, and `OSError`."""
    with open(path, "rb") as file:
        return read_lines(file)
