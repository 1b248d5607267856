"""What only a fresh process shows: memory, and the time of the import."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import lettafast

from .generate import Sample, sample
from .report import Report
from .rounds import spread
from .targets import TARGETS

CHILD = Path(__file__).with_name("memory_child.py")
SIZE = 256 << 20


def _sample(profile: str) -> Sample:
    """1.5 million entries of `tiny`, by repeating fewer; or whole turns of `huge`."""
    if profile == "tiny":
        return sample("tiny", SIZE // 32, repeat=32)
    return sample(profile, SIZE)


def _longest_line(path: Path, size: int) -> int:
    """Bytes of the longest line, its text and its value, as Python holds them."""
    with path.open("rb") as file:
        line = next(line for line in file if len(line) == size + 1)
    text = line.decode()
    values = json.loads(text).values()
    return sys.getsizeof(line) + sys.getsizeof(text) + sum(map(sys.getsizeof, values))


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/self/status")
@pytest.mark.parametrize("action", ["open", "entries"])
@pytest.mark.parametrize("profile", ["tiny", "huge"])
@pytest.mark.parametrize("backend", ["native", "pure"])
def test_memory(backend: str, profile: str, action: str, report: Report, full: bool) -> None:
    """Peak memory stays in its bound, whatever the file's size.

    The pure backend may hold one line and its value more. Whoever iterates over entries holds
    one entry while the next is made, on either backend.
    """
    if backend == "native" and lettafast.backend != "native":
        pytest.skip("this run has no native backend")
    if action == "entries" and backend == "pure" and not full:
        pytest.skip("takes long: only in a full run")
    chosen = _sample(profile)
    command = [sys.executable, str(CHILD), backend, action, str(chosen.path)]
    done = subprocess.run(command, capture_output=True, check=True)
    found = json.loads(done.stdout)
    assert found["entries"] == chosen.entries
    held = 2 if action == "entries" else 1 if backend == "pure" else 0
    more = held * _longest_line(chosen.path, chosen.longest_line) if held else 0
    peak = (found["peak"] - found["bare"]) / (1 << 20)
    allowed = (found["page"] + more) / (1 << 20)
    imported, opened = ((found[at] - found["bare"]) / (1 << 20) for at in ("imported", "opened"))
    note = f"{imported:.1f} MiB after the import, {opened:.1f} MiB after opening"
    if action == "open":
        note += f"; less {allowed:.0f} MiB"
        name, value = f"memory {backend}", peak - allowed
    else:
        name, value = f"memory {backend} entries()", peak
    report.add(name, profile, [value], unit="MiB", scale=chosen.entries, note=note)
    must, _ = TARGETS[f"memory {backend}", profile].bounds(chosen.entries)
    assert peak - allowed <= must


def _import_time(module: str) -> float:
    code = f"import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, check=True)
    return 1e3 * float(done.stdout)


def test_import(report: Report, full: bool) -> None:
    """Milliseconds of the statement in fresh processes, in turns with `import json`."""
    pairs = [(_import_time("lettafast"), _import_time("json")) for _ in range(60 if full else 15)]
    least = min(mine for mine, _ in pairs) - min(other for _, other in pairs)
    mine, other = (spread(times) for times in zip(*pairs, strict=True))
    note = f"least {least:.1f} ms; medians {mine.median:.1f} and {other.median:.1f} ms"
    report.add("import", "", [first - second for first, second in pairs], note=note)
