"""What a transcript holds and what its pages are, worked out in the plainest way.

Every line is parsed with Python's `json`, everything is kept in memory, and nothing of
lettafast runs here: the tests compare both backends with this. It trusts its input: give
it lines that strict accepts, and name the lines that lenient skips.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

KINDS = ("user", "assistant", "reasoning", "error", "tool_call")
TOOL_PREVIEW = 4_000
TEXT_PREVIEW = 1_048_576
RANGE = 1_048_576
SPLIT = re.compile(r"(.*)-split-(0|[1-9][0-9]{0,8})", re.DOTALL)


@dataclass
class Row:
    """One row: its line is bytes `offset` to `end`, the LF included."""

    offset: int
    end: int
    members: dict[str, Any]
    replaced: int

    @property
    def kind(self) -> str:
        return self.members["kind"]

    def get(self, name: str) -> Any:
        return self.members.get(name)


def without_surrogates(text: str) -> tuple[str, int]:
    """`text` with U+FFFD for each lone surrogate, and how many there were."""
    lone = sum(0xD800 <= ord(char) <= 0xDFFF for char in text)
    return re.sub("[\ud800-\udfff]", "\ufffd", text), lone


def parse(data: bytes, skipped: Collection[int] = ()) -> list[Row]:
    """The rows of `data`; `skipped` are offsets of lines that hold none."""
    rows = []
    offset = 0
    for line in data.split(b"\n")[:-1]:
        end = offset + len(line) + 1
        if offset not in skipped:
            members, replaced = {}, 0
            for name, value in json.loads(line).items():
                if isinstance(value, str):
                    members[name], lone = without_surrogates(value)
                    replaced += lone
                else:
                    members[name] = value
            rows.append(Row(offset, end, members, replaced))
        offset = end
    return rows


def _parts(rows: list[Row]) -> list[list[Row]]:
    """The parts that some rows in a row make, read forward from the first of them."""
    parts: list[list[Row]] = []
    chars = 0
    for row in rows:
        chars += len(row.get("text") or "")
        if parts and _continues(parts[-1][-1], row) and chars <= TEXT_PREVIEW:
            parts[-1].append(row)
        else:
            parts.append([row])
            chars = len(row.get("text") or "")
    return parts


def _continues(before: Row, row: Row) -> bool:
    if before.kind != "assistant" or row.kind != "assistant":
        return False
    if before.get("source_message_id") != row.get("source_message_id"):
        return False
    split = SPLIT.fullmatch(before.get("source_line_id") or "")
    if split is None:
        return False
    stem, number = split[1], int(split[2])
    return row.get("source_line_id") in (stem, f"{stem}-split-{number + 1}")


def dumps(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


class Oracle:
    """The answers for one state of a file."""

    def __init__(
        self,
        data: bytes,
        dev: int,
        ino: int,
        *,
        skipped: Collection[int] = (),
        diagnostics_total: int = 0,
        reopened: int = 0,
        max_page_bytes: int = 16 << 20,
    ) -> None:
        self.data = data
        self.end = data.rfind(b"\n") + 1
        self.rows = parse(data[: self.end], skipped)
        self.diagnostics_total = diagnostics_total
        self.max_page_bytes = max_page_bytes
        self.history_id = None
        if self.rows:
            first = data[: min(4096, data.index(b"\n") + 1)]
            digest = hashlib.sha256(f"{dev}:{ino}:".encode() + first).hexdigest()
            self.history_id = f"v1-{digest[:16]}" + (f".{reopened}" if reopened else "")

    def entries(self) -> list[dict[str, Any]]:
        return [
            {
                "offset": row.offset,
                "kind": row.kind,
                "captured_at": row.get("captured_at"),
                "text": row.get("text"),
                "name": row.get("name"),
                "args_text": row.get("argsText"),
                "result_text": row.get("resultText"),
                "result_ok": row.get("resultOk"),
                "source_line_id": row.get("source_line_id"),
                "source_message_id": row.get("source_message_id"),
                "replaced_surrogates": row.replaced,
            }
            for row in self.rows
        ]

    def summary(self) -> dict[str, Any]:
        kinds = {kind: sum(row.kind == kind for row in self.rows) for kind in KINDS}
        return {
            "entries": len(self.rows),
            "user_entries": kinds["user"],
            "turns": len(list(_runs(self.rows))),
            "kinds": kinds,
            "bytes": len(self.data),
            "tail_bytes": len(self.data) - self.end,
            "replaced_surrogates": sum(row.replaced for row in self.rows),
        }

    def page(self, before: int | None = None, limit: int = 50) -> dict[str, Any]:
        end = self.end if before is None else before
        rows = [row for row in self.rows if row.offset < end]
        units = list(_units(rows))
        starts = [unit[0].offset for unit in units]
        sizes = [stop - start for start, stop in zip(starts, [*starts[1:], end], strict=False)]
        taken, size = 0, 0
        while taken < min(limit, len(units)):
            more = sizes[-taken - 1]
            if taken and size + more > self.max_page_bytes:
                break
            taken, size = taken + 1, size + more
        shown = [row for unit in units[len(units) - taken :] for row in unit]
        if taken == 1 and size > self.max_page_bytes:
            shown = self._cut(shown, end)
        return self._page(shown, before)

    def appended(self, start: int) -> tuple[dict[str, Any], int]:
        """The page of the rows from byte `start` on, and where it ends."""
        rows = [row for row in self.rows if row.offset >= start]
        fitting = [row for row in rows if row.end - start <= self.max_page_bytes]
        shown = rows[: max(1, len(fitting))]
        for part in _parts(rows)[1:]:
            if part[0] in shown and part[-1] not in shown:
                shown = shown[: shown.index(part[0])]
        rest = rows[len(shown) :]
        return self._page(shown, None), rest[0].offset if rest else self.end

    def content(self, row: Row, part: str, start: int, length: int) -> dict[str, Any] | None:
        """A range of one text; None where `start` is above its size."""
        name = {"text": "text", "input": "argsText", "output": "resultText"}[part]
        text = (row.get(name) or "").encode()
        if start > len(text):
            return None
        end = min(len(text), start + min(length, RANGE))
        while start and not _boundary(text, start):
            start -= 1
        if length == 0:
            end = start
        while not _boundary(text, end):
            end += 1
        return {"text": text[start:end].decode(), "start": start, "end": end, "size": len(text)}

    def _cut(self, unit: list[Row], end: int) -> list[Row]:
        fitting = [row for row in unit if end - row.offset <= self.max_page_bytes]
        first = fitting[0] if fitting else unit[-1]
        number, part = next(found for found in enumerate(_parts(unit)) if first in found[1])
        if first is not part[0] and part[-1].end - part[0].offset <= self.max_page_bytes:
            after = _parts(unit)[number + 1 :]
            first = after[0][0] if after else part[0]
        return unit[unit.index(first) :]

    def _page(self, shown: list[Row], before: int | None) -> dict[str, Any]:
        cursor = older = None
        if shown:
            cursor = f"{self.history_id}:{shown[0].offset}"
        elif before is not None:
            cursor = f"{self.history_id}:{before}"
        starts = ends = False
        if shown:
            first, last = self.rows.index(shown[0]), self.rows.index(shown[-1])
            around = [*self.rows, None]
            starts = _same_turn(around[first - 1], around[first])
            ends = _same_turn(around[last], around[last + 1])
            older = cursor if first else None
        return {
            "v": 1,
            "source": "letta-transcript",
            "state": "ok" if self.rows else "empty",
            "history_id": self.history_id,
            "cursor": cursor,
            "older": older,
            "starts_mid_turn": starts,
            "ends_mid_turn": ends,
            "replaced_surrogates": sum(row.replaced for row in shown),
            "tail_bytes": len(self.data) - self.end if before is None else None,
            "diagnostics_total": self.diagnostics_total if before is None else None,
            "turns": [self._turn(run) for run in _runs(shown)],
        }

    def _turn(self, run: list[Row]) -> dict[str, Any]:
        return {
            "role": "user" if run[0].kind == "user" else "assistant",
            "ts": run[0].get("captured_at"),
            "end_ts": run[-1].get("captured_at"),
            "offset": run[0].offset,
            "parts": [self._part(rows) for rows in _parts(run)],
        }

    def _part(self, rows: list[Row]) -> dict[str, Any]:
        first = rows[0]
        ref = f"at:{self.history_id}:{first.offset}"
        if first.kind == "tool_call":
            ok, output = first.get("resultOk"), first.get("resultText")
            absent = "unfinished" if output is None else "unknown"
            return {
                "kind": "tool",
                "ref": ref,
                "id": first.get("source_line_id"),
                "name": first.get("name"),
                "state": {True: "ok", False: "failed", None: absent}[ok],
                "input": _preview(first.get("argsText"), TOOL_PREVIEW),
                "input_size": _size(first.get("argsText")),
                "output": _preview(output, TOOL_PREVIEW),
                "output_size": _size(output),
            }
        kind = {"reasoning": "thinking", "error": "error"}.get(first.kind, "text")
        text = "".join(row.get("text") for row in rows)
        part = {"kind": kind, "text": _preview(text, TEXT_PREVIEW)}
        if part["text"] != text:
            part |= {"ref": ref, "size": _size(text)}
        return part


def _units(rows: list[Row]) -> Iterator[list[Row]]:
    unit: list[Row] = []
    for row in rows:
        if row.kind == "user" and unit:
            yield unit
            unit = []
        unit.append(row)
    if unit:
        yield unit


def _runs(rows: list[Row]) -> Iterator[list[Row]]:
    """Turns: a user row, or the rows between two of them."""
    run: list[Row] = []
    for row in rows:
        if run and not _same_turn(run[-1], row):
            yield run
            run = []
        run.append(row)
    if run:
        yield run


def _same_turn(one: Row | None, other: Row | None) -> bool:
    return None not in (one, other) and "user" not in (one.kind, other.kind)


def _preview(text: str | None, chars: int) -> str | None:
    return None if text is None else text[:chars]


def _size(text: str | None) -> int:
    return len((text or "").encode())


def _boundary(text: bytes, at: int) -> bool:
    return at == len(text) or text[at] & 0xC0 != 0x80
