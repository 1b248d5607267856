"""The native backend is the native one: its library is in this process, and does the reading."""

from __future__ import annotations

import sys

import pytest

from lettafast import _backend
from support import load, run_python, user


@pytest.fixture
def native() -> _backend.Backend:
    return load("native")


def test_the_native_backend_says_so(native) -> None:
    assert native.name == "native"
    assert type(native).__module__ == "lettafast._native"
    assert load("pure").name == "pure"


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/self/maps")
def test_its_library_is_mapped(native, desk) -> None:
    with open("/proc/self/maps") as file:
        mapped = [line for line in file if "r-xp" in line]
    assert [line for line in mapped if "lettafast" in line and ".so" in line]


def test_it_reads_without_the_pure_backend(native, desk) -> None:
    """In a process of its own, which never loads the pure backend nor Python's `json` for rows."""
    desk.path.write_bytes(user("\ud83d"))
    said = run_python(
        """
import json, sys
import lettafast
with lettafast.open_transcript(sys.argv[1]) as transcript:
    page = transcript.page()
print(json.dumps({
    "backend": lettafast.backend,
    "text": page.turns[0].parts[0].text,
    "pure": [name for name in sys.modules if name.startswith("lettafast._pure")],
}))
""",
        str(desk.path),
        LETTAFAST_BACKEND="native",
    )
    assert said == {"backend": "native", "text": "\ufffd", "pure": []}


NOT_LOADABLE = """
import json, sys
sys.modules["lettafast._native_lib"] = None
import lettafast
try:
    said = lettafast.backend
except lettafast.BackendError as error:
    said = [str(error.reason), error.exit_code, isinstance(error, ImportError)]
print(json.dumps(said))
"""


def test_auto_falls_back_and_says_so() -> None:
    assert run_python(NOT_LOADABLE, LETTAFAST_BACKEND="auto") == "pure"
    assert run_python(NOT_LOADABLE, LETTAFAST_BACKEND="") == "pure"


def test_native_that_was_asked_for_is_never_pure() -> None:
    assert run_python(NOT_LOADABLE, LETTAFAST_BACKEND="native") == ["not_loadable", 2, True]


def test_auto_takes_native_where_it_can(native) -> None:
    code = "import json, lettafast; print(json.dumps(lettafast.backend))"
    assert run_python(code, LETTAFAST_BACKEND="auto") == "native"


def test_pure_does_not_load_the_library() -> None:
    said = run_python(
        """
import json, sys
import lettafast
with open("/proc/self/maps") as file:
    maps = file.read()
print(json.dumps({
    "backend": lettafast.backend,
    "native": [name for name in sys.modules if "_native" in name or name in ("cffi", "orjson")],
}))
""",
        LETTAFAST_BACKEND="pure",
    )
    assert said == {"backend": "pure", "native": []}
