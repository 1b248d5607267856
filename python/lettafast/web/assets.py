"""The files that every page uses: one style sheet, one module, one icon."""

from __future__ import annotations

import functools
import hashlib
import pathlib

FOLDER = pathlib.Path(__file__).parent / "static"


@functools.cache
def static_url(name: str) -> str:
    """Where `static/<name>` is served; the address changes with its bytes, so it may be kept."""
    digest = hashlib.sha256((FOLDER / name).read_bytes()).hexdigest()
    return f"/static/{name}?v={digest[:16]}"
