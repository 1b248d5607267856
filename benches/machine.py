"""What a record says about where it was made: no host name, no path, no user."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from importlib import metadata
from pathlib import Path

_PACKAGES = (
    "agent-trajectory",
    "duckdb",
    "msgspec",
    "orjson",
    "polars",
    "pyarrow",
    "pydantic",
    "pysimdjson",
)


def processor() -> str:
    """The processor's own name; on Linux with its model number, since names hide it."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() or platform.machine()
    facts = dict(re.findall(r"^(model name|model)\s*: (.+)$", text, re.MULTILINE))
    name = facts.get("model name", platform.machine())
    return f"{name} model {facts['model']}" if "model" in facts else name


def short_name() -> str:
    """For a file's name: letters, digits and hyphens."""
    cores = os.cpu_count()
    name = re.sub(r"\((?:R|TM)\)", "", processor())
    return re.sub(r"[^a-z0-9]+", "-", f"{name} {cores} cpu".lower()).strip("-")


def version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def facts() -> dict[str, object]:
    """The processor, the system and every version that a ratio depends on."""
    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "rustc": first_line("rustc", "--version"),
        "node": first_line("node", "--version"),
        "commit": first_line("git", "rev-parse", "--short=12", "HEAD"),
        "changed": bool(first_line("git", "status", "--porcelain")),
        "simd": os.environ.get("LETTAFAST_SIMD", "chosen at run time"),
        "packages": {package: version(package) for package in _PACKAGES},
    }


def first_line(*command: str) -> str | None:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, cwd=Path(__file__).parent
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.partition("\n")[0] or None
