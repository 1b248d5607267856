"""`unsafe` stands only in the files that `docs/SAFETY.md` names."""

import pathlib
import re

ROOT = pathlib.Path(__file__).parents[2]


def test_unsafe_stands_where_the_page_says() -> None:
    page = (ROOT / "docs/SAFETY.md").read_text()
    rows = re.findall(r"^\| (`rust/.*?) \|", page, re.MULTILINE)
    named = set()
    for row in rows:
        first, *others = re.findall(r"`([\w/.]+)`", row)
        named |= {first, *(str(pathlib.Path(first).parent / other) for other in others)}
    found = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "rust").rglob("*.rs")
        if re.search(r"\bunsafe\b(?!_)", re.sub(r"//.*", "", path.read_text()))
    }
    assert named == found, "the page and the sources name the same files"
