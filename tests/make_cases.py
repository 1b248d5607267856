"""Writes `fixtures/cases/`: pairs of an input and its expected answer, from the table below.

    python tests/make_cases.py

Nothing of lettafast runs here. A line is written by hand with `<|>` where a fault
lies, so offsets, lines and excerpts follow from the text, and what a good line says
is what Python's `json` makes of it. its README describes the pairs.
"""

from __future__ import annotations

import dataclasses
import json
import pathlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

HERE = pathlib.Path(__file__).parents[1] / "fixtures" / "cases"
MARK = b"<|>"
MEMBERS = {
    "kind": "kind",
    "captured_at": "captured_at",
    "text": "text",
    "name": "name",
    "args_text": "argsText",
    "result_text": "resultText",
    "result_ok": "resultOk",
    "source_line_id": "source_line_id",
    "source_message_id": "source_message_id",
}


Note = dict[str, Any]
"""A fault: its `reason`, where it is (`at`, from the line's first byte) and its `field`."""


@dataclass
class Line:
    """One line without its LF, and what each mode says of it."""

    raw: bytes
    strict: Note | None = None
    lenient: list[Note] = dataclasses.field(default_factory=list)
    """Fault or notes, in the order in which lenient gives them."""
    entry: bytes | None = None
    """A JSON text that says what lenient keeps of the line; None where it keeps nothing."""


def good(raw: bytes) -> Line:
    """A line that both modes take as it stands."""
    return Line(raw, entry=raw)


def bad(template: bytes, reason: str, field: str | None = None, entry: bytes | None = None) -> Line:
    """A line with one fault, at the mark; with `entry` lenient keeps what is left of it."""
    return noted(template, (reason, field), entry=entry)


def noted(
    template: bytes,
    *faults: tuple[str, str | None],
    entry: bytes | None = None,
    strict: int = 0,
) -> Line:
    """A line with a mark for each note of lenient; strict reports number `strict` of them."""
    raw, notes = _marked(template, faults)
    return Line(raw, notes[strict], notes, entry)


def apart(template: bytes, strict: tuple[str, str | None], lenient: tuple[str, str | None]) -> Line:
    """A bad line with two marks: strict reports the first, lenient only the second."""
    raw, (first, second) = _marked(template, (strict, lenient))
    return Line(raw, first, [second])


def _marked(
    template: bytes, faults: tuple[tuple[str, str | None], ...]
) -> tuple[bytes, list[Note]]:
    pieces = template.split(MARK)
    if len(pieces) != len(faults) + 1:
        raise ValueError(template)
    notes, at = [], 0
    for piece, (reason, field) in zip(pieces, faults, strict=False):
        at += len(piece)
        notes.append({"reason": reason, "at": at, "field": field})
    return b"".join(pieces), notes


def excerpt(line: bytes, at: int) -> str:
    """Forty bytes before `at` and forty from it, within the line."""
    shown = line[max(0, at - 40) : at + 40]
    return "".join(
        chr(byte) if 0x20 <= byte <= 0x7E and byte != 0x5C else f"\\x{byte:02x}" for byte in shown
    )


def entry_of(raw: bytes, offset: int) -> dict[str, Any]:
    """What Python's `json` says of a good line, with U+FFFD for each lone surrogate."""
    members = json.loads(raw)
    said: dict[str, Any] = {"offset": offset}
    replaced = 0
    for ours, theirs in MEMBERS.items():
        value = members.pop(theirs, None)
        if isinstance(value, str):
            lone = [char for char in value if 0xD800 <= ord(char) <= 0xDFFF]
            replaced += len(lone)
            value = "".join("\ufffd" if 0xD800 <= ord(char) <= 0xDFFF else char for char in value)
        said[ours] = value
    if members:
        raise ValueError(raw)
    said["replaced_surrogates"] = replaced
    return said


def answer(about: str, lines: list[Line], tail: bytes, max_line_bytes: int) -> tuple[bytes, Any]:
    """The input file and its expected answer."""
    data, entries, diagnostics, refused = b"", [], [], None
    for number, line in enumerate(lines, 1):

        def fault(
            note: Note, number: int = number, line: Line = line, start: int = len(data)
        ) -> dict[str, Any]:
            return {
                "reason": note["reason"],
                "line": number,
                "line_offset": start,
                "offset": start + note["at"],
                "field": note["field"],
                "excerpt": excerpt(line.raw, note["at"]),
            }

        if refused is None and line.strict is not None:
            refused = fault(line.strict)
        diagnostics += map(fault, line.lenient)
        if line.entry is not None:
            entries.append(entry_of(line.entry, len(data)))
        data += line.raw + b"\n"
    return data + tail, {
        "about": about,
        "max_line_bytes": max_line_bytes,
        "refused": refused,
        "entries": entries,
        "diagnostics": diagnostics,
        "tail_bytes": len(tail),
    }


CASES: dict[str, tuple[bytes, Any]] = {}


def case(
    name: str,
    about: str,
    *lines: Line,
    tail: bytes = b"",
    max_line_bytes: int = 64 << 20,
    refused: dict[str, Any] | None = None,
) -> None:
    """Adds a pair; `refused` only where strict refuses what lenient has no diagnostic for."""
    if name in CASES:
        raise ValueError(name)
    data, said = answer(about, list(lines), tail, max_line_bytes)
    if refused is not None:
        said["refused"] = refused
    CASES[name] = data, said


# The pieces that most lines are made of.
BOM = b"\xef\xbb\xbf"
TIME = b'"captured_at":"2026-09-01T00:00:00.000Z"'
TEXT = b'"text":"hi"'
U = b'{"kind":"user","text":"hi",' + TIME + b',"source_line_id":"user-1"}'
A = (
    b'{"kind":"assistant","text":"yo","captured_at":"2026-09-01T00:00:00.000Z",'
    b'"source_line_id":"letta-msg-1","source_message_id":"message-1"}'
)
T = (
    b'{"kind":"tool_call","name":"Bash","argsText":"{}","resultText":"out","resultOk":true,'
    b'"captured_at":"2026-09-01T00:00:00.000Z","source_line_id":"call-1"}'
)
PLAIN = b'{"kind":"user","text":"hi",' + TIME + b"}"
CALL = b'{"kind":"tool_call",' + TIME + b"}"


def user(*members: bytes) -> bytes:
    """A user row whose members after `kind` are these."""
    return b"{" + b",".join((b'"kind":"user"', *members)) + b"}"


def call(*members: bytes) -> bytes:
    """A tool call whose members after `kind` are these, then the time."""
    return b"{" + b",".join((b'"kind":"tool_call"', *members, TIME)) + b"}"


def said(text: bytes) -> bytes:
    """A user row whose text is this, written as it stands between the quotes."""
    return user(b'"text":"' + text + b'"', TIME)


def timed(value: bytes) -> bytes:
    """A user row whose time is this, with the mark before the value."""
    return user(TEXT, b'"captured_at":<|>"' + value + b'"')


def good_lines() -> None:
    """What both modes take."""
    case("ok-nothing", "no byte at all")
    case("ok-three-rows", "the three rows that a turn with a tool call has", *map(good, (U, T, A)))
    for kind in (b"user", b"assistant", b"reasoning", b"error"):
        row = b'{"kind":"' + kind + b'",' + TEXT + b"," + TIME + b"}"
        case(f"ok-{kind.decode()}-without-ids", "only what is required", good(row))
        row = row[:-1] + b',"source_line_id":"a","source_message_id":"b"}'
        case(f"ok-{kind.decode()}-with-ids", "both ids", good(row))
    case("ok-tool-bare", "a tool call needs only its kind and time", good(CALL))
    for name, members in {
        "no-result": (b'"name":"Bash"', b'"argsText":"{}"'),
        "result-without-ok": (b'"name":"Bash"', b'"resultText":"x"'),
        "ok-without-result": (b'"resultOk":true',),
        "failed-with-empty-result": (b'"resultText":""', b'"resultOk":false'),
        "message-id": (b'"source_message_id":"m"', b'"source_line_id":"l"'),
    }.items():
        case(f"ok-tool-{name}", "optional members of a tool call", good(call(*members)))
    case(
        "ok-empty-strings",
        "empty text and ids",
        good(user(b'"text":""', TIME, b'"source_line_id":""')),
    )
    case(
        "ok-kind-last",
        "the members in another order, the kind last",
        good(b'{"source_line_id":"x",' + TIME + b"," + TEXT + b',"kind":"error"}'),
        good(b'{"resultOk":false,"name":"n",' + TIME + b',"kind":"tool_call","argsText":"a"}'),
        good(b'{"source_message_id":"m",' + TIME + b',"resultText":"r","kind":"tool_call"}'),
    )
    spaced = b' \t\r{ \t"kind"\r :\t"user" , "text" : "hi"\t,\r' + TIME + b" \t\r}\t \r"
    case("ok-white-space", "spaces, tabs and CR around every token", good(spaced), good(U))
    case(
        "ok-crlf",
        "CR before LF is white space and counts as a byte",
        *(good(row + b"\r") for row in (U, A)),
    )
    case("ok-bare-cr", "a bare CR ends no line", good(U + b"\r\r"), good(b"\r" + A))
    case(
        "ok-line-separators",
        "U+2028, U+2029 and U+0085 raw in a string end no line",
        good(said("a\u2028b\u2029c\u0085d".encode())),
        good(A),
    )
    odd = "\x7f\u0080\u00ad\u200b\u202e\ufeff\ufffe\uffff\ufdd0\U0010ffff\U0001f600\ufffd"
    case(
        "ok-odd-characters",
        "DEL, C1, bidi, noncharacters and the last one, all raw",
        good(said(odd.encode())),
    )
    case(
        "ok-utf8-bounds",
        "the first and last sequence of each length",
        good(said("\x7f\x80\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff".encode())),
    )
    case(
        "ok-short-escapes",
        "every short escape",
        good(said(rb"\"\\\/\b\f\n\r\t")),
        good(call(rb'"argsText":"{\"a\":\"\\n\"}"')),
    )
    case(
        "ok-unicode-escapes",
        "escapes of four digits in either case, also of what needs none",
        good(said(rb"\u0041\u00e9\u00E9\u20ac\uABCD\uabcd\u000a\u001f\u007f\uffff\u0022\u005c")),
        good(said(rb"\u2028\u2029\u0085\ufeff")),
    )
    case(
        "ok-nul-escape",
        "an escaped NUL is text, in a name too",
        good(said(rb"a\u0000b")),
        good(call(rb'"name":"Bash\u0000\u0000"')),
    )
    case(
        "ok-escaped-names",
        "names are compared after unescaping",
        good(rb'{"\u006bind":"user","te\u0078t":"hi",' + TIME + rb',"source\u005fline_id":"x"}'),
        good(rb'{"k\u0069nd":"tool_call","result\u004Fk":true,"\u0061rgsText":"",' + TIME + b"}"),
    )
    case(
        "ok-escaped-kind",
        "so is the value of `kind`",
        good(rb'{"kind":"us\u0065r",' + TEXT + b"," + TIME + b"}"),
        good(rb'{"kind":"tool\u005fcall",' + TIME + b"}"),
    )
    case(
        "ok-escaped-time",
        "and that of `captured_at`",
        good(user(TEXT, rb'"captured_at":"2026\u002d09-01\u005400:00:00.00\u0030\u005A"')),
    )
    case(
        "ok-surrogate-pairs",
        "an escaped pair is one character",
        good(said(rb"\ud83d\ude00 \uD83D\uDE00 \ud800\udc00 \udbff\udfff")),
    )
    case(
        "ok-lone-surrogates",
        "an escaped surrogate without its pair is U+FFFD, and counted",
        good(said(rb"ok \ud83d\u2026")),
        good(said(rb"\ude00\ud83d")),
        good(said(rb"\ud83d\ud83d\ude00")),
        good(said(rb"\ud83d")),
        good(said(rb"\ud83d \ude00")),
        good(said(rb"\ud83d\n\ude00\ude00")),
        good(said(rb"\ud800\ud800\ud800\udc00\udc00")),
        good(said("\\ud83d\U0001f600\\udc00".encode())),
        good(said(rb"\ud83d\ufffd")),
    )
    case(
        "ok-lone-surrogates-everywhere",
        "in a tool's name, arguments and result and in both ids",
        good(
            call(
                rb'"name":"\ud800x"',
                rb'"argsText":"{\"a\":\"\udfff\"}"',
                rb'"resultText":"cut \ud83d"',
                rb'"source_line_id":"\udead"',
                rb'"source_message_id":"\ud83d\ude00\ude00"',
            )
        ),
        good(A),
    )
    case(
        "ok-nested-text",
        "brackets inside a string are text",
        good(call(b'"argsText":"' + b"[" * 200 + b'"')),
    )
    case(
        "ok-repeated-ids",
        "ids repeat in real files; a row is its offset",
        *map(good, (T, T, A, A)),
    )
    for name, tail in {
        "torn-row": A[:60],
        "inside-a-character": U[:24] + "é".encode()[:1],
        "without-lf": A,
        "nuls": b"\0" * 300,
        "not-json": b'[1,2 "\x01\xff',
        "one-byte": b"{",
        "spaces": b"  ",
        "bom": BOM + A,
    }.items():
        case(f"ok-tail-{name}", "bytes after the last LF are not judged", good(U), tail=tail)
    case("ok-tail-alone", "a file that is only a tail", tail=U)
    case("ok-tail-alone-part-of-bom", "two bytes of a BOM are only a tail", tail=BOM[:2])
    case(
        "ok-tail-too-long",
        "a tail above `max_line_bytes` is still a tail",
        good(U),
        tail=U * 3,
        max_line_bytes=len(U),
    )
    for name, value in {
        "year-0000": b"0000-01-01T00:00:00.000Z",
        "year-0000-leap-day": b"0000-02-29T12:00:00.000Z",
        "year-0004-leap-day": b"0004-02-29T23:59:59.999Z",
        "year-2000-leap-day": b"2000-02-29T00:00:00.001Z",
        "year-2024-leap-day": b"2024-02-29T00:00:00.000Z",
        "last": b"9999-12-31T23:59:59.999Z",
    }.items():
        case(
            f"ok-time-{name}",
            "a real date of the proleptic Gregorian calendar",
            good(timed(value).replace(MARK, b"")),
        )
    ends = [
        f"2026-{month:02}-{day}T00:00:00.000Z"
        for month, day in enumerate((31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31), 1)
    ]
    case(
        "ok-time-ends-of-months",
        "the last day of each month",
        *(good(timed(end.encode()).replace(MARK, b"")) for end in ends),
    )
    case(
        "ok-time-order",
        "the order is the file's, whatever the times say",
        good(U.replace(b"2026", b"2030")),
        good(A.replace(b"2026", b"1999")),
    )


def boms() -> None:
    """The reason `bom`."""
    case(
        "bom-first-row", "a BOM before the first row", bad(MARK + BOM + U, "bom", entry=U), good(A)
    )
    case(
        "bom-bad-row",
        "a BOM before a bad row: lenient has only the row's fault",
        after_bom(b'{"kind":<|>5}', "wrong_type", "kind"),
        good(A),
    )
    tail = {"reason": "bom", "line": 1, "line_offset": 0, "offset": 0, "field": None}
    case(
        "bom-tail",
        "a BOM in a file that is only a tail",
        tail=BOM + U[:20],
        refused=tail | {"excerpt": excerpt(BOM + U[:20], 0)},
    )
    case(
        "bom-alone", "a BOM and nothing else", tail=BOM, refused=tail | {"excerpt": r"\xef\xbb\xbf"}
    )
    case(
        "bom-blank",
        "a BOM on a line of its own",
        apart(MARK + MARK + BOM, ("bom", None), ("blank_line", None)),
        good(U),
    )
    case(
        "bom-spaces",
        "a BOM and white space",
        apart(MARK + MARK + BOM + b" \t\r", ("bom", None), ("blank_line", None)),
        good(U),
    )
    case(
        "bom-nuls-row",
        "a BOM, NULs and a row: two notes at the line's first byte",
        noted(MARK + MARK + BOM + b"\0\0" + U, ("bom", None), ("nul_padding", None), entry=U),
        good(A),
    )
    case(
        "bom-nuls-alone",
        "a BOM and NULs alone: nothing is silent, though there is no row",
        noted(MARK + MARK + BOM + b"\0\0", ("bom", None), ("nul_padding", None)),
        good(A),
    )
    case(
        "bom-nuls-spaces",
        "a BOM, NULs and white space: lenient sees a blank line",
        apart(MARK + MARK + BOM + b"\0\0 ", ("bom", None), ("blank_line", None)),
        good(A),
    )
    case(
        "bom-nuls-bad-row",
        "a BOM, NULs and a bad row: lenient has only the row's fault",
        after_bom(b"\0\0<|>[", "not_an_object"),
        good(A),
    )
    case("bom-space-row", "white space after a BOM", bad(MARK + BOM + b" " + U, "bom", entry=U))
    case(
        "bom-twice",
        "a second BOM is no object",
        after_bom(MARK + BOM + U, "not_an_object"),
        good(A),
    )
    case(
        "bom-second-line",
        "a BOM elsewhere is no object",
        good(U),
        bad(MARK + BOM + A, "not_an_object"),
    )
    case(
        "bom-two-bytes",
        "two bytes of a BOM are no object",
        bad(MARK + BOM[:2] + U, "not_an_object"),
    )
    case(
        "bom-too-long",
        "a BOM is judged before the length; to lenient it counts as three bytes",
        apart(MARK + BOM + U[:-3] + MARK + U[-3:], ("bom", None), ("line_too_long", None)),
        good(U),
        max_line_bytes=len(U),
    )


def after_bom(template: bytes, reason: str, field: str | None = None) -> Line:
    """A first line with a BOM, which strict reports, and a fault, which lenient reports."""
    return apart(MARK + BOM + template, ("bom", None), (reason, field))


def line_lengths() -> None:
    """The reason `line_too_long`."""
    limit = len(U)
    case("line_too_long-exact", "a line of exactly `max_line_bytes`", good(U), max_line_bytes=limit)
    case(
        "line_too_long-by-one",
        "one byte more",
        bad(U + MARK + b" ", "line_too_long"),
        max_line_bytes=limit,
    )
    case(
        "line_too_long-cr",
        "a CR counts",
        good(U),
        bad(U + MARK + b"\r", "line_too_long"),
        max_line_bytes=limit,
    )
    case(
        "line_too_long-between",
        "a long line between two good ones, which lenient returns",
        good(PLAIN),
        bad(b"x" * limit + MARK + b"y" * 500, "line_too_long"),
        good(CALL),
        max_line_bytes=limit,
    )
    for name, raw in {
        "nuls": b"\0" * 200,
        "blank": b" " * 200,
        "array": b"[" * 200,
        "bad-string": b'{"kind":"\x01\xff' + b"x" * 200,
    }.items():
        line = bad(raw[:limit] + MARK + raw[limit:], "line_too_long")
        case(
            f"line_too_long-before-{name}",
            "the length is judged before what the line holds",
            line,
            max_line_bytes=limit,
        )
    case(
        "line_too_long-twice",
        "two long lines, with a note between",
        bad(U + MARK + U, "line_too_long"),
        bad(MARK + b"\0" + CALL, "nul_padding", entry=CALL),
        bad(U + MARK + U, "line_too_long"),
        good(CALL),
        max_line_bytes=limit,
    )
    case(
        "line_too_long-one-byte",
        "a limit of one byte",
        bad(b"{" + MARK + b"}", "line_too_long"),
        bad(MARK + b"}", "not_an_object"),
        max_line_bytes=1,
    )
    case(
        "line_too_long-nul-run",
        "a run of NULs counts",
        bad(b"\0\0" + U[:-2] + MARK + U[-2:], "line_too_long"),
        max_line_bytes=limit,
    )


def nuls() -> None:
    """The reason `nul_padding`."""
    case(
        "nul_padding-line",
        "a line of NULs between two rows",
        good(U),
        bad(MARK + b"\0" * 9000, "nul_padding"),
        good(A),
    )
    case("nul_padding-one", "a single NUL", bad(MARK + b"\0", "nul_padding"), good(A))
    case(
        "nul_padding-before-row",
        "NULs, then a row, whose offset is that of its line",
        good(U),
        bad(MARK + b"\0" * 700 + A, "nul_padding", entry=A),
    )
    case(
        "nul_padding-first-line",
        "NULs at the start of the file",
        bad(MARK + b"\0\0\0" + U, "nul_padding", entry=U),
        good(A),
    )
    case(
        "nul_padding-then-space-row",
        "NULs, white space and a row",
        bad(MARK + b"\0 \t" + U, "nul_padding", entry=U),
    )
    case(
        "nul_padding-cr",
        "NULs and a CR: lenient sees a blank line",
        apart(MARK + MARK + b"\0\0\r", ("nul_padding", None), ("blank_line", None)),
        good(A),
    )
    case(
        "nul_padding-then-bad",
        "NULs and a bad row: lenient has only the row's fault",
        after_nuls(b'{"kind":"user",<|>"kind"}', "duplicate_key", "kind"),
        good(A),
    )
    case(
        "nul_padding-then-nul-later",
        "NULs after white space are no object",
        after_nuls(b" <|>\0" + U, "not_an_object"),
    )
    case(
        "nul_padding-then-bom",
        "a BOM after NULs is no object",
        after_nuls(MARK + BOM + U, "not_an_object"),
    )
    case(
        "nul_padding-after-space",
        "a NUL after white space is no padding",
        bad(b" <|>\0" + U, "not_an_object"),
    )
    case(
        "nul_padding-and-notes",
        "the note on NULs comes before the other notes of the line",
        noted(
            b'<|>\0\0{"kind":"user",<|>"x":1,"text":"hi",' + TIME + b',<|>"y":[]}',
            ("nul_padding", None),
            ("unknown_field", "x"),
            ("unknown_field", "y"),
            entry=PLAIN,
        ),
    )


def after_nuls(template: bytes, reason: str, field: str | None = None) -> Line:
    """A line of NULs, which strict reports, and a fault, which is all that lenient reports."""
    return apart(MARK + b"\0\0\0" + template, ("nul_padding", None), (reason, field))


def blanks() -> None:
    """The reason `blank_line`."""
    for name, raw in {
        "empty": b"",
        "spaces": b"   ",
        "tab": b"\t",
        "cr": b"\r",
        "mixed": b" \t\r \r\t",
    }.items():
        case(
            f"blank_line-{name}",
            "only white space before the LF",
            good(U),
            bad(MARK + raw, "blank_line"),
            good(A),
        )
    case("blank_line-only", "a file that is one LF", bad(MARK, "blank_line"))
    case("blank_line-first", "the first line", bad(MARK, "blank_line"), good(U))
    case(
        "blank_line-last",
        "the last lines",
        good(U),
        bad(MARK, "blank_line"),
        bad(MARK + b" ", "blank_line"),
    )


def objects() -> None:
    """The reason `not_an_object`."""
    for name, raw in {
        "array": b"[]",
        "string": b'"text"',
        "number": b"1",
        "minus": b"-",
        "true": b"true",
        "null": b"null",
        "word": b"hello",
        "close": b"}",
        "comma": b",",
        "byte-ff": b"\xff",
        "control": b"\x01",
        "vertical-tab": b"\x0b" + U,
        "form-feed": b"\x0c",
        "no-break-space": b"\xc2\xa0" + U,
        "line-separator": b"\xe2\x80\xa8" + U,
        "backslash": b"\\" + U,
        "row-in-array": b"[" + U + b"]",
    }.items():
        case(
            f"not_an_object-{name}",
            "the first token is not `{`",
            good(U),
            bad(MARK + raw, "not_an_object"),
            good(A),
        )
    case(
        "not_an_object-after-space",
        "the offset is that of the token",
        bad(b" \t\r <|>[1]", "not_an_object"),
    )
    case(
        "not_an_object-rest-of-a-row",
        "an LF in a string ends the line, and the rest is no object",
        bad(b'{"kind":"user","text":"a<|>', "malformed_json", "text"),
        bad(b'<|>b",' + TIME + b"}", "not_an_object"),
        good(A),
    )


def structure() -> None:
    """The reason `malformed_json`, outside strings."""
    start = b'{"kind":"user"'
    for name, (template, member) in {
        "open-brace": (b"{<|>", None),
        "open-brace-space": (b"{ \t<|>", None),
        "comma-first": (b"{<|>,}", None),
        "comma-last": (start + b",<|>}", None),
        "comma-twice": (start + b",<|>,", None),
        "comma-missing": (start + b' <|>"text":"hi"}', None),
        "comma-semicolon": (start + b'<|>;"text":"hi"}', None),
        "cut-after-comma": (start + b",<|>", None),
        "cut-after-comma-space": (start + b", \r<|>", None),
        "cut-after-value": (start + b"<|>", None),
        "cut-after-value-space": (start + b"  <|>", None),
        "cut-in-name": (b'{"kind":"user","te<|>', None),
        "cut-after-open-quote": (b'{"<|>', None),
        "cut-after-name": (b'{"kind"<|>', "kind"),
        "cut-after-name-space": (b'{"kind" \t<|>', "kind"),
        "cut-after-colon": (b'{"kind":<|>', "kind"),
        "cut-after-colon-space": (b'{"kind": \r<|>', "kind"),
        "cut-in-value": (b'{"kind":"us<|>', "kind"),
        "cut-in-text": (b'{"kind":"user","text":"hi, th<|>', "text"),
        "cut-row": (b'{"kind":"assis<|>', "kind"),
        "colon-missing": (b'{"kind" <|>"user"}', "kind"),
        "colon-equals": (b'{"kind"<|>="user"}', "kind"),
        "colon-twice": (b'{"kind":<|>:"user"}', "kind"),
        "colon-comma": (b'{"kind"<|>,"text"}', "kind"),
        "value-missing-close": (b'{"kind":<|>}', "kind"),
        "value-missing-comma": (b'{"kind":<|>,"text":"hi"}', "kind"),
        "value-single-quote": (b"{\"kind\":<|>'user'}", "kind"),
        "value-bare-word": (b'{"kind":<|>user}', "kind"),
        "value-upper-true": (b'{"resultOk":<|>True}', "resultOk"),
        "value-nan": (b'{"text":<|>NaN}', "text"),
        "value-infinity": (b'{"text":<|>Infinity}', "text"),
        "value-undefined": (b'{"text":<|>undefined}', "text"),
        "value-plus": (b'{"text":<|>+1}', "text"),
        "value-dot": (b'{"text":<|>.5}', "text"),
        "value-slash": (b'{"text":<|>/*x*/"hi"}', "text"),
        "value-backslash": (b'{"text":<|>\\"hi"}', "text"),
        "value-byte-ff": (b'{"text":<|>\xff"hi"}', "text"),
        "value-nul": (b'{"text":<|>\0"hi"}', "text"),
        "value-control": (b'{"text":<|>\x1f"hi"}', "text"),
        "value-bom": (b'{"text":<|>\xef\xbb\xbf"hi"}', "text"),
        "value-no-break-space": (b'{"text":<|>\xc2\xa0"hi"}', "text"),
        "value-form-feed": (b'{"text":<|>\x0c"hi"}', "text"),
        "value-close-bracket": (b'{"text":<|>]}', "text"),
        "after-value": (b'{"kind":"user"<|>x}', None),
        "after-value-string": (b'{"kind":"user"<|>"text"}', None),
        "after-value-byte-ff": (b'{"kind":"user"<|>\xff}', None),
        "after-value-nul": (b'{"kind":"user"<|>\0}', None),
        "after-value-bracket": (b'{"kind":"user"<|>]', None),
        "after-value-line-separator": (b'{"kind":"user"<|>\xe2\x80\xa8}', None),
        "name-bare": (b'{<|>kind:"user"}', None),
        "name-single-quote": (b"{<|>'kind':\"user\"}", None),
        "name-number": (b'{<|>1:"user"}', None),
        "name-true": (b'{<|>true:"user"}', None),
        "name-object": (b"{<|>{}}", None),
        "name-comment": (b'{<|>/**/"kind":"user"}', None),
        "name-byte-ff": (b'{<|>\xff"kind":"user"}', None),
        "name-nul": (b'{<|>\0"kind":"user"}', None),
        "name-vertical-tab": (b'{<|>\x0b"kind":"user"}', None),
        "second-name-bare": (b'{"kind":"user",<|>text:"hi"}', None),
    }.items():
        case(
            f"malformed_json-{name}",
            "not RFC 8259, outside strings",
            good(U),
            bad(template, "malformed_json", member),
            good(A),
        )
    for name, (template, member) in {
        "true-cut": (b'{"resultOk":tru<|>', "resultOk"),
        "true-cut-first": (b'{"resultOk":t<|>', "resultOk"),
        "true-close": (b'{"resultOk":tru<|>}', "resultOk"),
        "true-wrong": (b'{"resultOk":tr<|>oe}', "resultOk"),
        "true-upper": (b'{"resultOk":t<|>RUE}', "resultOk"),
        "true-longer": (b'{"resultOk":true<|>x}', None),
        "true-digit": (b'{"resultOk":true<|>1}', None),
        "false-cut": (b'{"resultOk":fals<|>', "resultOk"),
        "false-wrong": (b'{"resultOk":fal<|>lse}', "resultOk"),
        "false-byte-ff": (b'{"resultOk":f<|>\xffalse}', "resultOk"),
        "false-longer": (b'{"resultOk":false<|>e}', None),
        "false-quote": (b'{"resultOk":false<|>"}', None),
    }.items():
        case(
            f"malformed_json-{name}",
            "`true` and `false` are spelt out",
            bad(template, "malformed_json", member),
            good(A),
        )


def strings() -> None:
    """The reasons `malformed_json`, `invalid_utf8` and `control_character`, inside strings."""
    escapes = {
        "x": rb"a\<|>x41",
        "quote": rb"a\<|>'b",
        "zero": rb"\<|>0",
        "a": rb"\<|>a",
        "v": rb"\<|>v",
        "upper-u": rb"\<|>U0041",
        "upper-n": rb"\<|>N",
        "space": rb"\<|> ",
        "control": b"\\<|>\x01",
        "tab": b"\\<|>\t",
        "nul": b"\\<|>\0",
        "cr": b"\\<|>\r",
        "byte-ff": b"\\<|>\xff",
        "non-ascii": b"\\<|>\xc3\xa9",
        "u-short": rb"\u12<|>",
        "u-none": rb"\u<|>",
        "u-letter": rb"\u12<|>G4",
        "u-first": rb"\u<|>x041",
        "u-last": rb"\u004<|>g",
        "u-plus": rb"\u<|>+123",
        "u-space": rb"\u<|> 123",
        "u-brace": rb"\u<|>{41}",
        "u-underscore": rb"\u0<|>_41",
        "u-backslash": rb"\u00<|>\u0041",
        "u-byte-ff": b"\\u00<|>\xff\xff",
        "u-non-ascii-digits": "\\u<|>\uff10\uff10\uff14\uff11".encode(),
        "u-control": b"\\u0<|>\x01",
        "after-high": rb"\ud83d\<|>x",
        "after-high-u": rb"\ud83d\ude<|>zz",
        "after-pair": rb"\ud83d\ude00\<|>'",
        "after-long-text": b"x" * 100 + rb"\<|>q" + b"y" * 100,
    }
    for name, template in escapes.items():
        case(
            f"malformed_json-escape-{name}",
            "a bad escape in a text",
            good(U),
            bad(said(template), "malformed_json", "text"),
            good(A),
        )
    case(
        "malformed_json-escape-cut",
        "a line that ends after a backslash",
        bad(b'{"kind":"user","text":"a\\<|>', "malformed_json", "text"),
        good(A),
    )
    case(
        "malformed_json-escape-u-cut",
        "a line that ends inside an escape",
        bad(b'{"kind":"user","text":"a\\u00<|>', "malformed_json", "text"),
        good(A),
    )
    case(
        "malformed_json-escape-u-cut-at-u",
        "a line that ends after `\\u`",
        bad(b'{"kind":"user","text":"a\\u<|>', "malformed_json", "text"),
        good(A),
    )
    case(
        "malformed_json-escape-high-cut",
        "a line that ends after a high surrogate",
        bad(b'{"kind":"user","text":"\\ud83d<|>', "malformed_json", "text"),
        good(A),
    )
    case(
        "malformed_json-escape-in-name",
        "in a name: no member is read yet",
        bad(rb'{"kind":"user","te\<|>xt":"hi"}', "malformed_json"),
        good(A),
    )
    case(
        "malformed_json-escape-u-in-name",
        "likewise",
        bad(rb'{"ki\u006<|>!":"user"}', "malformed_json"),
        good(A),
    )
    case(
        "malformed_json-escape-in-kind",
        "in the value of `kind`, before it is judged",
        bad(rb'{"kind":"image\<|>q"}', "malformed_json", "kind"),
        good(A),
    )
    case(
        "malformed_json-escape-in-time",
        "in `captured_at`, before it is judged",
        bad(user(TEXT, rb'"captured_at":"x\<|>q"'), "malformed_json", "captured_at"),
        good(A),
    )
    case(
        "malformed_json-escape-in-id",
        "in an id",
        bad(user(TEXT, TIME, rb'"source_line_id":"\<|>-"'), "malformed_json", "source_line_id"),
        good(A),
    )
    case(
        "malformed_json-lf-in-string",
        "a raw LF ends the line, inside a string too",
        bad(b'{"kind":"user","text":"two<|>', "malformed_json", "text"),
        bad(MARK + b'lines",' + TIME + b"}", "not_an_object"),
        good(A),
    )

    sequences = {
        "ff": b"<|>\xff",
        "fe": b"<|>\xfe",
        "continuation": b"a<|>\x80b",
        "two-continuations": "é<|>".encode() + b"\x80\xbf",
        "overlong-2": b"<|>\xc0\xaf",
        "overlong-2-c1": b"<|>\xc1\xbf",
        "overlong-nul": b"<|>\xc0\x80",
        "overlong-3": b"<|>\xe0\x80\x80",
        "overlong-3-last": b"<|>\xe0\x9f\xbf",
        "overlong-4": b"<|>\xf0\x80\x80\x80",
        "overlong-4-last": b"<|>\xf0\x8f\xbf\xbf",
        "surrogate-high": b"<|>\xed\xa0\x80",
        "surrogate-low": b"<|>\xed\xbf\xbf",
        "surrogate-pair": b"<|>\xed\xa0\xbd\xed\xb8\x80",
        "above-10ffff": b"<|>\xf4\x90\x80\x80",
        "f5": b"<|>\xf5\x80\x80\x80",
        "five-bytes": b"<|>\xf8\x88\x80\x80\x80",
        "cut-2": b"<|>\xc3",
        "cut-3-after-1": b"<|>\xe2",
        "cut-3-after-2": b"<|>\xe2\x82",
        "cut-4-after-1": b"<|>\xf0",
        "cut-4-after-2": b"<|>\xf0\x9f",
        "cut-4-after-3": b"<|>\xf0\x9f\x98",
        "cut-by-a-character": b"<|>\xe2\x82\xc3\xa9",
        "cut-by-itself": b"<|>\xf0\x9f\x98\xf0\x9f\x98\x80",
        "cut-by-ascii": b"<|>\xc3(",
        "cut-by-control": b"<|>\xc3\x01",
        "cut-by-backslash": b"<|>\xe2\x82\\n",
        "latin-1": b"caf<|>\xe9 au lait",
        "after-good-ones": "é€\U0001f600\u07ff<|>".encode() + b"\xbf",
        "after-long-text": b"x" * 100 + b"<|>\xff" + b"y" * 100,
    }
    for name, template in sequences.items():
        case(
            f"invalid_utf8-{name}",
            "bytes in a text that are not UTF-8",
            good(U),
            bad(said(template), "invalid_utf8", "text"),
            good(A),
        )
    for name, cut in {"2": b"\xc3", "3": b"\xe2\x82", "4": b"\xf0\x9f\x98"}.items():
        case(
            f"invalid_utf8-cut-by-lf-{name}",
            "a character cut by the LF",
            bad(b'{"kind":"user","text":"a<|>' + cut, "invalid_utf8", "text"),
            good(A),
        )
    case(
        "invalid_utf8-in-name",
        "in a name: no member is read yet",
        bad(b'{"kind":"user","te<|>\xffxt":"hi"}', "invalid_utf8"),
        good(A),
    )
    case(
        "invalid_utf8-name-cut",
        "a name cut by the LF inside a character",
        bad(b'{"caf<|>\xc3', "invalid_utf8"),
        good(A),
    )
    case(
        "invalid_utf8-in-kind",
        "in `kind`, before it is judged",
        bad(b'{"kind":"us<|>\xa9r"}', "invalid_utf8", "kind"),
        good(A),
    )
    case(
        "invalid_utf8-in-time",
        "in `captured_at`",
        bad(user(TEXT, b'"captured_at":"2026<|>\xff"'), "invalid_utf8", "captured_at"),
        good(A),
    )
    case(
        "invalid_utf8-in-id",
        "in an id",
        bad(user(b'"source_message_id":"<|>\xc0\x80"'), "invalid_utf8", "source_message_id"),
        good(A),
    )
    case(
        "invalid_utf8-in-arguments",
        "in a tool's arguments",
        bad(call(b'"argsText":"{<|>\xff}"'), "invalid_utf8", "argsText"),
        good(A),
    )
    case(
        "invalid_utf8-before-control",
        "the first fault of a string is the one reported",
        bad(said(b"a<|>\xff\x01\\q"), "invalid_utf8", "text"),
        good(A),
    )

    for byte in range(0x20):
        if byte != 0x0A:
            line = bad(said(b"a<|>" + bytes([byte]) + b"b"), "control_character", "text")
            case(
                f"control_character-{byte:02x}",
                "a raw control character in a text",
                good(U),
                line,
                good(A),
            )
    case(
        "control_character-in-name",
        "in a name: no member is read yet",
        bad(b'{"ki<|>\x01nd":"user"}', "control_character"),
        good(A),
    )
    case(
        "control_character-in-kind",
        "in `kind`",
        bad(b'{"kind":"user<|>\t"}', "control_character", "kind"),
        good(A),
    )
    case(
        "control_character-in-tool-name",
        "in a tool's name",
        bad(call(b'"name":"apply<|>\0\0"'), "control_character", "name"),
        good(A),
    )
    case(
        "control_character-in-id",
        "in an id",
        bad(
            user(TEXT, TIME, b'"source_line_id":"<|>\x1b[2J"'),
            "control_character",
            "source_line_id",
        ),
        good(A),
    )
    case(
        "control_character-crlf-in-string",
        "a CR before an LF, inside a string",
        bad(b'{"kind":"user","text":"two<|>\r', "control_character", "text"),
        bad(MARK + b'lines"}', "not_an_object"),
        good(A),
    )
    case(
        "control_character-before-utf8",
        "the first fault of a string is the one reported",
        bad(said(b"<|>\x1f\xff"), "control_character", "text"),
        good(A),
    )


def names() -> None:
    """The reasons `duplicate_key` and `unknown_field`."""
    for name, (template, member) in {
        "text": (user(b'"text":"safe"', TIME, b'<|>"text":"evil"'), "text"),
        "text-escaped": (user(b'"text":"safe"', TIME, rb'<|>"te\u0078t":"evil"'), "text"),
        "first-escaped": (user(rb'"\u0074ext":"safe"', b'<|>"text":"evil"', TIME), "text"),
        "kind": (b'{"kind":"user",<|>"kind":"user"}', "kind"),
        "kind-other": (user(TEXT, TIME, b'<|>"kind":"tool_call"'), "kind"),
        "time": (user(TIME, b"<|>" + TIME, TEXT), "captured_at"),
        "id": (user(b'"source_line_id":"a"', b'<|>"source_line_id":"a"'), "source_line_id"),
        "message-id": (
            user(b'"source_message_id":"a"', b'<|>"source_message_id":"b"'),
            "source_message_id",
        ),
        "name": (call(b'"name":"a"', b'<|>"name":"b"'), "name"),
        "arguments": (call(b'"argsText":"a"', b'<|>"argsText":"b"'), "argsText"),
        "result": (call(b'"resultText":"a"', b'<|>"resultText":"b"'), "resultText"),
        "result-ok": (call(b'"resultOk":true', b'<|>"resultOk":true'), "resultOk"),
        "before-kind": (b'{"name":"a",<|>"name":"b","kind":"user"}', "name"),
        "text-before-kind": (b'{"text":"a",<|>"text":"b","kind":"tool_call"}', "text"),
        "before-colon": (b'{"kind":"user",<|>"kind"', "kind"),
        "before-colon-other-byte": (b'{"kind":"user",<|>"kind"=1}', "kind"),
        "value-not-looked-at": (b'{"kind":"user",<|>"kind":[[[', "kind"),
        "value-of-wrong-type": (user(TEXT, b'<|>"text":null'), "text"),
    }.items():
        case(
            f"duplicate_key-{name}",
            "a name comes twice",
            good(U),
            bad(template, "duplicate_key", member),
            good(A),
        )

    unknown: dict[str, tuple[bytes, str | None, bytes]] = {
        "model": (user(TEXT, TIME, b'<|>"model":"m"'), "model", PLAIN),
        "first": (b'{<|>"v":1,"kind":"user",' + TEXT + b"," + TIME + b"}", "v", PLAIN),
        "upper-case": (user(b'<|>"Text":"hi"', TEXT, TIME), "Text", PLAIN),
        "upper-kind": (b'{<|>"Kind":"user",' + PLAIN[1:], "Kind", PLAIN),
        "empty": (user(b'<|>"":"x"', TEXT, TIME), "", PLAIN),
        "space": (user(b'<|>"text ":"x"', TEXT, TIME), "text ", PLAIN),
        "snake-case": (call(b'<|>"args_text":"{}"'), "args_text", CALL),
        "offset": (user(b'<|>"offset":0', TEXT, TIME), "offset", PLAIN),
        "escaped": (user(rb'<|>"\u006dodel\n":0', TEXT, TIME), "model\n", PLAIN),
        "nul": (user(rb'<|>"text\u0000":0', TEXT, TIME), "text\0", PLAIN),
        "emoji": (user('<|>"\U0001f600":0'.encode(), TEXT, TIME), "\U0001f600", PLAIN),
        "pair": (user(rb'<|>"\ud83d\ude00":0', TEXT, TIME), "\U0001f600", PLAIN),
        "lone-surrogate": (user(rb'<|>"a\ud83db":0', TEXT, TIME), "a\ufffdb", PLAIN),
        "64-characters": (user(b'<|>"' + b"n" * 64 + b'":0', TEXT, TIME), "n" * 64, PLAIN),
        "65-characters": (user(b'<|>"' + b"n" * 64 + b'X":0', TEXT, TIME), "n" * 64, PLAIN),
        "65-wide-characters": (
            user(('<|>"' + "\U0001f600" * 65 + '":0').encode(), TEXT, TIME),
            "\U0001f600" * 64,
            PLAIN,
        ),
        "65-escaped-pairs": (
            user(b'<|>"' + rb"\ud83d\ude00" * 65 + b'":0', TEXT, TIME),
            "\U0001f600" * 64,
            PLAIN,
        ),
        "prefix-of-a-name": (user(b'<|>"tex":"x"', TEXT, TIME), "tex", PLAIN),
        "user-name": (user(TEXT, TIME, b'<|>"name":"x"'), "name", PLAIN),
        "user-arguments": (user(TEXT, TIME, b'<|>"argsText":"x"'), "argsText", PLAIN),
        "user-result": (user(b'<|>"resultText":"x"', TEXT, TIME), "resultText", PLAIN),
        "user-result-ok": (user(b'<|>"resultOk":true', TEXT, TIME), "resultOk", PLAIN),
        "tool-text": (call(b'<|>"text":"x"'), "text", CALL),
        "pending-name": (b'{<|>"name":"x",' + PLAIN[1:], "name", PLAIN),
        "pending-result-ok": (b'{<|>"resultOk":false,' + PLAIN[1:], "resultOk", PLAIN),
        "pending-text": (b'{<|>"text":"x","kind":"tool_call",' + TIME + b"}", "text", CALL),
        "pending-escaped": (rb'{<|>"\u006eame":"x",' + PLAIN[1:], "name", PLAIN),
        "pending-kind-last": (
            b"{" + TIME + b"," + TEXT + b',<|>"argsText":"{}","kind":"user"}',
            "argsText",
            PLAIN,
        ),
        "pending-surrogates-uncounted": (rb'{<|>"name":"\ud83d",' + PLAIN[1:], "name", PLAIN),
        "any-value-object": (
            user(b'<|>"x":{"a":[1,-2.5e+10,true,false,null,{"a":"\\ud83d"}],"a":{}}', TEXT, TIME),
            "x",
            PLAIN,
        ),
        "any-value-null": (user(b'<|>"x":null', TEXT, TIME), "x", PLAIN),
        "any-value-string": (user(b'<|>"x":"\\ud83d\\n"', TEXT, TIME), "x", PLAIN),
        "any-value-number": (user(b'<|>"x":-0.0E-0', TEXT, TIME), "x", PLAIN),
        "any-value-big-number": (user(b'<|>"x":' + b"9" * 5000 + b"e999", TEXT, TIME), "x", PLAIN),
        "any-value-white-space": (
            user(b'<|>"x" : [ 1 ,\t{ "y" :\r2 } , [ ] , { } ] ', TEXT, TIME),
            "x",
            PLAIN,
        ),
        "any-value-empty": (user(b'<|>"x":{}', TEXT, TIME), "x", PLAIN),
        "value-64-arrays": (user(b'<|>"x":' + b"[" * 64 + b"]" * 64, TEXT, TIME), "x", PLAIN),
        "value-64-objects": (
            user(b'<|>"x":' + b'{"a":' * 64 + b"0" + b"}" * 64, TEXT, TIME),
            "x",
            PLAIN,
        ),
        "value-64-mixed": (
            user(b'<|>"x":' + b'[{"a":' * 32 + b"0" + b"}]" * 32, TEXT, TIME),
            "x",
            PLAIN,
        ),
        "value-wide": (user(b'<|>"x":[' + b"[]," * 200 + b"[]]", TEXT, TIME), "x", PLAIN),
        "tool-text-any-value": (call(b'<|>"text":[null]'), "text", CALL),
        "user-result-ok-any-value": (user(b'<|>"resultOk":"yes"', TEXT, TIME), "resultOk", PLAIN),
    }
    for name, (template, member, entry) in unknown.items():
        case(
            f"unknown_field-{name}",
            "lenient drops the name and its value, and keeps the entry",
            good(U),
            bad(template, "unknown_field", member, entry),
            good(A),
        )
    case(
        "unknown_field-twice",
        "a name that is dropped twice is noted twice",
        noted(
            user(b'<|>"x":1', TEXT, b'<|>"x":2', TIME, b'<|>"y":3'),
            ("unknown_field", "x"),
            ("unknown_field", "x"),
            ("unknown_field", "y"),
            entry=PLAIN,
        ),
    )
    case(
        "unknown_field-tool-text-twice",
        "likewise a name that this kind does not allow",
        noted(
            call(b'<|>"text":"a"', b'<|>"text":5'),
            ("unknown_field", "text"),
            ("unknown_field", "text"),
            entry=CALL,
        ),
    )
    case(
        "unknown_field-two-pending",
        "of two names before the kind, the earliest",
        noted(
            b"{" + TEXT + b',<|>"resultText":"r",' + TIME + b',<|>"name":"n","kind":"reasoning"}',
            ("unknown_field", "resultText"),
            ("unknown_field", "name"),
            entry=PLAIN.replace(b"user", b"reasoning"),
        ),
    )
    case(
        "unknown_field-pending-and-unknown",
        "an unknown name is judged at once, a pending one when the kind is read",
        noted(
            b'{<|>"name":"n",<|>"model":"m","kind":"user",'
            + TEXT
            + b","
            + TIME
            + b',<|>"resultOk":1}',
            ("unknown_field", "name"),
            ("unknown_field", "model"),
            ("unknown_field", "resultOk"),
            entry=PLAIN,
            strict=1,
        ),
    )
    case(
        "unknown_field-pending-then-again",
        "a pending name is dropped, and again after the kind",
        noted(
            b'{<|>"name":"n","kind":"user",<|>"name":{},' + TEXT + b"," + TIME + b"}",
            ("unknown_field", "name"),
            ("unknown_field", "name"),
            entry=PLAIN,
        ),
    )
    case(
        "unknown_field-before-missing",
        "lenient: a bad line has only the diagnostic of its fault",
        apart(
            user(b'<|>"x":1', TEXT, b'"y":2')[:-1] + b"<|>}",
            ("unknown_field", "x"),
            ("missing_field", "captured_at"),
        ),
        good(A),
    )
    case(
        "unknown_field-before-duplicate",
        "likewise where the fault comes after a dropped name",
        apart(
            user(b'<|>"x":1', TEXT, b'<|>"text":"b"', TIME),
            ("unknown_field", "x"),
            ("duplicate_key", "text"),
        ),
        good(A),
    )
    for name, template in {
        "65-arrays": b"[" * 64 + b"<|>[" + b"]" * 65,
        "65-objects": b'{"a":' * 64 + b"<|>{" + b"}" * 65,
        "65-mixed": b'[{"a":' * 32 + b"<|>[" + b"]" + b"}]" * 32,
        "array-comma": b"[1,<|>]",
        "array-comma-first": b"[<|>,1]",
        "array-no-comma": b"[1 <|>2]",
        "array-closed-by-brace": b"[1<|>}",
        "object-closed-by-bracket": b'{"a":1<|>]',
        "object-comma": b'{"a":1,<|>}',
        "object-number-name": b"{<|>1:2}",
        "object-no-colon": b'{"a"<|>}',
        "object-no-value": b'{"a":<|>}',
        "nan": b"<|>NaN",
        "infinity": b"<|>Infinity",
        "minus-infinity": b"-<|>Infinity",
        "nan-inside": b"[<|>NaN]",
        "minus": b"-<|>",
        "plus": b"<|>+1",
        "dot": b"<|>.5",
        "dot-end": b"1.<|>",
        "dot-letter": b"1.<|>e5",
        "exponent": b"1e<|>",
        "exponent-sign": b"1e+<|>",
        "leading-zero-inside": b"[0<|>1]",
        "hexadecimal-inside": b"[0<|>x10]",
        "minus-zero-digit-inside": b"[-0<|>1]",
        "true-cut": b"tru<|>",
        "null-wrong": b"nul<|>1",
        "null-inside": b"[nul<|>]",
        "word": b"<|>x",
        "empty": b"<|>",
        "bad-escape": b'"a\\<|>q"',
        "bad-escape-in-name": b'{"a\\u0<|>q":1}',
        "comment": b"<|>/*x*/1",
        "byte-ff": b"<|>\xff",
        "byte-ff-inside": b"[<|>\xff]",
        "control-inside": b"[1,<|>\x01]",
        "vertical-tab-inside": b"[<|>\x0b1]",
    }.items():
        line = user(b'<|>"x":' + template, TEXT, TIME)
        case(
            f"unknown_field-bad-value-{name}",
            "lenient: a dropped value that is not JSON makes the line bad",
            apart(line, ("unknown_field", "x"), ("malformed_json", "x")),
            good(A),
        )
    for name, template in {
        "leading-zero": b"0<|>1",
        "hexadecimal": b"0<|>x10",
        "minus-leading-zero": b"-0<|>1",
        "two-dots": b"1.5<|>.2",
        "two-exponents": b"1e5<|>e5",
        "null-longer": b"null<|>l",
        "true-longer": b"true<|>1",
        "array-longer": b"[]<|>]",
        "string-longer": b'"a"<|>"b"',
    }.items():
        line = user(b'<|>"x":' + template, TEXT, TIME)
        case(
            f"unknown_field-after-value-{name}",
            "lenient: a byte after the dropped value is of no member",
            apart(line, ("unknown_field", "x"), ("malformed_json", None)),
            good(A),
        )
    for name, (template, reason) in {
        "utf8": (b'"a<|>\xff"', "invalid_utf8"),
        "utf8-in-name": (b'{"<|>\xc0\x80":1}', "invalid_utf8"),
        "utf8-nested": (b'[[{"a":"<|>\xed\xa0\x80"}]]', "invalid_utf8"),
        "control": (b'"a<|>\tb"', "control_character"),
        "control-in-name": (b'[{"a<|>\0":1}]', "control_character"),
    }.items():
        line = user(b'<|>"x":' + template, TEXT, TIME)
        case(
            f"unknown_field-bad-string-{name}",
            "lenient: strings in a dropped value obey the same rules",
            apart(line, ("unknown_field", "x"), (reason, "x")),
            good(A),
        )
    for name, (template, member) in {
        "value": (b'{"kind":"user",<|>"x":[1,<|>', "x"),
        "string": (b'{"kind":"user",<|>"x":"a<|>', "x"),
        "number": (b'{"kind":"user",<|>"x":-<|>', "x"),
        "whole-number": (b'{"kind":"user",<|>"x":12<|>', None),
        "name": (b'{"kind":"user",<|>"x"<|>', "x"),
        "colon": (b'{"kind":"user",<|>"x":<|>', "x"),
        "no-colon": (b'{"kind":"user",<|>"x"<|>}', "x"),
    }.items():
        case(
            f"unknown_field-cut-{name}",
            "lenient: a line that ends too early",
            apart(template, ("unknown_field", "x"), ("malformed_json", member)),
            good(A),
        )
    long = b"n" * 70
    case(
        "unknown_field-long-name-bad-value",
        "at most 64 characters of a name are said, inside its value too",
        apart(
            user(b'<|>"' + long + b'":[<|>!]'),
            ("unknown_field", "n" * 64),
            ("malformed_json", "n" * 64),
        ),
        good(A),
    )
    case(
        "unknown_field-value-not-read",
        "strict reads no value of an unknown name",
        apart(
            b'{<|>"deep":' + b"[" * 64 + b"<|>" + b"[" * 500,
            ("unknown_field", "deep"),
            ("malformed_json", "deep"),
        ),
        good(A),
    )
    for name, (template, reason, member) in {
        "wrong-type": (b'{"name":"n","text":<|>5,"kind":"user"}', "wrong_type", "text"),
        "wrong-type-of-its-own": (
            b'{"name":<|>5,"kind":"user",' + TEXT + b"," + TIME + b"}",
            "wrong_type",
            "name",
        ),
        "result-ok-string": (
            b'{"resultOk":<|>"true","kind":"user",' + TEXT + b"," + TIME + b"}",
            "wrong_type",
            "resultOk",
        ),
        "text-null": (b'{"text":<|>null,"kind":"tool_call",' + TIME + b"}", "wrong_type", "text"),
        "malformed": (b'{"name":"n"<|>;"kind":"user"}', "malformed_json", None),
        "unknown-kind": (b'{"name":"n","kind":<|>"image"}', "unknown_kind", "kind"),
        "no-kind": (b'{"name":"n",' + TEXT + b"," + TIME + b"<|>}", "missing_field", "kind"),
        "bad-time": (
            b'{"name":"n","captured_at":<|>"now","kind":"user"}',
            "bad_timestamp",
            "captured_at",
        ),
        "bad-string": (b'{"name":"n\\<|>q","kind":"user"}', "malformed_json", "name"),
        "control": (b'{"name":"n<|>\x01","kind":"user"}', "control_character", "name"),
        "cut": (b'{"name":"n","kind":"user<|>', "malformed_json", "kind"),
    }.items():
        case(
            f"{reason}-before-kind-{name}",
            "a fault before the kind was read ends the line there",
            bad(template, reason, member),
            good(A),
        )


def values() -> None:
    """The reasons of values, of what is absent, and `trailing_data`."""
    wrong = {
        "null": b"null",
        "number": b"5",
        "minus": b"-",
        "true": b"true",
        "array": b"[]",
        "object": b"{}",
        "cut-null": b"n",
        "cut-true": b"tru",
        "number-garbage": b"0xyz",
        "nested-garbage": b"[[\x01\xff",
    }
    for name, value in wrong.items():
        for member in ("kind", "text", "captured_at"):
            line = bad(b'{"' + member.encode() + b'":<|>' + value + b"}", "wrong_type", member)
            case(
                f"wrong_type-{member}-{name}",
                "a string is needed; the first byte decides",
                line,
                good(A),
            )
    for member in ("name", "argsText", "resultText", "source_line_id", "source_message_id"):
        line = bad(call(b'"' + member.encode() + b'":<|>null'), "wrong_type", member)
        case(f"wrong_type-{member}-null", "null is not an absent member", line, good(A))
        line = bad(call(b'"' + member.encode() + b'": \t<|>{"a":1}'), "wrong_type", member)
        case(f"wrong_type-{member}-object", "nothing nests", line, good(A))
    for name, value in {
        "string": b'"true"',
        "null": b"null",
        "zero": b"0",
        "one": b"1",
        "minus": b"-1",
        "array": b"[true]",
        "object": b"{}",
        "cut-null": b"nul",
        "bad-string": b'"\\q\xff',
    }.items():
        case(
            f"wrong_type-resultOk-{name}",
            "a boolean is needed; the first byte decides",
            bad(call(b'"resultOk":<|>' + value), "wrong_type", "resultOk"),
            good(A),
        )
    case(
        "wrong_type-deep",
        "depth cannot hurt",
        bad(user(b'"text":<|>' + b"[" * 5000), "wrong_type", "text"),
        good(A),
    )
    case(
        "wrong_type-escaped-name",
        "the field is the name after unescaping",
        bad(user(rb'"te\u0078t":<|>5'), "wrong_type", "text"),
        good(A),
    )

    for name, value in {
        "image": b"image",
        "empty": b"",
        "upper-case": b"User",
        "space": b"user ",
        "tool": b"tool",
        "tool-result": b"tool_result",
        "prefix": b"use",
        "nul": rb"user\u0000",
        "lone-surrogate": rb"\ud83d",
        "emoji": "\U0001f600".encode(),
        "cyrillic": "us\u0435r".encode(),
        "long": b"u" * 300,
    }.items():
        case(
            f"unknown_kind-{name}",
            "a kind that there is not",
            good(U),
            bad(
                b'{"kind":<|>"' + value + b'",' + TEXT + b"," + TIME + b"}", "unknown_kind", "kind"
            ),
            good(A),
        )
    case(
        "unknown_kind-last",
        "the kind comes last",
        bad(b"{" + TEXT + b"," + TIME + b',"kind" : <|>"note"}', "unknown_kind", "kind"),
        good(A),
    )
    case(
        "unknown_kind-before-the-rest",
        "nothing after it is looked at",
        bad(b'{"kind":<|>"note";', "unknown_kind", "kind"),
        good(A),
    )

    for name, value in {
        "empty": b"",
        "word": b"yesterday",
        "no-milliseconds": b"2026-09-01T00:00:00Z",
        "two-digits": b"2026-09-01T00:00:00.00Z",
        "six-digits": b"2026-09-01T00:00:00.000000Z",
        "comma": b"2026-09-01T00:00:00,000Z",
        "offset": b"2026-09-01T00:00:00.000+00:00",
        "no-zone": b"2026-09-01T00:00:00.000",
        "lower-z": b"2026-09-01T00:00:00.000z",
        "lower-t": b"2026-09-01t00:00:00.000Z",
        "space": b"2026-09-01 00:00:00.000Z",
        "slashes": b"2026/09/01T00:00:00.000Z",
        "leading-space": b" 2026-09-01T00:00:00.000Z",
        "trailing-space": b"2026-09-01T00:00:00.000Z ",
        "trailing-lf": rb"2026-09-01T00:00:00.000Z\n",
        "trailing-nul": rb"2026-09-01T00:00:00.000Z\u0000",
        "one-digit-month": b"2026-9-01T00:00:00.000Z",
        "long-year": b"+012026-09-01T00:00:00.000Z",
        "minus-year": b"-026-09-01T00:00:00.000Z",
        "plus-month": b"2026-+9-01T00:00:00.000Z",
        "space-in-number": b"2026-09- 1T00:00:00.000Z",
        "underscore": b"2_26-09-01T00:00:00.000Z",
        "wide-digits": "2026-09-0\uff11T00:00:00.000Z".encode(),
        "arabic-digits": "\u0662\u0660\u0662\u0666-09-01T00:00:00.000Z".encode(),
        "superscript": "2026-09-0\u00b9T00:00:00.000Z".encode(),
        "lone-surrogate": rb"2026-09-01T00:00:00.000\ud83d",
        "month-00": b"2026-00-01T00:00:00.000Z",
        "month-13": b"2026-13-01T00:00:00.000Z",
        "day-00": b"2026-09-00T00:00:00.000Z",
        "day-32": b"2026-01-32T00:00:00.000Z",
        "april-31": b"2026-04-31T00:00:00.000Z",
        "september-31": b"2026-09-31T00:00:00.000Z",
        "february-30": b"2024-02-30T00:00:00.000Z",
        "leap-day-2023": b"2023-02-29T00:00:00.000Z",
        "leap-day-1900": b"1900-02-29T00:00:00.000Z",
        "leap-day-2100": b"2100-02-29T00:00:00.000Z",
        "leap-day-0100": b"0100-02-29T00:00:00.000Z",
        "hour-24": b"2026-09-01T24:00:00.000Z",
        "minute-60": b"2026-09-01T23:60:00.000Z",
        "second-60": b"2026-12-31T23:59:60.000Z",
        "second-61": b"2026-12-31T23:59:61.000Z",
        "hour-99": b"2026-09-01T99:00:00.000Z",
    }.items():
        case(
            f"bad_timestamp-{name}",
            "not of the form, or no real date",
            good(U),
            bad(timed(value), "bad_timestamp", "captured_at"),
            good(A),
        )
    case(
        "bad_timestamp-before-the-rest",
        "judged when it was read",
        bad(b'{"captured_at":<|>"now","bogus":1}', "bad_timestamp", "captured_at"),
        good(A),
    )
    case(
        "bad_timestamp-tool",
        "of a tool call",
        bad(
            b'{"kind":"tool_call","captured_at" : <|>"2026-02-29T00:00:00.000Z"}',
            "bad_timestamp",
            "captured_at",
        ),
        good(A),
    )

    for name, (template, member) in {
        "everything": (b"{<|>}", "kind"),
        "everything-space": (b"{ \t\r<|>}", "kind"),
        "kind": (b"{" + TEXT + b"," + TIME + b"<|>}", "kind"),
        "kind-of-a-tool": (b'{"name":"Bash","argsText":"{}",' + TIME + b"<|>}", "kind"),
        "kind-and-time": (b"{" + TEXT + b"<|>}", "kind"),
        "text": (b'{"kind":"user",' + TIME + b" <|>}", "text"),
        "text-and-time": (b'{"kind":"assistant"<|>}', "text"),
        "text-of-an-error": (b'{"kind":"error",' + TIME + b',"source_line_id":"x"<|>}', "text"),
        "time": (b'{"kind":"reasoning",' + TEXT + b"<|>}", "captured_at"),
        "time-of-a-tool": (b'{"kind":"tool_call","name":"Bash"<|>}', "captured_at"),
        "time-kind-last": (b"{" + TEXT + b',"kind":"user"\t<|>}', "captured_at"),
        "before-trailing": (b"{<|>}}", "kind"),
        "before-garbage": (b'{"kind":"user"<|>} x', "text"),
    }.items():
        case(
            f"missing_field-{name}",
            "a required name is absent",
            good(U),
            bad(template, "missing_field", member),
            good(A),
        )

    for name, rest in {
        "glued-object": A,
        "brace": b"}",
        "word": b"x",
        "comma": b",",
        "comma-object": b"," + A,
        "number": b"0",
        "nul": b"\0",
        "nuls": b"\0" * 100,
        "control": b"\x01",
        "vertical-tab": b"\x0b",
        "form-feed": b"\x0c",
        "byte-ff": b"\xff",
        "bom": BOM,
        "no-break-space": b"\xc2\xa0",
        "line-separator": b"\xe2\x80\xa8",
        "comment": b"//",
        "backslash": b"\\n",
    }.items():
        case(
            f"trailing_data-{name}",
            "anything but white space after the object",
            good(U),
            bad(U + MARK + rest, "trailing_data"),
            good(A),
        )
        case(
            f"trailing_data-space-{name}",
            "the offset is that of its first byte",
            bad(U + b" \r\t" + MARK + rest, "trailing_data"),
            good(A),
        )
    case(
        "trailing_data-after-notes",
        "lenient: a bad line has only the diagnostic of its fault",
        apart(
            user(b'<|>"x":1', TEXT, TIME) + b" <|>{}",
            ("unknown_field", "x"),
            ("trailing_data", None),
        ),
        good(A),
    )


def several() -> None:
    """Files with more than one fault: strict stops at the first, lenient goes on."""
    case(
        "many-lines",
        "one of nearly everything; line numbers and offsets go on over bad lines",
        good(U),
        bad(b'{"kind":"assis<|>', "malformed_json", "kind"),
        good(A),
        bad(MARK, "blank_line"),
        bad(MARK + b"\0" * 50, "nul_padding"),
        bad(MARK + b"\0" * 3 + T, "nul_padding", entry=T),
        bad(U[:-1] + b',<|>"text":"again"}', "duplicate_key", "text"),
        bad(U[:-1] + b',<|>"model":"m"}', "unknown_field", "model", entry=U),
        bad(said(b"<|>\xff"), "invalid_utf8", "text"),
        bad(said(b"<|>\x07"), "control_character", "text"),
        bad(U + MARK + U, "trailing_data"),
        bad(MARK + b"[]", "not_an_object"),
        good(said(rb"\ud83d")),
        bad(user(b'"text":<|>null'), "wrong_type", "text"),
        bad(b'{"kind":<|>"image"}', "unknown_kind", "kind"),
        bad(timed(b"2026-02-30T00:00:00.000Z"), "bad_timestamp", "captured_at"),
        bad(b"{<|>}", "missing_field", "kind"),
        good(CALL),
        tail=b"\xef\xbb\xbf\0[",
    )
    case(
        "excerpt-middle",
        "forty bytes on each side",
        bad(
            said(
                b"0123456789" * 5 + b'\xc3\xa9"\\\\ <|>\x01 \xc3\xa9~\x7f' + b"9876543210" * 5
            ).replace(b'\xa9"', b"\xa9'"),
            "control_character",
            "text",
        ),
    )
    case(
        "excerpt-second-line",
        "nothing of the line before",
        good(U),
        bad(b"   <|>[", "not_an_object"),
    )
    case("excerpt-short", "nothing of the line after", bad(b"{<|>", "malformed_json"), good(A))
    case(
        "excerpt-cut-character",
        "cut between the bytes of a character",
        bad(said("é".encode() * 30 + b"<|>\x1f" + "é".encode() * 30), "control_character", "text"),
    )


def pairs() -> Iterator[tuple[str, bytes]]:
    """Every file of `cases/` but its README, by name, with its bytes."""
    for name, (data, said_) in sorted(CASES.items()):
        yield f"{name}.jsonl", data
        yield f"{name}.json", (json.dumps(said_, indent=1) + "\n").encode()


for part in (
    good_lines,
    boms,
    line_lengths,
    nuls,
    blanks,
    objects,
    structure,
    strings,
    names,
    values,
    several,
):
    part()


def main() -> None:
    """Writes the files, and removes those of cases that are no more."""
    wanted = dict(pairs())
    for path in HERE.glob("*.json*"):
        if path.name not in wanted:
            path.unlink()
    for name, data in wanted.items():
        (HERE / name).write_bytes(data)


if __name__ == "__main__":
    main()
