"""What a request's query says, checked."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Literal

from starlette.requests import Request

from lettafast.errors import CursorError, CursorReason
from lettafast.records import PAGE_LIMIT, ContentPart, Mode

from .problems import Problem

_NUMBER = re.compile("[0-9]{1,19}")
_PARTS: dict[str, ContentPart] = {"text": "text", "input": "input", "output": "output"}
_MODES: dict[str, Mode] = {"strict": "strict", "lenient": "lenient"}


class Query:
    """The parameters of one request. Raises `Problem` for what is no query of the route.

    A page's own address may hold others, which are for its script; a route of the
    API knows `names` only.
    """

    def __init__(
        self, request: Request, *names: str, repeated: Literal["watch"] | None = None
    ) -> None:
        self._values: dict[str, str] = {}
        self.repeated: list[str] = []
        strict = request.scope["path"].startswith("/api/")
        for name, value in request.query_params.multi_items():
            if name == repeated:
                self.repeated.append(value)
            elif strict and name not in names:
                raise _wrong(f"no such parameter: `{name}`")
            elif name in names and name in self._values:
                raise _wrong(f"`{name}` is given twice")
            else:
                self._values[name] = value

    def text(self, name: str) -> str | None:
        """A value as it is."""
        return self._values.get(name)

    def needed(self, name: str) -> str:
        """A value that must be there."""
        value = self.text(name)
        if value is None:
            raise _wrong(f"`{name}` is missing")
        return value

    def number(self, name: str, default: int) -> int:
        """A whole number that is not negative."""
        value = self.text(name)
        if value is None:
            return default
        if not _NUMBER.fullmatch(value):
            raise _wrong(f"`{name}` is a whole number, not negative")
        return int(value)

    def limit(self) -> int:
        """Units of a page; the reader judges the bounds. Raises `CursorError`."""
        value = self.text("limit")
        if value is not None and not _NUMBER.fullmatch(value):
            raise CursorError(CursorReason.LIMIT)
        return PAGE_LIMIT if value is None else int(value)

    def mode(self) -> Mode:
        """How to read."""
        mode = _MODES.get(self._values.get("mode", "strict"))
        if mode is None:
            raise _wrong("`mode` is `strict` or `lenient`")
        return mode

    def part(self) -> ContentPart:
        """Which text of an entry."""
        part = _PARTS.get(self.needed("part"))
        if part is None:
            raise _wrong("`part` is `text`, `input` or `output`")
        return part

    def place(self) -> tuple[str | None, str | None]:
        """`before` and `after`, of which one at most is given."""
        before, after = self.text("before"), self.text("after")
        if before is not None and after is not None:
            raise _wrong("`before` and `after` exclude each other")
        return before, after


def _wrong(detail: str) -> Problem:
    return Problem(HTTPStatus.BAD_REQUEST, "query", detail)
