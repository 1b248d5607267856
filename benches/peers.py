"""What a user would pick instead, each doing the strict job as fully as the tool allows.

Every peer is used as its own documentation says is fastest for this job. The strict job:
check each complete line and keep an index (offset, kind and id of every entry), or, for the
tools that make tables, the table. `strictness.py` finds out what each leaves unchecked.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal, Union

from .generate import Sample

Counts = tuple[int, int]
"""Entries and user entries."""

TEXT_KINDS = ("user", "assistant", "reasoning", "error")
STRINGS = ("text", "captured_at", "source_line_id", "source_message_id")
TOOL_STRINGS = ("name", "argsText", "resultText")
ALLOWED = {kind: frozenset({"kind", *STRINGS}) for kind in TEXT_KINDS}
ALLOWED["tool_call"] = frozenset(
    {"kind", *TOOL_STRINGS, "resultOk", "captured_at", "source_line_id", "source_message_id"}
)
REQUIRED = {kind: frozenset({"kind", "text", "captured_at"}) for kind in TEXT_KINDS}
REQUIRED["tool_call"] = frozenset({"kind", "captured_at"})
COLUMNS = ("kind", *STRINGS, *TOOL_STRINGS)

TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", re.ASCII)
SURROGATE = re.compile("[\ud800-\udfff]")

Decode = Callable[[bytes], tuple[Any, Any]]
"""One line to its kind and id; an exception is a refusal."""


@dataclass(frozen=True)
class Peer:
    """`make` builds what is built once (a decoder); what it returns reads one sample.

    `counts` tells what a reading found. It runs after the clock was stopped.
    """

    name: str
    make: Callable[[], Callable[[Sample], Any]]
    counts: Callable[[Any], Counts]
    threads: str = "one"


def check(entry: Any) -> None:
    """Members, types and kind of one decoded line, which the plain JSON tools cannot check."""
    if type(entry) is not dict:
        raise ValueError("not an object")
    kind = entry.get("kind")
    if type(kind) is not str or kind not in ALLOWED:
        raise ValueError("kind")
    names = entry.keys()
    if not names <= ALLOWED[kind] or not names >= REQUIRED[kind]:
        raise ValueError("members")
    for name, value in entry.items():
        if type(value) is not (bool if name == "resultOk" else str):
            raise ValueError("type")


def check_timestamp(text: str) -> None:
    """The one form that Letta Code writes, and a real date."""
    if not TIMESTAMP.fullmatch(text):
        raise ValueError("captured_at")
    # Year 0000 is a leap year of the proleptic calendar; Python's calendar begins with year 1.
    datetime.fromisoformat(("2000" if text.startswith("0000") else text[:4]) + text[4:-1])


def once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entry = dict(pairs)
    if len(entry) != len(pairs):
        raise ValueError("duplicate key")
    return entry


def by_line(path: Path, decode: Decode) -> list[tuple[int, Any, Any]]:
    """The index that a reader needs, of the complete lines only."""
    index, offset = [], 0
    with path.open("rb", buffering=1 << 20) as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                break
            try:
                kind, identifier = decode(line)
            except Exception as error:
                raise ValueError(f"line {number}, offset {offset}: {error}") from error
            index.append((offset, kind, identifier))
            offset += len(line)
    return index


def count_index(index: list[tuple[int, Any, Any]]) -> Counts:
    kinds = Counter(
        kind if isinstance(kind, str) else kind.__name__.lower() for _, kind, _ in index
    )
    return len(index), kinds["user"]


def count_objects(entries: list[Any]) -> Counts:
    return len(entries), sum(type(entry).__name__ == "User" for entry in entries)


def json_peer() -> Callable[[Sample], Any]:
    """All that lettafast checks, with the standard library: the rival of the pure backend."""
    loads = json.JSONDecoder(object_pairs_hook=once_each).decode

    def decode(line: bytes) -> tuple[Any, Any]:
        entry = loads(line.decode())
        check(entry)
        check_timestamp(entry["captured_at"])
        if b"\\ud" in line or b"\\uD" in line:
            for value in entry.values():
                if value is not True and value is not False:
                    SURROGATE.sub("\ufffd", value)
        return entry["kind"], entry.get("source_line_id")

    return lambda sample: by_line(sample.path, decode)


def orjson_peer() -> Callable[[Sample], Any]:
    from orjson import loads

    def decode(line: bytes) -> tuple[Any, Any]:
        entry = loads(line)
        check(entry)
        return entry["kind"], entry.get("source_line_id")

    return lambda sample: by_line(sample.path, decode)


def msgspec_decoder() -> Any:
    import msgspec

    optional = str | msgspec.UnsetType
    options: dict[str, Any] = {"forbid_unknown_fields": True, "tag_field": "kind", "gc": False}
    identifiers = [(name, optional, msgspec.UNSET) for name in STRINGS[2:]]
    text: list[Any] = [("text", str), ("captured_at", str), *identifiers]
    kinds: list[Any] = [
        msgspec.defstruct(kind.capitalize(), text, tag=kind, **options) for kind in TEXT_KINDS
    ]
    tool: list[Any] = [
        ("captured_at", str),
        *((name, optional, msgspec.UNSET) for name in TOOL_STRINGS),
        ("resultOk", bool | msgspec.UnsetType, msgspec.UNSET),
        *identifiers,
    ]
    kinds.append(msgspec.defstruct("Tool", tool, tag="tool_call", **options))
    union = kinds[0]
    for kind in kinds[1:]:
        union |= kind
    return msgspec.json.Decoder(union, strict=True)


def msgspec_peer() -> Callable[[Sample], Any]:
    parse = msgspec_decoder().decode

    def decode(line: bytes) -> tuple[Any, Any]:
        entry = parse(line)
        return type(entry), entry.source_line_id

    return lambda sample: by_line(sample.path, decode)


def msgspec_lines_peer() -> Callable[[Sample], Any]:
    decode_lines = msgspec_decoder().decode_lines
    return lambda sample: decode_lines(sample.path.read_bytes())


def pydantic_peer() -> Callable[[Sample], Any]:
    import pydantic

    config = pydantic.ConfigDict(extra="forbid", strict=True)
    optional: dict[str, Any] = dict.fromkeys(STRINGS[2:], (str, ""))
    text = optional | {"text": (str, ...), "captured_at": (str, ...)}
    members = dict.fromkeys(TEXT_KINDS, text)
    members["tool_call"] = optional | dict.fromkeys(TOOL_STRINGS, (str, ""))
    members["tool_call"] |= {"captured_at": (str, ...), "resultOk": (bool, False)}
    models = [
        pydantic.create_model(
            kind.capitalize(), __config__=config, kind=(Literal[kind], ...), **fields
        )
        for kind, fields in members.items()
    ]
    union: Any = Union[tuple(models)]  # noqa: UP007 - its members are known only now
    tagged: Any = Annotated[union, pydantic.Field(discriminator="kind")]
    validate: Any = pydantic.TypeAdapter(tagged).validate_json

    def decode(line: bytes) -> tuple[Any, Any]:
        entry = validate(line)
        return entry.kind, entry.source_line_id

    return lambda sample: by_line(sample.path, decode)


def pysimdjson_peer() -> Callable[[Sample], Any]:
    import simdjson

    parse = simdjson.Parser().parse

    def decode(line: bytes) -> tuple[Any, Any]:
        document = parse(line)
        entry: Any = document.as_dict() if isinstance(document, simdjson.Object) else document
        del document  # the parser takes no other while one is alive
        check(entry)
        return entry["kind"], entry.get("source_line_id")

    return lambda sample: by_line(sample.path, decode)


def polars_schema() -> dict[str, Any]:
    import polars

    return {**dict.fromkeys(COLUMNS, polars.String), "resultOk": polars.Boolean}


def polars_peer() -> Callable[[Sample], Any]:
    import polars

    schema = polars_schema()
    return lambda sample: polars.read_ndjson(sample.path, schema=schema)


def polars_scan_peer() -> Callable[[Sample], Any]:
    import polars

    schema = polars_schema()
    lengths = [
        polars.col(name).str.len_bytes().alias(f"{name}_bytes")
        for name in ("text", "argsText", "resultText")
    ]

    def read(sample: Sample) -> Any:
        frame = polars.scan_ndjson(sample.path, schema=schema)
        return frame.select("kind", "source_line_id", *lengths).collect(engine="streaming")

    return read


def count_frame(frame: Any) -> Counts:
    return frame.height, int((frame["kind"] == "user").sum())


def duckdb_peer() -> Callable[[Sample], Any]:
    import duckdb

    columns = ", ".join(f"{name}: 'VARCHAR'" for name in COLUMNS) + ", resultOk: 'BOOLEAN'"
    # The columns are constants of this module; the path is bound as a parameter.
    query = (
        "SELECT kind, source_line_id, length(text), length(argsText), length(resultText), "
        f"resultOk FROM read_json(?, format = 'newline_delimited', columns = {{{columns}}}, "
        f"maximum_object_size = {64 << 20})"
    )

    def read(sample: Sample) -> Any:
        with duckdb.connect() as connection:
            return connection.sql(query, params=[str(sample.path)]).to_arrow_table()

    return read


def pyarrow_peer() -> Callable[[Sample], Any]:
    import pyarrow
    from pyarrow import json as arrow_json

    fields = [(name, pyarrow.string()) for name in COLUMNS] + [("resultOk", pyarrow.bool_())]
    parse = arrow_json.ParseOptions(
        explicit_schema=pyarrow.schema(fields), unexpected_field_behavior="error"
    )

    def read(sample: Sample) -> Any:
        # A line must fit into one block.
        block = 64 << 20 if sample.longest_line > 8 << 20 else 8 << 20
        options = arrow_json.ReadOptions(block_size=block)
        return arrow_json.read_json(sample.path, read_options=options, parse_options=parse)

    return read


def count_table(table: Any) -> Counts:
    return table.num_rows, Counter(table["kind"].to_pylist())["user"]


def trajectory_peer() -> Callable[[Sample], Any]:
    """To turns, whole texts: its cuts are switched off."""
    from trajectory import normalize_transcript

    def read(sample: Sample) -> Any:
        with sample.path.open(encoding="utf-8", newline="") as file:
            transcript = file.read()
        result = normalize_transcript(
            source="letta-code",
            transcript=transcript,
            bounds={
                "toolArguments": {"maxCharacters": None},
                "toolResults": {"maxCharacters": None},
            },
        )
        return result["records"]

    return read


def count_records(records: list[dict[str, Any]]) -> Counts:
    """It has no error entries, and a record of its own for a tool's result."""
    roles = Counter(record["role"] for record in records)
    return roles["user"] + roles["assistant"] + roles["reasoning"], roles["user"]


PEERS = {
    peer.name: peer
    for peer in (
        Peer("msgspec", msgspec_peer, count_index),
        Peer("orjson", orjson_peer, count_index),
        Peer("json", json_peer, count_index),
        Peer("pydantic", pydantic_peer, count_index),
        Peer("pysimdjson", pysimdjson_peer, count_index),
        Peer("msgspec decode_lines", msgspec_lines_peer, count_objects),
        Peer("polars read_ndjson", polars_peer, count_frame, "all"),
        Peer("polars scan_ndjson", polars_scan_peer, count_frame, "all"),
        Peer("duckdb", duckdb_peer, count_table, "all"),
        Peer("pyarrow", pyarrow_peer, count_table, "all"),
    )
}
TRAJECTORY = Peer("agent-trajectory", trajectory_peer, count_records, "one, in Node")


def iterate_json(sample: Sample) -> Iterator[Any]:
    with sample.path.open("rb", buffering=1 << 20) as file:
        yield from map(json.loads, file)


def iterate_orjson(sample: Sample) -> Iterator[Any]:
    from orjson import loads

    with sample.path.open("rb", buffering=1 << 20) as file:
        yield from map(loads, file)


def iterate_msgspec(sample: Sample) -> Iterator[Any]:
    decode = msgspec_decoder().decode
    with sample.path.open("rb", buffering=1 << 20) as file:
        yield from map(decode, file)
