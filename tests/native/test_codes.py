"""The numbers of the C ABI: `docs/ABI.md`, the Rust core and the binding say the same."""

import pathlib
import re

from lettafast import _native, errors

ROOT = pathlib.Path(__file__).parents[2]
ENUMS = {
    "SourceReason": _native.SOURCE,
    "RefusedReason": _native.REFUSED,
    "HistoryReason": _native.HISTORY,
    "CursorReason": _native.CURSOR,
    "RefReason": _native.REF,
}


def snake(name: str) -> str:
    return re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower()


def test_rust_and_the_binding_agree() -> None:
    source = (ROOT / "rust/core/src/error.rs").read_text()
    for enum, table in ENUMS.items():
        body = re.search(rf"pub enum {enum} \{{(.*?)\n\}}", source, re.DOTALL)
        assert body, enum
        found = {int(code): snake(name) for name, code in re.findall(r"(\w+) = (\d+)", body[1])}
        assert found == {code: str(reason) for code, reason in table.items()}, enum
        assert len(found) == len(set(found.values()))


def test_the_page_agrees() -> None:
    page = (ROOT / "docs/ABI.md").read_text()
    rows = re.findall(r"^\| (\d+) to (\d+) \| `(\w+)` \| (.*) \|$", page, re.MULTILINE)
    said = {}
    for first, last, _, reasons in rows:
        names = re.findall(r"`(\w+)`", reasons)
        codes = range(int(first), int(last) + 1)
        assert len(codes) == len(names)
        said.update(zip(codes, names, strict=True))
    assert said == {code: str(reason) for table in ENUMS.values() for code, reason in table.items()}


def test_every_reason_has_a_number() -> None:
    # These two are only the API's: a limit out of bounds, an offset that begins no row.
    ours = {errors.CursorReason.LIMIT, errors.CursorReason.NOT_A_ROW}
    for enum, table in ENUMS.items():
        assert set(getattr(errors, enum)) - ours == set(table.values()), enum


def test_the_other_codes() -> None:
    library = (ROOT / "rust/ffi/src/lib.rs").read_text()
    assert f"const PANIC: i32 = {_native.PANIC};" in library
    assert f"const NO_SUCH_ISA: i32 = {_native.NO_SUCH_ISA};" in library
    assert f"const ABI: u32 = {_native.ABI};" in library
    assert f"=> {_native.RANGE}," in (ROOT / "rust/core/src/error.rs").read_text()
