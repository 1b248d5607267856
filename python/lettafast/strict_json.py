"""JSON as `JSON.stringify` writes it, and nothing beyond: what could mean two things is refused."""

from __future__ import annotations

import json
import re
from typing import Any

_LONE_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
"""What may be one: whole pairs are written so too."""
_LONGEST_NUMBER = 400
"""Digits. Older Pythons take time that grows with the square of a number's length."""
_BEGUN = re.compile(r"\s*|t|tr|tru|f|fa|fal|fals|n|nu|nul|-|\.|[eE][+-]?|\\?u[0-9a-fA-F]{0,4}")
"""What stands where the parser stopped, when a text ends within something."""


def parse(text: bytes, *, lone_surrogates: bool = False) -> Any:
    """The value; `ValueError` where the text is no UTF-8, no JSON, too deep or repeats a key.

    A string that is no Unicode text, which JavaScript can write as half of a
    pair, is refused too unless `lone_surrogates`.
    """
    try:
        said = json.loads(
            text.decode("utf-8"),
            object_pairs_hook=_object,
            parse_constant=_no_constant,
            parse_int=_integer,
        )
        if not lone_surrogates and _LONE_SURROGATE.search(text):
            json.dumps(said, ensure_ascii=False).encode("utf-8")
    except RecursionError:
        raise ValueError("too deep") from None
    except UnicodeEncodeError:
        raise ValueError("half a surrogate pair is no text") from None
    return said


def is_cut_off(error: ValueError) -> bool:
    """Whether what `parse` refused may only lack its end: an empty text does."""
    if isinstance(error, UnicodeDecodeError):
        return error.end == len(error.object) and error.reason == "unexpected end of data"
    if not isinstance(error, json.JSONDecodeError):
        return False
    if error.msg.startswith("Unterminated string"):
        return True
    return _BEGUN.fullmatch(error.doc, error.pos) is not None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is there twice")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _integer(digits: str) -> int:
    if len(digits) > _LONGEST_NUMBER:
        raise ValueError("a number is too long")
    return int(digits)
