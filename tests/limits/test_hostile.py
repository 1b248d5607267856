"""Input made to hurt: depth, length, and how much memory either may take."""

from __future__ import annotations

import pytest

from lettafast import TranscriptRefused
from support import NIGHTLY, append, assistant, diagnostics, entries, run_python, tool, user

DEEP = 200_000
MIB = 1 << 20
TIME = b'"captured_at":"2026-09-01T00:00:00.000Z"'


@pytest.mark.parametrize("bracket", [b"[", b'{"a":', b'[{"a":'])
@pytest.mark.parametrize("closed", [False, True])
def test_deep_value_of_a_member(backend, desk, bracket: bytes, closed: bool) -> None:
    """A nested value is refused at its first bracket."""
    close = {b"[": b"]", b'{"a":': b"0}", b'[{"a":': b"0}]"}[bracket]
    value = bracket * DEEP + (close * DEEP if closed else b"")
    start = b'{"kind":"user","text":'
    for mode in ("strict", "lenient"):
        data = user() + start + value + b"," + TIME + b"}\n" + assistant()
        if mode == "strict":
            with pytest.raises(TranscriptRefused) as caught:
                desk.open(data, mode)
            assert caught.value.reason == "wrong_type"
            assert caught.value.offset == len(user() + start)
        else:
            transcript = desk.open(data, mode)
            (note,) = diagnostics(transcript)
            assert (note["reason"], note["offset"]) == ("wrong_type", len(user() + start))
            assert transcript.summary.entries == 2


@pytest.mark.parametrize("bracket", [b"[", b'{"a":'])
@pytest.mark.parametrize("closed", [False, True])
def test_deep_value_of_an_unknown_name(backend, desk, bracket: bytes, closed: bool) -> None:
    close = {b"[": b"]", b'{"a":': b"}"}[bracket]
    start = user()[:-2] + b',"z":'
    data = start + bracket * DEEP + (close * DEEP + b"}" if closed else b"") + b"\n" + assistant()
    with pytest.raises(TranscriptRefused) as caught:
        desk.open(data)
    assert (caught.value.reason, caught.value.field) == ("unknown_field", "z")
    assert caught.value.offset == len(start) - 4
    transcript = desk.open(data, "lenient")
    (note,) = diagnostics(transcript)
    assert (note["reason"], note["field"]) == ("malformed_json", "z")
    assert note["offset"] == len(start) + 64 * len(bracket)
    assert [entry["kind"] for entry in entries(transcript)] == ["assistant"]


def test_deep_line(backend, desk) -> None:
    with pytest.raises(TranscriptRefused) as caught:
        desk.open(b"[" * DEEP + b"\n")
    assert (caught.value.reason, caught.value.offset) == ("not_an_object", 0)


def test_deep_text_is_text(backend, desk) -> None:
    deep = "[" * DEEP
    transcript = desk.open(tool(arguments=deep))
    assert entries(transcript)[0]["args_text"] == deep


@pytest.mark.parametrize("mode", ["strict", "lenient"])
def test_deep_tail_that_never_ends(backend, desk, mode: str) -> None:
    transcript = desk.open(user() + b'{"z":' + b"[" * DEEP, mode)
    assert transcript.summary.entries == 1
    assert transcript.diagnostics == ()


def test_a_value_of_many_members(backend, desk) -> None:
    """Wide instead of deep: lenient drops it, strict does not read it."""
    wide = b"[" + b"[[]],{}," * 100_000 + b"0]"
    data = user()[:-2] + b',"z":' + wide + b"}\n"
    with pytest.raises(TranscriptRefused):
        desk.open(data)
    transcript = desk.open(data, "lenient")
    assert [note["reason"] for note in diagnostics(transcript)] == ["unknown_field"]
    assert transcript.summary.entries == 1


def test_many_unknown_names(backend, desk) -> None:
    names = b"".join(b',"n%d":%d' % (number, number) for number in range(10_000))
    transcript = desk.open(user()[:-2] + names + b"}\n", "lenient")
    assert transcript.diagnostics_total == 10_000
    assert len(transcript.diagnostics) == 100
    assert transcript.summary.entries == 1


def test_a_very_long_name(backend, desk) -> None:
    name = "n" * 5_000_000
    with pytest.raises(TranscriptRefused) as caught:
        desk.open(user()[:-2] + b',"' + name.encode() + b'":0}\n')
    assert (caught.value.reason, caught.value.field) == ("unknown_field", "n" * 64)


def test_a_very_long_number(backend, desk) -> None:
    """Numbers are only dropped, so no length of them costs more than reading it."""
    data = user()[:-2] + b',"z":-' + b"9" * 5_000_000 + b"e+" + b"9" * 1_000_000 + b"}\n"
    transcript = desk.open(data, "lenient")
    assert transcript.summary.entries == 1


def test_many_short_lines(backend, desk) -> None:
    transcript = desk.open(b"\n" * 100_000, "lenient")
    assert transcript.diagnostics_total == 100_000
    assert transcript.diagnostics[-1].line == 100


@pytest.mark.parametrize("block", [b"\0" * 143_000, b"\0" * 9_000])
def test_runs_of_nuls_are_one_diagnostic(backend, desk, block: bytes) -> None:
    transcript = desk.open(user() + block + b"\n" + assistant() + block, "lenient")
    assert transcript.diagnostics_total == 1
    assert transcript.summary.entries == 2
    assert transcript.summary.tail_bytes == len(block)
    with pytest.raises(TranscriptRefused) as caught:
        desk.open(None)
    assert (caught.value.reason, caught.value.line) == ("nul_padding", 2)


# What one reading takes at its peak, in a process of its own.
PEAK = """
import json, sys, threading
import lettafast, lettafast.transcript
from lettafast import Limits, TranscriptRefused, _backend, open_transcript
path, backend, mode, limit, what = sys.argv[1:]
chosen = _backend.load(backend)
_backend.current = lambda: chosen
def peak():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("VmHWM"))
before = peak()
said = {}
try:
    with open_transcript(path, mode, Limits(max_line_bytes=int(limit))) as transcript:
        said["entries"] = transcript.summary.entries
        said["tail"] = transcript.summary.tail_bytes
        said["notes"] = [[note.reason, note.offset] for note in transcript.diagnostics]
        if what == "read":
            said["counted"] = sum(1 for _ in transcript.entries())
            said["page"] = len(transcript.page_json(limit=1))
        if what == "page":
            said["page"] = len(transcript.page_json(limit=1))
        if what == "eight readers":
            pages = []
            def read():
                with open_transcript(path, mode) as other:
                    pages.extend(len(other.page_json(limit=7)) for _ in range(5))
            threads = [threading.Thread(target=read) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            said["pages"] = pages
        if what == "range":
            ref = [part for turn in transcript.page().turns for part in turn.parts][-1]
            found = transcript.tool_output(ref.ref, ref.output_size - 5)
            said["range"] = found.text
except TranscriptRefused as error:
    said["refused"] = [error.reason, error.offset]
said["peak"] = peak() - before
print(json.dumps(said))
"""


def peak(desk, backend, *, mode="strict", limit: int = 64 * MIB, what: str = "open"):
    return run_python(PEAK, str(desk.path), backend.name, mode, str(limit), what)


def long_line(path, prefix: bytes, size: int, suffix: bytes) -> None:
    """`size` bytes between what comes before and after them, written a piece at a time."""
    with open(path, "ab") as file:
        file.write(prefix)
        while size:
            piece = min(size, 8 * MIB)
            file.write(b"x" * piece)
            size -= piece
        file.write(suffix)


SIZE = 200_000_000


def test_200_mb_of_tail(backend, desk) -> None:
    """A tail is searched once for its LF and never held."""
    desk.path.write_bytes(user())
    long_line(desk.path, b'{"kind":"user","text":"', SIZE, b"")
    said = peak(desk, backend)
    assert (said["entries"], said["tail"]) == (1, SIZE + 23)
    assert said["peak"] < 32 * MIB


@pytest.mark.parametrize("mode", ["strict", "lenient"])
def test_200_mb_line_that_is_too_long(backend, desk, mode: str) -> None:
    """Refused, or skipped, in bounded memory; its neighbors are read."""
    desk.path.write_bytes(user())
    long_line(desk.path, b'{"kind":"user","text":"', SIZE, b'",' + TIME + b"}\n" + assistant())
    said = peak(desk, backend, mode=mode)
    fault = ["line_too_long", len(user()) + 64 * MIB]
    if mode == "strict":
        assert said["refused"] == fault
    else:
        assert (said["entries"], said["notes"], said["tail"]) == (2, [fault], 0)
    assert said["peak"] < 32 * MIB


def test_200_mb_line_of_damage(backend, desk) -> None:
    """Damage inside a line that is too long is not looked at, also where it begins with NULs."""
    desk.path.write_bytes(b"")
    long_line(desk.path, b"\0" * MIB, SIZE, b"\n")
    assert peak(desk, backend)["refused"] == ["line_too_long", 64 * MIB]


def test_200_mb_line_that_is_legal(backend, desk) -> None:
    """With a raised limit the native backend reads it without holding it."""
    if backend.name == "pure" and not NIGHTLY:
        pytest.skip("the pure backend holds such a line several times: nightly")
    line = tool("@", "long").split(b"@")
    desk.path.write_bytes(user())
    long_line(desk.path, line[0], SIZE, b"yz" + line[1])
    said = peak(desk, backend, limit=1 << 30)
    assert (said["entries"], said["tail"]) == (2, 0)
    if backend.name == "native":
        assert said["peak"] < 32 * MIB
    said = peak(desk, backend, limit=1 << 30, what="range")
    assert said["range"] == "xxxyz"


def test_a_file_above_512_mib(backend, desk) -> None:
    """600 MB of rows: one pass, flat memory, and the newest page is one read from the end."""
    block = (user("x" * 500) + tool("y" * 20_000) * 20) * 20
    count = 600_000_000 // len(block) + 1
    with open(desk.path, "wb") as file:
        file.writelines(block for _ in range(count))
    said = peak(desk, backend, what="page")
    assert said["entries"] == count * 20 * 21
    assert 80_000 < said["page"] < 90_000
    assert said["peak"] < 48 * MIB


def test_eight_readers_at_once(backend, desk) -> None:
    """Eight transcripts of 20 MB, each read from a thread of its own, in one bounded process."""
    desk.path.write_bytes((user("x" * 500) + tool("y" * 20_000) * 20) * 50)
    said = peak(desk, backend, what="eight readers")
    assert len(set(said["pages"])) == 1
    assert len(said["pages"]) == 40
    assert said["peak"] < 96 * MIB  # of eight times 20 MB


def test_memory_does_not_grow_with_the_file(backend, desk) -> None:
    """Four times the rows, hardly more memory: only the page index grows."""
    unit = user("x" * 500) + tool("y" * 2000) + assistant("z" * 1000)
    desk.path.write_bytes(unit * 2_000)
    small = peak(desk, backend, what="read")
    for _ in range(3):
        append(desk.path, unit * 2_000)
    large = peak(desk, backend, what="read")
    assert (small["counted"], large["counted"]) == (6_000, 24_000)
    assert large["peak"] - small["peak"] < 4 * MIB  # of 21 MiB more
    assert large["peak"] < 48 * MIB
