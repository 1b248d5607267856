"""Entries to turns, and the JSON of a page."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from .records import TEXT_PREVIEW_CHARS, TOOL_PREVIEW_CHARS, Entry

_SPLIT_ID = re.compile(r"(.*)-split-(0|[1-9][0-9]{0,8})", re.DOTALL).fullmatch
_PART_KINDS = {"user": "text", "assistant": "text", "reasoning": "thinking", "error": "error"}
_STATES = {True: "ok", False: "failed"}


def utf8_size(text: str | None) -> int:
    """How many bytes `text` is as UTF-8; 0 for none."""
    if text is None:
        return 0
    return len(text) if text.isascii() else len(text.encode())


def continues(before: Entry, entry: Entry) -> bool:
    """Whether the ids say that `entry` is the next piece of the message that `before` began."""
    if not before.kind == entry.kind == "assistant":
        return False
    if before.source_message_id != entry.source_message_id:
        return False
    split = _SPLIT_ID(before.source_line_id or "")
    if split is None:
        return False
    message, number = split.groups()
    return entry.source_line_id in (message, f"{message}-split-{int(number) + 1}")


class Parts:
    """Tells of entries, given in their order, which belong to the part before them."""

    def __init__(self) -> None:
        self._before: Entry | None = None
        self._chars = 0

    def joins(self, entry: Entry) -> bool:
        """Whether `entry` goes on the part of the entry given before it."""
        chars = len(entry.text or "")
        before, self._before = self._before, entry
        joined = self._chars + chars
        if before and joined <= TEXT_PREVIEW_CHARS and continues(before, entry):
            self._chars = joined
            return True
        self._chars = chars
        return False


def turns(entries: Iterable[Entry], history_id: str) -> list[dict[str, Any]]:
    """The turns of `entries`, as in the page JSON."""
    found: list[dict[str, Any]] = []
    parts = Parts()
    pieces: list[str] = []
    for entry in entries:
        if parts.joins(entry):
            pieces.append(entry.text or "")
            found[-1]["end_ts"] = entry.captured_at
            continue
        _finish(found, pieces)
        role = "user" if entry.kind == "user" else "assistant"
        if role == "user" or not found or found[-1]["role"] == "user":
            found.append(
                {
                    "role": role,
                    "ts": entry.captured_at,
                    "end_ts": entry.captured_at,
                    "offset": entry.offset,
                    "parts": [],
                }
            )
        turn = found[-1]
        turn["end_ts"] = entry.captured_at
        turn["parts"].append(_part(entry, f"at:{history_id}:{entry.offset}"))
        pieces = [turn["parts"][-1].get("text", "")]
    _finish(found, pieces)
    return found


def _finish(found: list[dict[str, Any]], pieces: list[str]) -> None:
    if len(pieces) > 1:
        found[-1]["parts"][-1]["text"] = "".join(pieces)


def _part(entry: Entry, ref: str) -> dict[str, Any]:
    if entry.kind == "tool_call":
        return {
            "kind": "tool",
            "ref": ref,
            "id": entry.source_line_id,
            "name": entry.name,
            "state": _state(entry),
            "input": entry.args_text and entry.args_text[:TOOL_PREVIEW_CHARS],
            "input_size": utf8_size(entry.args_text),
            "output": entry.result_text and entry.result_text[:TOOL_PREVIEW_CHARS],
            "output_size": utf8_size(entry.result_text),
        }
    text = entry.text or ""
    part: dict[str, Any] = {"kind": _PART_KINDS[entry.kind], "text": text[:TEXT_PREVIEW_CHARS]}
    if len(text) > TEXT_PREVIEW_CHARS:
        part["ref"] = ref
        part["size"] = utf8_size(text)
    return part


def _state(entry: Entry) -> str:
    if entry.result_ok is not None:
        return _STATES[entry.result_ok]
    return "unfinished" if entry.result_text is None else "unknown"


def to_json(page: dict[str, Any]) -> bytes:
    """A page as it goes out."""
    return json.dumps(page, ensure_ascii=False, separators=(",", ":")).encode()
