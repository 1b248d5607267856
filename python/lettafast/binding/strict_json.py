"""JSON as `JSON.stringify` writes it, and nothing beyond: what could mean two things is refused."""

from __future__ import annotations

import json
import re
from typing import Any

_MARKS = re.compile(rb'\\.|["{}\[\]]', re.DOTALL)


def parse(text: bytes) -> Any:
    """The value; `ValueError` where the text is no UTF-8, no JSON, too deep or repeats a key."""
    try:
        return json.loads(
            text.decode("utf-8"), object_pairs_hook=_object, parse_constant=_no_constant
        )
    except RecursionError:
        raise ValueError("too deep") from None


def is_cut_off(text: bytes) -> bool:
    """Whether more has to follow: nothing is there yet, or something is still open."""
    depth = 0
    quoted = False
    for found in _MARKS.finditer(text):
        mark = found[0]
        if mark == b'"':
            quoted = not quoted
        elif not quoted:
            depth += (mark in b"{[") - (mark in b"}]")
    return quoted or depth > 0 or not text.strip()


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is there twice")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")
