"""`python -m benches quick` or `full`, and whatever else pytest takes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest


def main() -> int:
    mode, *rest = sys.argv[1:] or ["quick"]
    long = mode == "full"
    return pytest.main(
        [
            str(Path(__file__).parent),
            f"--bench={mode}",
            *(["--bench-record"] if long and not rest else []),
            "--capture=no",
            "--benchmark-warmup=on",
            "--benchmark-min-rounds=9",
            f"--benchmark-max-time={1 if long else 0.2}",
            "--benchmark-columns=min,median,iqr,rounds",
            "--benchmark-sort=name",
            *rest,
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
