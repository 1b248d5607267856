"""Development only: lettafast and agent-trajectory give the same messages of the recordings.

    python -m benches.compare_trajectory [FOLDER]

`agent-trajectory` (PyPI; it runs Node 20 or newer) is Letta's own reader, for training data
rather than for people. It makes a list of messages of a transcript; this makes the same list
of lettafast's entries and compares them one by one: role, whole text, time, and which tool
result belongs to which call. Its own rules that are no difference in reading:

- error entries, and texts of white space alone, are dropped; so are user entries that begin
  with one of its noise prefixes;
- a tool call without arguments has `{}`, one whose arguments are no JSON object has them under
  `_raw`, and one without a name is `unknown_tool`;
- a failed result gets `Error: ` in front where it does not begin with that word;
- ids are its own: a repeated one is renamed. The comparison numbers the calls instead;
- it cuts arguments and outputs unless asked not to (here it is asked not to), and hands lone
  surrogates on, which lettafast reads as U+FFFD.

Prints a table; exits with 1 on any other difference.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import lettafast

RECORDINGS = Path(__file__).resolve().parent.parent / "fixtures"
NOISE = (
    "<local-command-caveat>",
    "<command-name>",
    "<command-message>",
    "<local-command-stdout>",
    "<local-command-stderr>",
    "<task-notification",
)
WHITE_SPACE = (  # what JavaScript's trim() takes
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
SURROGATE = re.compile("[\ud800-\udfff]")

Message = tuple[str, ...]
"""Role, time, and what there is to compare of it."""


def from_lettafast(path: Path) -> tuple[list[Message], int]:
    """The messages, and how many entries agent-trajectory drops."""
    messages: list[Message] = []
    calls = dropped = 0
    with lettafast.open_transcript(path) as transcript:
        for entry in transcript.entries():
            if entry.kind == "tool_call":
                calls += 1
                messages += tool_messages(entry, str(calls))
            elif entry.kind == "error" or is_noise(entry):
                dropped += 1
            else:
                assert entry.text is not None
                messages.append((entry.kind, entry.captured_at, entry.text))
    return messages, dropped


def is_noise(entry: lettafast.Entry) -> bool:
    assert entry.text is not None
    text = entry.text.lstrip(WHITE_SPACE)
    return not text or (entry.kind == "user" and text.startswith(NOISE))


def tool_messages(entry: lettafast.Entry, call: str) -> Iterator[Message]:
    name = entry.name or "unknown_tool"
    yield "call", entry.captured_at, call, name, arguments(entry.args_text or "{}")
    if entry.result_text is not None or entry.result_ok is not None:
        text = entry.result_text or ""
        if entry.result_ok is False and not text.lower().startswith("error"):
            text = f"Error: {text}"
        yield "result", entry.captured_at, call, str(entry.result_ok), text


def arguments(text: str) -> str:
    try:
        is_object = isinstance(json.loads(text), dict)
    except ValueError:
        is_object = False
    if is_object:
        return text
    return json.dumps({"_raw": text}, ensure_ascii=False, separators=(",", ":"))


def from_trajectory(records: Iterable[Any]) -> list[Message]:
    messages: list[Message] = []
    calls: dict[str, str] = {}
    for record in records:
        role, time = record["role"], record.get("timestamp", "")
        if role == "meta":
            continue
        if role == "tool":
            call = calls[record["tool_call_id"]]
            messages.append(("result", time, call, str(record.get("ok")), plain(record["content"])))
        elif record["content"] is None:
            for made in record["tool_calls"]:
                call = calls[made["id"]] = str(len(calls) + 1)
                messages.append(("call", time, call, plain(made["name"]), plain(made["args"])))
        else:
            messages.append((role, time, plain(record["content"])))
    return messages


def plain(text: str) -> str:
    """With U+FFFD for lone surrogates, as lettafast reads them."""
    return SURROGATE.sub("\ufffd", text)


def read_all(paths: list[Path]) -> list[list[Message]]:
    from trajectory import normalize_many

    uncut: Any = {"maxCharacters": None}
    texts = []
    for path in paths:
        with path.open(encoding="utf-8", newline="") as file:
            texts.append(file.read())
    # `partial`: a conversation without an answer is not refused.
    results = normalize_many(
        {
            "source": "letta-code",
            "transcript": text,
            "bounds": {"toolArguments": uncut, "toolResults": uncut},
            "sourceContext": {"partial": True},
        }
        for text in texts
    )
    return [from_trajectory(result["records"]) for result in results]


def main() -> int:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else RECORDINGS
    paths = sorted(folder.rglob("transcript.jsonl"))
    if not paths:
        print(f"{folder}: no transcript.jsonl beneath it", file=sys.stderr)
        return 3
    differences = []
    print(f"{'entries':>8} {'dropped':>8} {'messages':>9} {'differ':>7}  conversation")
    for path, theirs in zip(paths, read_all(paths), strict=True):
        ours, dropped = from_lettafast(path)
        with lettafast.open_transcript(path) as transcript:
            entries = transcript.summary.entries
        found = [pair for pair in zip(ours, theirs, strict=False) if pair[0] != pair[1]]
        differ = len(found) + abs(len(ours) - len(theirs))
        name = path.parent.relative_to(folder)
        print(f"{entries:8} {dropped:8} {len(theirs):9} {differ:7}  {name}")
        if differ:
            differences.append((name, found[0] if found else ()))
    for name, first in differences:
        print(f"\n{name}: first difference, lettafast's and agent-trajectory's:")
        print(*(f"  {str(side)[:400]}" for side in first), sep="\n")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
