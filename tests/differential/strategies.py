"""Hypothesis's own way to the same transcripts: small pieces, so that what fails shrinks well."""

from __future__ import annotations

from hypothesis import strategies as st

SPACE = st.sampled_from(["", "", "", " ", "\t", "\r", " \t\r"])
# Pieces of a JSON string as they are written, in every form that there is.
PIECES = st.sampled_from(
    [
        *["", "a", "x", "0", " ", "/", "[", "{", "\x7f", "\x85", "\u00e9", "\u20ac", "\u2028"],
        *["\ufeff", "\uffff", "\U00010000", "\U0001f600", "\U0010ffff", "\ufffd"],
        *[r"\"", r"\\", r"\/", r"\b", r"\f", r"\n", r"\r", r"\t", r"\u0000", r"\u001f", r"\u0041"],
        *[r"\u00e9", r"\u00E9", r"\u2028", r"\uFFFF", r"\ud83d\ude00", r"\uD800\uDC00"],
        *[r"\ud83d", r"\ude00", r"\udfff", r"\ud800"],
    ]
)
STRINGS = st.lists(PIECES, max_size=8).map(lambda pieces: '"' + "".join(pieces) + '"')
LINE_IDS = st.sampled_from(
    ['"m"', '"m-split-0"', '"m-split-1"', '"\\u006d-split-2"', '"n-split-9"', '"call-1"', '""']
)
TIMES = st.sampled_from(
    ['"2026-09-01T00:00:00.000Z"', '"0000-02-29T23:59:59.999Z"', '"2024-02-29T\\u00300:00:00.000Z"']
)
BOOLEANS = st.sampled_from(["true", "false"])
KINDS = ["user", "assistant", "reasoning", "error", "tool_call"]
ANYTHING = st.recursive(
    STRINGS | st.sampled_from(["null", "true", "false", "0", "-1.5e+9", "[]", "{}"]),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda values: "[" + ", ".join(values) + "]")
        | st.lists(st.tuples(STRINGS, inner), max_size=2).map(
            lambda pairs: "{" + ",".join(f"{name} :{value}" for name, value in pairs) + "}"
        )
    ),
    max_leaves=6,
)
NAMES = st.sampled_from(
    [
        *['"text"', '"kind"', '"captured_at"', '"name"', '"argsText"', '"resultText"'],
        *['"resultOk"', '"source_line_id"', '"model"', '"Text"', '""', '"te\\u0078t"', '"\\ud83d"'],
    ]
)


def _value(name: str) -> st.SearchStrategy[str]:
    if name == "captured_at":
        return TIMES
    if name == "resultOk":
        return BOOLEANS
    return LINE_IDS | STRINGS if name.startswith("source_") else STRINGS


@st.composite
def members(draw: st.DrawFn) -> list[tuple[str, str]]:
    """Names and values, both as they are written, of a row that strict accepts."""
    kind = draw(st.sampled_from(KINDS))
    names = ["source_line_id", "source_message_id"]
    if kind == "tool_call":
        names += ["name", "argsText", "resultText", "resultOk"]
    kept = draw(st.lists(st.sampled_from(names), unique=True))
    required = ["captured_at"] if kind == "tool_call" else ["captured_at", "text"]
    found = [("kind", f'"{kind}"'), *((name, draw(_value(name))) for name in required + kept)]
    order = draw(st.permutations(found))
    return [(f'"{name}"', value) for name, value in order]


@st.composite
def rows(draw: st.DrawFn, *, drifted: bool = False) -> bytes:
    """A row without its LF; where it may be `drifted`, with members that do not belong."""
    written = list(draw(members()))
    if drifted:
        for pair in draw(st.lists(st.tuples(NAMES, ANYTHING), max_size=3)):
            written.insert(draw(st.integers(0, len(written))), pair)
        if draw(st.booleans()):
            written.pop(draw(st.integers(0, len(written) - 1)))
    space = draw(SPACE)
    inner = ",".join(f"{space}{name}{space}:{space}{value}{space}" for name, value in written)
    return f"{space}{{{inner}}}{space}".encode()


@st.composite
def transcripts(draw: st.DrawFn, *, drifted: bool = False) -> bytes:
    """Some rows, and sometimes a part of one more."""
    lines = draw(st.lists(rows(drifted=drifted), max_size=6))
    torn = draw(st.just(b"") | rows())
    return b"".join(line + b"\n" for line in lines) + torn[: draw(st.integers(0, len(torn)))]


NOISE = st.sampled_from(
    [
        *(bytes([byte]) for byte in b'\0\x01\t\n\r "\\{}[],:/u0x\x7f\x80\xbf\xc0\xc3\xff'),
        *(b"\xe2\x82", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xf0\x9f", b"\xf4\x90\x80\x80"),
        *(b"\\u", b"\\ud83d", b"null", b"true", b"-1", b"1e5", b"[[[[", b"\n\n", b"\0\0\n"),
        *(b'"text":', b'"kind":"user"', b',"model":[1]', b'"captured_at":', b'"name"', b'"hi"'),
    ]
)


# What stands before the first row: a BOM, NULs, white space and line ends in every order.
STARTS = st.lists(st.sampled_from([b"\xef\xbb\xbf", b"\0\0", b" ", b"\r", b"\n"]), max_size=4).map(
    b"".join
)


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A transcript with some of its bytes removed, changed, doubled, or others put between."""
    data = bytearray(draw(STARTS) + draw(transcripts(drifted=draw(st.booleans()))))
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(data)))
        how = draw(st.sampled_from(["insert", "remove", "change", "double", "cut"]))
        if how == "insert":
            data[at:at] = draw(NOISE)
        elif how == "remove":
            del data[at : at + draw(st.sampled_from([1, 2, 5, 40]))]
        elif how == "change":
            data[at : at + 1] = bytes([draw(st.integers(0, 255))])
        elif how == "double":
            data[at:at] = data[at : at + draw(st.sampled_from([1, 3, 20, 100]))]
        else:
            del data[at:]
    return bytes(data)
