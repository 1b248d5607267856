"""What a live run writes into its frame log, so that the log alone decides."""

from __future__ import annotations

import json
from typing import Any

from lettafast.errors import SessionError, SessionReason

from .frames import Channel, Direction, FrameLog
from .secret import Secret
from .strict_json import parse_object, strings_in

MAX_RECORDED = 64 << 20
"""Bytes of all messages of a run: the log is kept in memory, and read again for the verdict.

An honest run says about one million; to read these takes some seconds, in which nothing else goes
on.
"""


class Recorder:
    """Writes frames and notes; the API key stands in none of them.

    `failure` is what kept the log from being written, or None. It is no error at once: a sandbox
    is to be ended even where the disk is full.
    """

    def __init__(self, log: FrameLog, key: Secret | None) -> None:
        self.failure: OSError | None = None
        self._log = log
        self._key = key
        self._recorded = 0
        # Of each text of the agent: its end so far.
        self._begun: dict[tuple[Channel, str], str] = {}

    def arrived(self, channel: Channel, data: bytes) -> dict[str, Any] | None:
        """Records a message; its members, or None where it is none that can be evidence.

        Raises `SessionError` when the session says too much, or the log cannot be written.
        """
        self._recorded += len(data)
        if self._recorded > MAX_RECORDED:
            raise SessionError(SessionReason.PROTOCOL, "the session said too much")
        if self.failure is not None:
            raise SessionError(SessionReason.STOPPED, "the frame log cannot be written")
        try:
            text = data.decode()
        except UnicodeDecodeError:
            self._bad(channel, "not UTF-8", data.decode(errors="replace"))
            return None
        try:
            said = parse_object(text)
        except ValueError as error:
            self._bad(channel, str(error), text)
            return None
        if self._key is not None and _says(self._key, text, said):
            self._bad(channel, "it holds the API key", "")
            return None
        if self._key is not None and self._completes(self._key, channel, said):
            self._bad(channel, "it ends a text with the API key", "")
            return None
        self._append("in", channel, text)
        return said

    def too_big(self, channel: Channel) -> None:
        """Records that a message was longer than may be read."""
        self._bad(channel, "too long", "")

    def sent(self, message: dict[str, Any]) -> str:
        """Records a message before it goes out on the control socket; its text."""
        text = to_json(message)
        self._append("out", "control", text)
        return text

    def asked(self, request: str, body: Any) -> None:
        """Records a REST request: `request` is its method and path, never a header."""
        self._append("out", "rest", self._safe({"request": request, "body": body}))

    def answered(self, request: str, status: int, body: Any) -> None:
        """Records a REST answer."""
        said = {"request": request, "status": status, "body": body}
        self._append("in", "rest", self._safe(said))

    def note(self, name: str, **members: Any) -> None:
        """Records what the runner itself has to say."""
        self._append("note", "runner", self._safe({"note": name, **members}))

    def without_key(self, text: str) -> str:
        """`text`, in which somebody else may have put the key."""
        return text if self._key is None else self._key.out_of(text)

    def _completes(self, key: Secret, channel: Channel, said: dict[str, Any]) -> bool:
        """Whether a fragment of an agent's text says the rest of the key.

        What is judged and shown is the whole text.
        """
        delta = said.get("delta")
        if not isinstance(delta, dict) or delta.get("message_type") != "assistant_message":
            return False
        row = (channel, str(delta.get("otid", delta.get("id"))))
        text = self._begun.get(row, "") + "".join(_texts(delta.get("content")))
        self._begun[row] = key.beginning_in(text)
        return key.is_in(text)

    def _bad(self, channel: Channel, why: str, text: str) -> None:
        # A note is without the key, whatever the text holds.
        self.note("bad_frame", channel=channel, reason=why, text=text)

    def _append(self, direction: Direction, channel: Channel, text: str) -> None:
        try:
            self._log.append(direction, channel, text)
        except OSError as error:
            self.failure = self.failure or error

    def _safe(self, value: Any) -> str:
        return self.without_key(to_json(value))


def _says(key: Secret, text: str, said: dict[str, Any]) -> bool:
    r"""Also where a letter is spelled `\u0073`."""
    return key.is_in(text) or any(key.is_in(one) for one in strings_in(said))


def _texts(content: Any) -> list[str]:
    parts = content if isinstance(content, list) else [{"text": content}]
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    return [text for text in texts if isinstance(text, str)]


def to_json(value: Any) -> str:
    """`value` as compact JSON, in ASCII: it may hold halves of surrogate pairs."""
    return json.dumps(value, separators=(",", ":"))
