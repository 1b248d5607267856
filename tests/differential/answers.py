"""All that one backend says of one file, as values that can be compared."""

from __future__ import annotations

import contextlib
import json
import os
import re
from typing import Any
from unittest import mock

import pytest

from lettafast import CursorError, HistoryChanged, Limits, RefError, TranscriptRefused
from support import as_dict, instructions, load

FAULT = ("reason", "line", "line_offset", "offset", "field", "excerpt")


def backends() -> dict[str, Any]:
    """Both backends; only the pure one where that was allowed (see `support.load`)."""
    found = {"pure": load("pure")}
    with contextlib.suppress(pytest.skip.Exception):
        native = load("native")
        found |= {f"native {name}": Instructed(native, name) for name in instructions()}
    return found


class Instructed:
    """The native backend, told which instructions its scan must use."""

    def __init__(self, native: Any, name: str) -> None:
        self._native = native
        self._environ = {"LETTAFAST_SIMD": name}

    def open(self, *arguments: Any) -> Any:
        with mock.patch.dict(os.environ, self._environ):
            return self._native.open(*arguments)


def attempt(call: Any) -> Any:
    """What the call gives, or what it raises."""
    try:
        return call()
    except TranscriptRefused as error:
        return ["refused", *(getattr(error, name) for name in FAULT)]
    except (CursorError, RefError, HistoryChanged) as error:
        return [type(error).__name__, str(error.reason)]
    except ValueError as error:
        return ["ValueError", str(error)]


class Reader:
    """One backend's handle on one file."""

    def __init__(self, backend: Any, path: str, mode: str, limits: Limits) -> None:
        root, name = os.path.split(path)
        self.handle = backend.open(root, name, path, mode, limits)
        self.mode = mode

    def close(self) -> None:
        self.handle.close()

    def entries(self, start: int = 0, end: int | None = None) -> list[dict[str, Any]]:
        found = []
        end = self.handle.validated() if end is None else end
        while start < end:
            batch, start = self.handle.entries(start, end)
            found += map(as_dict, batch)
        return found

    def state(self) -> dict[str, Any]:
        """Everything but pages."""
        return {
            "validated": self.handle.validated(),
            "summary": self.handle.summary(),
            "diagnostics": list(map(as_dict, self.handle.diagnostics())),
            "diagnostics_total": self.handle.diagnostics_total(),
            "entries": self.entries(),
        }

    def pages(self, limit: int) -> list[bytes]:
        found, before = [], None
        while True:
            found.append(self.handle.page_json(before, limit))
            before = json.loads(found[-1])["older"]
            if before is None:
                return found

    def page_before(self, offset: int, limit: int) -> Any:
        history = json.loads(self.handle.page_json(None, 1))["history_id"]
        return attempt(lambda: self.handle.page_json(f"{history}:{offset}", limit))

    def appended(self, start: int) -> list[tuple[bytes, int]]:
        found, end = [], self.handle.validated()
        while start < end:
            data, start = self.handle.appended_json(start)
            found.append((data, start))
        return found

    def texts(self, start: int, length: int) -> list[Any]:
        """A range of every text, by ref and, for tools, by id."""
        history = json.loads(self.handle.page_json(None, 1))["history_id"]
        found = []
        for entry in self.entries():
            refs = [f"at:{history}:{entry['offset']}"]
            line_id = entry["source_line_id"] or ""
            if entry["kind"] == "tool_call" and re.fullmatch("[a-z0-9-]+", line_id):
                refs.append(line_id)
            found += [
                self._text(ref, part, start, length)
                for ref in refs
                for part in ("text", "input", "output")
            ]
        return found

    def _text(self, *arguments: Any) -> Any:
        return attempt(lambda: self.handle.content(*arguments))


def opened(backend: Any, path: str, mode: str, limits: Limits) -> Reader | list[Any]:
    return attempt(lambda: Reader(backend, path, mode, limits))


def everything(backend: Any, path: str, mode: str, limits: Limits, *, full: bool = True) -> Any:
    """All answers of one backend for one file, or its refusal."""
    reader = opened(backend, path, mode, limits)
    if isinstance(reader, list):
        return reader
    try:
        said = reader.state()
        said["newest"] = reader.handle.page_json(None, 50)
        if full:
            said["pages"] = reader.pages(2)
            said["appended"] = reader.appended(0)
            said["texts"] = reader.texts(1, 7)
            places = [entry["offset"] for entry in said["entries"]][1::3]
            said["before"] = [
                reader.page_before(offset, 3)
                for offset in (0, 1, *places, said["validated"], said["validated"] + 1)
            ]
        return said
    finally:
        reader.close()
