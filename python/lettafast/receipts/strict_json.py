"""JSON of which there is one reading only: what two parsers could read differently is refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import rfc8785

from lettafast.strict_json import parse as parse_bytes


def parse(text: str) -> Any:
    """The value; `ValueError` where the text is no strict JSON (a key twice, NaN, too deep)."""
    try:
        encoded = text.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError("half a surrogate pair is no text") from None
    return parse_bytes(encoded, lone_surrogates=True)


def parse_object(text: str) -> dict[str, Any]:
    """As `parse`, and it must be an object."""
    value = parse(text)
    if not isinstance(value, dict):
        raise ValueError("no JSON object")  # noqa: TRY004 - all that is wrong with a text
    return value


def canonical(value: Any) -> bytes:
    """RFC 8785's bytes; `ValueError` for what has none: 2**53 and beyond, half a surrogate pair."""
    try:
        return rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, RecursionError, UnicodeError, OverflowError) as error:
        raise ValueError(f"no canonical form: {error}") from None


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values are the same; what has no canonical form is the same as nothing."""
    try:
        return canonical(one) == canonical(other)
    except ValueError:
        return False


def strings_in(value: Any) -> Iterator[str]:
    """All strings of a JSON value, names too."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            waiting += [*one.keys(), *one.values()]
        elif isinstance(one, list):
            waiting += one
        elif isinstance(one, str):
            yield one
