"""Instructions of one strict open under callgrind: what a noisy machine cannot blur.

    python -m benches.instructions [--update] [--driver PROGRAM]

One fixed input of about 1 MB a profile is opened by `rust/core/examples/open.rs`, on each
dispatch path that valgrind knows. The count of one open is the difference between a run
that opens twice and one that opens once, so starting the process is not in it. Counts are
compared with `record/instructions.json`; more than `TOLERANCE` away from it is an error
while compiler and input are the same. `--update` writes what was counted instead.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

from .generate import Sample, Size, sample
from .machine import first_line
from .targets import PROFILES

RECORD = Path(__file__).with_name("record") / "instructions.json"
ROOT = Path(__file__).resolve().parent.parent
BUILD = "cargo build --release --quiet --package lettafast-core --example open".split()
DRIVER = ROOT / "target" / "release" / "examples" / "open"
PATHS = ("avx2", "scalar")
TOLERANCE = 0.03


def fixed(profile: str) -> Sample:
    """About 1 MB; the results of `huge` are still longer than a block that is read at once."""
    result = Size(450_000, 0, 450_000) if profile == "huge" else None
    return sample(profile, 1_000_000, result=result)


def count(driver: Path, path: str, times: int, chosen: Sample) -> int:
    tool = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    command = [*tool, str(driver), str(chosen.path), str(times), path]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.stdout != f"{chosen.entries}\n" or found is None:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr}")
    return int(found[1])


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benches.instructions")
    parser.add_argument("--update", action="store_true", help="record what is counted now")
    parser.add_argument("--driver", type=Path, help="instead of the one that cargo builds")
    options = parser.parse_args()
    if options.driver is None:
        subprocess.run(BUILD, check=True, cwd=ROOT)
    inputs = {profile: fixed(profile) for profile in PROFILES}
    now = {
        "rustc": first_line("rustc", "--version"),
        "bytes": {profile: chosen.bytes for profile, chosen in inputs.items()},
    }
    kept = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    counts: dict[str, dict[str, int]] = {}
    far = []
    print("profile  path       instructions   a byte       recorded   change")
    for profile, chosen in inputs.items():
        counts[profile] = {}
        for path in PATHS:
            once, twice = (count(options.driver or DRIVER, path, n, chosen) for n in (1, 2))
            counts[profile][path] = found = twice - once
            line = f"{profile:8} {path:8} {found:14,} {found / chosen.bytes:8.3f}"
            before = kept.get("counts", {}).get(profile, {}).get(path)
            if before is not None:
                change = found / before - 1
                line += f" {before:14,} {change:+8.2%}"
                if abs(change) > TOLERANCE:
                    far.append(f"{profile} {path}")
            print(line, flush=True)
    if options.update:
        RECORD.parent.mkdir(exist_ok=True)
        RECORD.write_text(json.dumps({**now, "counts": counts}, indent=1) + "\n")
        return 0
    if not kept:
        print(f"no {RECORD.name} yet: run with --update")
        return 1
    if far:
        print(f"more than {TOLERANCE:.0%} from the record: {', '.join(far)}")
    for name, value in now.items():
        if kept[name] != value:
            print(f"{name} of the record: {kept[name]}, now: {value}: nothing is claimed")
            return 0
    return 1 if far else 0


if __name__ == "__main__":
    sys.exit(main())
