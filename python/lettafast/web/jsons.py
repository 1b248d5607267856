"""Values as JSON bytes."""

from __future__ import annotations

import json
from typing import Any

from lettafast.visible import file_name


def to_json(value: Any) -> bytes:
    r"""`value` as JSON in UTF-8; bytes of names that are no UTF-8 become `\xNN`."""
    return json.dumps(clean(value), ensure_ascii=False, separators=(",", ":")).encode()


def clean(value: Any) -> Any:
    """`value` with every text in it as `file_name` gives it."""
    if isinstance(value, str):
        return value if value.isascii() else file_name(value)
    if isinstance(value, dict):
        return {name: clean(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [clean(inner) for inner in value]
    return value
