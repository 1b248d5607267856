"""One line of a transcript, judged.

`accept` is the fast path: it takes the lines that are surely right and reads
them with `json`. Every other line goes to `walk`, which reads it from left to
right and names the first fault, or returns the row when there is none.
"""

from __future__ import annotations

import calendar
import codecs
import contextlib
import json
import re
from collections.abc import Callable
from functools import lru_cache
from json.scanner import make_scanner
from operator import itemgetter
from typing import Any, NamedTuple, NoReturn, cast

from .errors import RefusedReason
from .records import KINDS, MAX_KEPT_DIAGNOSTICS, Entry, Kind

BOM = b"\xef\xbb\xbf"
LONG_LINE = 1 << 18
"""Bytes of a line above which it is always walked: that needs the least memory."""

_COMMON = ("kind", "captured_at", "source_line_id", "source_message_id")
_TEXT = frozenset((*_COMMON, "text"))
_TOOL = frozenset((*_COMMON, "name", "argsText", "resultText", "resultOk"))
_ALLOWED: dict[str, frozenset[str]] = {
    kind: _TOOL if kind == "tool_call" else _TEXT for kind in KINDS
}
_NAMES = _TEXT | _TOOL
_FIELD_CHARS = 64
_DEPTH = 64


class Fault(Exception):
    """What is wrong with a line, at byte `at` of it; or what a lenient reading only notes.

    `notes` come before it, of a line of NULs that holds nothing to be wrong.
    """

    def __init__(
        self,
        reason: RefusedReason,
        at: int,
        field: str | None = None,
        notes: tuple[Fault, ...] = (),
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.at = at
        self.field = field
        self.notes = notes


class Row(NamedTuple):
    """A line that `walk` found good.

    `notes` are the first of the `noted` things that strict would refuse, in the
    order of their bytes; no more are kept than anybody asks for.
    """

    kind: Kind
    members: dict[str, Any]
    replaced: int
    notes: list[Fault]
    noted: int


def read(line: bytes, offset: int, *, lenient: bool) -> Entry:
    """The entry of `line`, LF included, that begins at byte `offset`. Raises `Fault`."""
    row = None
    if len(line) <= LONG_LINE:
        with contextlib.suppress(UnicodeDecodeError):
            text = line.decode()
            row = accept(text, 0, len(text) - 1, "utf-8")
    replaced = 0
    if row is None:
        walked = walk(line, lenient=lenient, first=offset == 0, keep=True)
        kind, members, replaced = walked.kind, walked.members, walked.replaced
    else:
        kind, names, values = row
        members = dict(zip(names, values, strict=True))
    get = members.get
    return Entry(
        offset=offset,
        kind=kind,
        captured_at=members["captured_at"],
        text=get("text"),
        name=get("name"),
        args_text=get("argsText"),
        result_text=get("resultText"),
        result_ok=get("resultOk"),
        source_line_id=get("source_line_id"),
        source_message_id=get("source_message_id"),
        replaced_surrogates=replaced,
    )


# The fast path.


def _no_number(text: str) -> NoReturn:
    raise ValueError(text)


# Pairs, because a dict would hide a name that comes twice; no number is a legal value.
_decoder: Any = json.JSONDecoder(
    object_pairs_hook=tuple,
    parse_float=_no_number,
    parse_int=_no_number,
    parse_constant=_no_number,
)
_scan = make_scanner(_decoder)


def _is_loose() -> bool:
    try:
        _scan(r'"\u+123"', 0)
    except ValueError:
        return False
    return True


# `json` without its C part may read `\u` as `int(text, 16)` does: there such lines are walked.
_LOOSE = _is_loose()


class _Shape(NamedTuple):
    """What is known of a legal order of names: where the members are."""

    kinds: frozenset[str]
    kind: int
    captured_at: int
    result_ok: int | None
    # Takes the strings out of the values, where not all are strings.
    strings: Callable[[tuple[Any, ...]], tuple[Any, ...]] | None


_shapes: dict[tuple[str, ...], _Shape] = {}
_MAX_SHAPES = 256


def _shape(names: tuple[str, ...]) -> _Shape | None:
    found = frozenset(names)
    kinds = frozenset(
        kind for kind in KINDS if found <= _ALLOWED[kind] and not _missing(kind, found)
    )
    if not kinds or len(found) != len(names) or "kind" not in found:
        return None
    shape = _Shape(
        kinds,
        names.index("kind"),
        names.index("captured_at"),
        names.index("resultOk") if "resultOk" in found else None,
        itemgetter(*(at for at, name in enumerate(names) if name != "resultOk"))
        if "resultOk" in found
        else None,
    )
    if len(_shapes) < _MAX_SHAPES:
        _shapes[names] = shape
    return shape


def accept(
    text: str, start: int, end: int, codec: str
) -> tuple[Kind, tuple[str, ...], tuple[Any, ...]] | None:
    """Kind, names and values of the line `text[start:end]` when it is surely right.

    Its LF, if it is in `text`, is at `end`. `codec` is what `text` was decoded
    with, `utf-8` or (where the bytes are known to be UTF-8) `latin-1`: a string
    that it cannot encode holds an escape to be looked at, a lone surrogate
    perhaps. With `latin-1` only ASCII values have a meaning.
    """
    try:
        pairs, stop = _scan(text, start)
        if type(pairs) is not tuple:
            return None
        names, values = zip(*pairs)  # noqa: B905 - a keyword costs time; they are pairs
        shape = _shapes.get(names) or _shape(names)
        if shape is None:
            return None
        kinds, kind_at, stamp_at, ok_at, strings = shape
        "".join(strings(values) if strings else values).encode(codec)
    except (ValueError, TypeError, StopIteration, RecursionError):
        return None
    kind, stamp = values[kind_at], values[stamp_at]
    if (
        (stop != end and (stop > end or text[stop:end].strip(" \t\r")))
        or kind not in kinds
        or not (_TIME(stamp) and _is_date(stamp[:10]))
        or (ok_at is not None and type(values[ok_at]) is not bool)
        or (_LOOSE and "\\u" in text[start:end])
    ):
        return None
    return kind, names, values


_TIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]\.[0-9]{3}Z"
).fullmatch


def _is_time(stamp: str) -> bool:
    """Whether `stamp` is `YYYY-MM-DDTHH:MM:SS.mmmZ` and a real date and time."""
    return bool(_TIME(stamp) and _is_date(stamp[:10]))


@lru_cache(maxsize=1024)
def _is_date(day: str) -> bool:
    month = int(day[5:7])
    return 1 <= month <= 12 and 1 <= int(day[8:]) <= calendar.monthrange(int(day[:4]), month)[1]


def _missing(kind: str | None, names: frozenset[str] | dict[str, Any]) -> str | None:
    if kind is None:
        return "kind"
    if kind != "tool_call" and "text" not in names:
        return "text"
    return None if "captured_at" in names else "captured_at"


# The slow path.

_LF, _QUOTE, _COLON, _COMMA = b'\n":,'
_OPEN, _CLOSE, _OPEN_LIST, _CLOSE_LIST = b"{}[]"
_MINUS, _DOT, _ZERO = b"-.0"
_VALUE_START = b'"{[tfn-0123456789'
_SPACE = re.compile(rb"[ \t\r]*")
_DIGITS = re.compile(rb"[0-9]*")
_NULS = re.compile(rb"\0*")
_HEX = b"0123456789abcdefABCDEF"
_BAD_ESCAPE = re.compile(rb"\\(?:[^\"\\/bfnrtu]|u(?![0-9a-fA-F]{4}))")
_NOTABLE_ESCAPE = re.compile(rb"\\(?:[^\"\\/bfnrtu]|u(?:[dD][89a-fA-F]|(?![0-9a-fA-F]{4})))")
"""Of a bad escape or of a surrogate: one search tells that most pieces have neither."""
_PAIR = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_NOT_CONTROL = bytes(range(0x20, 0x100))
_FIRST_WINDOW = 1 << 10
_WINDOW = 1 << 16


def walk(line: bytes, *, lenient: bool, first: bool, keep: bool) -> Row:
    """The row of `line`, LF included. Raises `Fault` for its first fault.

    `first` says that it is the first line of the file. Without `keep` only
    `kind` and `captured_at` have their values, so that memory stays small.
    """
    walker = _Walk(line, lenient=lenient, keep=keep)
    walker.prefix(first=first)
    return walker.row()


class _Walk:
    """A place in a line: everything before `at` was read and is right."""

    def __init__(self, line: bytes, *, lenient: bool, keep: bool) -> None:
        self.line = line
        # The bytes as characters, for `json`; not for a long line.
        self.text = None if _LOOSE or len(line) > LONG_LINE else line.decode("latin-1")
        self.at = 0
        self.lenient = lenient
        self.keep = keep
        self.field: str | None = None
        self.kind: Kind | None = None
        # By name: value, where the name begins, surrogates replaced in the value.
        self.members: dict[str, tuple[Any, int, int]] = {}
        self.notes: list[Fault] = []
        self.noted = 0

    def malformed(self, at: int | None = None) -> Fault:
        return Fault(RefusedReason.MALFORMED_JSON, self.at if at is None else at, self.field)

    def note(self, fault: Fault, *, late: bool = False) -> None:
        """A fault that only strict refuses; a `late` one may stand before others."""
        if not self.lenient:
            raise fault
        self.noted += 1
        if late or len(self.notes) < MAX_KEPT_DIAGNOSTICS:
            self.notes.append(fault)

    def space(self) -> int:
        """Passes white space; returns the byte behind it."""
        self.at = cast("re.Match[bytes]", _SPACE.match(self.line, self.at)).end()
        return self.line[self.at]

    def prefix(self, *, first: bool) -> None:
        """What may stand before the object."""
        line = self.line
        if first and line.startswith(BOM):
            self.note(Fault(RefusedReason.BOM, 0))
            self.at = len(BOM)
        if line[self.at] == 0:
            self.note(Fault(RefusedReason.NUL_PADDING, 0))
            self.at = cast("re.Match[bytes]", _NULS.match(line, self.at)).end()
            if line[self.at] == _LF:
                raise Fault(RefusedReason.NUL_PADDING, 0, notes=tuple(self.notes[:-1]))
        byte = self.space()
        if byte == _LF:
            raise Fault(RefusedReason.BLANK_LINE, 0)
        if byte != _OPEN:
            raise Fault(RefusedReason.NOT_AN_OBJECT, self.at)

    def row(self) -> Row:
        """The object and what follows it."""
        self.at += 1
        if self.space() != _CLOSE:
            while True:
                self.member()
                self.field = None
                byte = self.space()
                if byte == _CLOSE:
                    break
                if byte != _COMMA:
                    raise self.malformed()
                self.at += 1
                self.space()
        missing = _missing(self.kind, self.members)
        if missing is not None:
            raise Fault(RefusedReason.MISSING_FIELD, self.at, missing)
        self.at += 1
        if self.space() != _LF:
            raise Fault(RefusedReason.TRAILING_DATA, self.at)
        values = {name: value for name, (value, _, _) in self.members.items()}
        replaced = sum(count for _, _, count in self.members.values())
        self.notes.sort(key=lambda fault: fault.at)
        return Row(cast("Kind", self.kind), values, replaced, self.notes, self.noted)

    def member(self) -> None:
        opening = self.at
        name = self.name()
        field = name[:_FIELD_CHARS]
        known = name in (_NAMES if self.kind is None else _ALLOWED[self.kind])
        if not known:
            self.note(Fault(RefusedReason.UNKNOWN_FIELD, opening, field))
        elif name in self.members:
            raise Fault(RefusedReason.DUPLICATE_KEY, opening, field)
        self.field = field
        self.colon()
        if not known:
            self.drop_value()
            return
        start = self.at
        byte = self.line[start]
        if byte not in _VALUE_START:
            raise self.malformed()
        if byte not in (b"tf" if name == "resultOk" else b'"'):
            raise Fault(RefusedReason.WRONG_TYPE, start, field)
        value: Any
        if name == "resultOk":
            value, replaced = self.literal() == b"true", 0
        else:
            value, replaced = self.string(keep=self.keep or name in ("kind", "captured_at"))
        self.members[name] = value, opening, replaced
        if name == "kind":
            self.judge_kind(value, start)
        elif name == "captured_at" and not _is_time(value):
            raise Fault(RefusedReason.BAD_TIMESTAMP, start, field)

    def judge_kind(self, value: str, start: int) -> None:
        """The kind is known: so is which of the earlier names it allows."""
        if value not in _ALLOWED:
            raise Fault(RefusedReason.UNKNOWN_KIND, start, "kind")
        self.kind = cast("Kind", value)
        for name in [name for name in self.members if name not in _ALLOWED[value]]:
            self.note(Fault(RefusedReason.UNKNOWN_FIELD, self.members[name][1], name), late=True)
            del self.members[name]

    def name(self) -> str:
        if self.line[self.at] != _QUOTE:
            raise self.malformed()
        return self.string(keep=True)[0]

    def colon(self) -> None:
        if self.space() != _COLON:
            raise self.malformed()
        self.at += 1
        self.space()

    def literal(self) -> bytes:
        word = {b"t": b"true", b"f": b"false", b"n": b"null"}[self.line[self.at : self.at + 1]]
        for byte in word:
            if self.line[self.at] != byte:
                raise self.malformed()
            self.at += 1
        return word

    def string(self, *, keep: bool) -> tuple[str, int]:
        """A string's text ("" without `keep`) and how many lone surrogates were replaced in it."""
        whole = self.whole()
        self.at += 1
        # As UTF-8: four times smaller than a text in which one character is wide.
        kept = bytearray()
        replaced, closed, window = 0, False, _FIRST_WINDOW
        while not closed:
            if whole is None:
                raw, surrogates, closed = self.quick_piece(window) or self.piece(window)
            else:
                raw, closed = whole, True
                surrogates = _SURROGATE_ESCAPE.search(raw) is not None
            window = min(4 * window, _WINDOW)
            self.at += len(raw)
            if not (keep or surrogates):
                continue
            if b"\\" in raw:
                text = json.loads(f'"{raw.decode()}"')
                if surrogates:
                    text, count = _SURROGATE.subn("\ufffd", text)
                    replaced += count
                raw = text.encode()
            if keep:
                kept += raw
        self.at += 1
        return kept.decode(), replaced

    def whole(self) -> bytes | None:
        """The string's bytes when `json` finds it right and it is UTF-8; None tells nothing."""
        if self.text is None:
            return None
        try:
            _, end = _scan(self.text, self.at)
            raw = self.line[self.at + 1 : end - 1]
            codecs.utf_8_decode(raw, "strict", True)
        except ValueError:
            return None
        return raw

    def quick_piece(self, window: int) -> tuple[bytes, bool, bool] | None:
        """What `piece` gives, when `json` finds it right; None tells nothing."""
        if _LOOSE:
            return None
        line, start = self.line, self.at
        end = min(start + window, len(line))
        while end < len(line):
            # An escape that begins in the last six bytes may go on, or be half of a pair.
            escape = line.rfind(b"\\", end - 6, end)
            if escape < 0:
                break
            if escape < start + window // 2:
                return None
            end = escape
        try:
            size = codecs.utf_8_decode(line[start:end], "strict", False)[1]
            text = line[start : start + size].decode("latin-1")
            found, stop = _scan(f'"{text}"', 0)
        except ValueError:
            return None
        closed = stop <= len(text) + 1
        try:
            found.encode("latin-1")
        except UnicodeEncodeError:
            wide = True
        else:
            wide = False
        return line[start : start + stop - 2], wide, closed

    def piece(self, window: int) -> tuple[bytes, bool, bool]:
        """The string's next bytes, at most `window`.

        Then whether they may hold the escape of a surrogate, and whether the string ends behind
        them. They are cut where no escape, no pair of escapes and no character is cut in two.
        """
        line, start = self.line, self.at
        # What is left of backslashes then begins an escape, and the first quote ends the string.
        raw = line[start : start + window]
        plain = raw.replace(b"\\\\", b"__").replace(b'\\"', b"__")
        quote = plain.find(b'"')
        closed = quote >= 0
        cut = not closed and start + len(raw) < len(line)
        end = quote if closed else len(raw)
        if cut:
            escape = plain.rfind(b"\\", end - 6)
            end = end if escape < 0 else escape
            if plain[end - 6 : end - 4] == b"\\u" and _PAIR.match(line, start + end - 6):
                end -= 6
        raw, plain = raw[:end], plain[:end]
        wrong: list[tuple[int, RefusedReason]] = []
        notable = _NOTABLE_ESCAPE.search(plain) is not None
        if notable and (bad := _BAD_ESCAPE.search(plain)):
            at = start + bad.start() + 1
            if line[at] == ord("u"):
                at += 1
                while line[at] in _HEX:
                    at += 1
            wrong.append((at, RefusedReason.MALFORMED_JSON))
        if control := raw.translate(None, _NOT_CONTROL):
            at = start + raw.index(control[:1])
            is_end = line[at] == _LF
            reason = RefusedReason.MALFORMED_JSON if is_end else RefusedReason.CONTROL_CHARACTER
            wrong.append((at, reason))
        try:
            raw = raw[: codecs.utf_8_decode(raw, "strict", not cut)[1]]
        except UnicodeDecodeError as error:
            wrong.append((start + error.start, RefusedReason.INVALID_UTF8))
        if wrong:
            # The first; the wrong byte of an escape is that before it is anything else.
            at, reason = min(wrong, key=itemgetter(0))
            raise Fault(reason, at, self.field)
        return raw, notable, closed

    def drop_value(self) -> None:
        """Passes any JSON value."""
        closers: list[int] = []
        while True:
            byte = self.line[self.at]
            if byte in (_OPEN, _OPEN_LIST):
                if len(closers) == _DEPTH:
                    raise self.malformed()
                closer = _CLOSE if byte == _OPEN else _CLOSE_LIST
                self.at += 1
                if self.space() != closer:
                    closers.append(closer)
                    if closer == _CLOSE:
                        self.inner_name()
                    continue
                self.at += 1
            else:
                self.drop_scalar(byte)
            while closers:
                byte = self.space()
                if byte == _COMMA:
                    self.at += 1
                    self.space()
                    if closers[-1] == _CLOSE:
                        self.inner_name()
                    break
                if byte != closers[-1]:
                    raise self.malformed()
                closers.pop()
                self.at += 1
            else:
                return

    def inner_name(self) -> None:
        self.name()
        self.colon()

    def drop_scalar(self, byte: int) -> None:
        if byte == _QUOTE:
            self.string(keep=False)
        elif byte in b"tfn":
            self.literal()
        else:
            self.number()

    def number(self) -> None:
        line = self.line
        if line[self.at] == _MINUS:
            self.at += 1
        if line[self.at] == _ZERO:
            self.at += 1
        else:
            self.digits()
        if line[self.at] == _DOT:
            self.at += 1
            self.digits()
        if line[self.at] in b"eE":
            self.at += 1
            if line[self.at] in b"+-":
                self.at += 1
            self.digits()

    def digits(self) -> None:
        end = cast("re.Match[bytes]", _DIGITS.match(self.line, self.at)).end()
        if end == self.at:
            raise self.malformed()
        self.at = end
