"""`include/lettafast.h` says what the built library has: each struct and each function."""

import pathlib
import re

import cffi
import pytest

import lettafast
from lettafast import _native

HEADER = pathlib.Path(__file__).parents[2] / "include" / "lettafast.h"
STRUCTS = (
    "lettafast_options",
    "lettafast_error",
    "lettafast_summary_t",
    "lettafast_view",
    "lettafast_text",
)


@pytest.fixture(scope="module")
def documented() -> cffi.FFI:
    ffi = cffi.FFI()
    # cffi parses declarations, no directives.
    ffi.cdef(re.sub(r"^#.*$", "", HEADER.read_text(), flags=re.MULTILINE))
    return ffi


def test_the_functions_are_the_same(documented) -> None:
    names = set(re.findall(r"\b(lettafast_\w+)\(", HEADER.read_text()))
    assert names == {name for name in dir(_native.lib) if name.startswith("lettafast_")}
    (path,) = (pathlib.Path(lettafast.__file__).parent / "_native_lib").glob("*_native_lib*")
    library = documented.dlopen(str(path))
    for name in names:
        built = _native.ffi.typeof(getattr(_native.lib, name)).cname
        said = documented.typeof(getattr(library, name)).cname
        assert built.replace("struct ", "") == said.replace("struct ", ""), name


@pytest.mark.parametrize("struct", STRUCTS)
def test_the_structs_are_the_same(documented, struct: str) -> None:
    built, said = _native.ffi.typeof(struct), documented.typeof(struct)
    assert _native.ffi.sizeof(struct) == documented.sizeof(struct)
    layouts = [
        [(name, field.offset, field.type.cname) for name, field in kind.fields]
        for kind in (built, said)
    ]
    assert layouts[0] == layouts[1]
