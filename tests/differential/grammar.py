"""Transcripts by chance: rows in every form that JSON allows, then bytes changed at random.

Everything is drawn from one `random.Random`, so a seed names a transcript for ever, and
hypothesis can drive it too (`hypothesis.strategies.randoms`).
"""

from __future__ import annotations

import json
from random import Random

KINDS = ["user", "assistant", "assistant", "reasoning", "error", "tool_call", "tool_call"]
TOOL_MEMBERS = ["name", "argsText", "resultText"]
IDS = ["source_line_id", "source_message_id"]
LINE_IDS = ["", *"m m-split-0 m-split-1 m-split-2 n-split-9 n-split-10 n call-1".split()]
ASCII = "abcXYZ 019{}[]:,/'"
CHARS = [
    *ASCII,
    *'\0\x01\x1f\n\r\t\b\f"\\',
    *"\x7f\x85\u00e9\u07ff\u0800\u20ac\u2028\u2029\ufeff",
    *"\ufffd\uffff\U00010000\U0001f600\U0010ffff",
    *"\ud800\ud83d\udbff\udc00\ude00\udfff",
]
SHORT = {'"': '"', "\\": "\\", "/": "/", "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t"}
NOISE = [
    *(bytes([byte]) for byte in b'\0\x01\t\n\r "\\{}[],:/u0x\x7f\x80\xbf\xc0\xc3\xff'),
    *(b"\xe2\x82", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xf0\x9f", b"\xf4\x90\x80\x80"),
    *(b"\\u", b"\\ud83d", b"null", b"true", b"-1", b"1e5"),
    *(b'"text":', b'"kind":"user"', b"\n\n", b"\0\0\n"),
]


def likely(random: Random, chance: float) -> bool:
    """Whether it happens; what hypothesis tries first, 0.0, is that it does not."""
    return random.random() >= 1 - chance


def text(random: Random) -> str:
    length = random.choice([0, 1, 1, 2, 3, 5, 8, 20])
    if likely(random, 0.01):
        length = random.choice([3_999, 4_000, 4_001, 9_000])
        return "".join(random.choices(CHARS, k=length))
    return "".join(random.choices(CHARS if likely(random, 0.5) else ASCII, k=length))


def string(random: Random, value: str) -> str:
    """A JSON string of `value`, each character in one of its forms. May hold no raw surrogate."""
    plain = not likely(random, 0.6)
    out = []
    for char in value:
        code = ord(char)
        must = code < 0x20 or char in '"\\' or 0xD800 <= code <= 0xDFFF
        if not must and (plain or not likely(random, 0.3)):
            out.append(char)
        elif char in SHORT and (plain or not likely(random, 0.5)):
            out.append("\\" + SHORT[char])
        else:
            form = "04X" if likely(random, 0.5) else "04x"
            units = char.encode("utf-16-be", "surrogatepass")
            halves = (units[at : at + 2] for at in range(0, len(units), 2))
            out += ["\\u" + format(int.from_bytes(half, "big"), form) for half in halves]
    return '"' + "".join(out) + '"'


def space(random: Random, chance: float) -> str:
    if not likely(random, chance):
        return ""
    return "".join(random.choices(" \t\r", k=random.choice([1, 1, 2, 5])))


def time(random: Random) -> str:
    day = random.choice(["2026-09-01", "0000-02-29", "9999-12-31", "2024-02-29", "2026-12-31"])
    return (
        f"{day}T{random.randrange(24):02}:{random.randrange(60):02}:59.{random.randrange(1000):03}Z"
    )


def members(random: Random) -> list[tuple[str, str]]:
    """Names and values, both already JSON, of a row that strict accepts."""
    kind = random.choice(KINDS)
    found: dict[str, object] = {"kind": kind, "captured_at": time(random)}
    if kind == "tool_call":
        for name in TOOL_MEMBERS:
            if likely(random, 0.7):
                found[name] = text(random)
        if likely(random, 0.7):
            found["resultOk"] = likely(random, 0.6)
    else:
        found["text"] = text(random)
    for name in IDS:
        if likely(random, 0.6):
            found[name] = text(random) if likely(random, 0.1) else random.choice(LINE_IDS)
    order = list(found.items())
    if likely(random, 0.5):
        random.shuffle(order)
    written = []
    for name, value in order:
        said = string(random, name) if likely(random, 0.1) else json.dumps(name)
        if isinstance(value, bool):
            written.append((said, "true" if value else "false"))
        else:
            written.append((said, string(random, str(value))))
    return written


def anything(random: Random, depth: int = 0) -> str:
    """Any JSON value; what lenient drops."""
    roll = 1 - random.random()
    if depth < 4 and roll < 0.2:
        return (
            "[" + ", ".join(anything(random, depth + 1) for _ in range(random.randrange(4))) + "]"
        )
    if depth < 4 and roll < 0.4:
        inner = (
            string(random, text(random)) + ":" + anything(random, depth + 1)
            for _ in range(random.randrange(3))
        )
        return "{" + " ,".join(inner) + "}"
    if roll < 0.43:
        open_brackets = random.choice([10, 63, 64, 65, 70])
        return "[" * open_brackets + "]" * open_brackets
    literals = [
        "null",
        "true",
        "false",
        "0",
        "-0",
        "12",
        "-1.5",
        "1e9",
        "2E-3",
        "0.0e+0",
        "{}",
        "[]",
    ]
    return random.choice([*literals, '""', string(random, text(random))])


def drift(random: Random, written: list[tuple[str, str]]) -> None:
    """A change of format: a name or a value that the table does not know."""
    roll = random.random()
    at = random.randrange(len(written) + 1)
    if roll < 0.35:
        name = random.choice(["model", "v", "Text", "", "text ", "x" * 80, text(random)])
        written.insert(at, (string(random, name), anything(random)))
    elif roll < 0.6:
        name = random.choice([*TOOL_MEMBERS, "resultOk", "text", *IDS, "kind", "captured_at"])
        value = (
            "true" if name == "resultOk" and likely(random, 0.7) else string(random, text(random))
        )
        written.insert(at, (json.dumps(name), value))
    elif roll < 0.8 and at < len(written):
        written[at] = (written[at][0], anything(random))
    elif at < len(written):
        written.pop(at)


def line(random: Random, damage: float) -> bytes:
    """A row without its LF; with a chance of `damage` the format has drifted in it."""
    written = members(random)
    while likely(random, damage):
        drift(random, written)
    chance = 0.3 if likely(random, 0.4) else 0.0
    out = [space(random, chance), "{"]
    for number, (name, value) in enumerate(written):
        out += ["," if number else "", space(random, chance), name, space(random, chance)]
        out += [":", space(random, chance), value, space(random, chance)]
    out += ["}", space(random, chance)]
    return "".join(out).encode()


def mutate(random: Random, data: bytes) -> bytes:
    """A few bytes inserted, removed, changed, doubled or moved."""
    changed = bytearray(data)
    for _ in range(random.choice([1, 1, 1, 2, 3, 8])):
        at = random.randrange(len(changed) + 1)
        roll = random.random()
        if roll < 0.35:
            changed[at:at] = random.choice(NOISE)
        elif roll < 0.55:
            del changed[at : at + random.choice([1, 1, 1, 2, 5, 40])]
        elif roll < 0.75 and at < len(changed):
            changed[at] = random.randrange(256)
        elif roll < 0.85 and at < len(changed):
            changed[at] ^= 1 << random.randrange(8)
        elif roll < 0.93:
            changed[at:at] = changed[at : at + random.choice([1, 3, 20, 100])]
        else:
            del changed[at:]
    return bytes(changed)


def transcript(random: Random, *, damage: float = 0.0, mutations: float = 0.0) -> bytes:
    """A whole file; `damage` is the chance that a row drifts, `mutations` that bytes change."""
    count = random.choice([0, 1, 1, 2, 3, 5, 8, 12])
    data = b"".join(line(random, damage) + b"\n" for _ in range(count))
    if likely(random, mutations):
        data = mutate(random, data)
    if likely(random, 0.25):
        torn = line(random, 0.0)
        data += torn[: random.randrange(len(torn) + 1)]
    if likely(random, 0.1 * bool(mutations)):
        starts = [b"\xef\xbb\xbf", b"\0\0", b"\n", b" ", b"\r"]
        data = b"".join(random.choices(starts, k=random.choice([1, 2, 3]))) + data
    return data
