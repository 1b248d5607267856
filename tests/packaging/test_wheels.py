"""Both wheels install into fresh environments and read there what they read here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import lettafast
from environments import ROOT, Environment, run

RECORDED = ROOT / "fixtures" / "letta-0.34.12" / "transcripts"
SOURCES = {
    str(path.relative_to(ROOT / "python"))
    for path in (ROOT / "python" / "lettafast").rglob("*")
    if path.is_file() and not {"__pycache__", "_native_lib"}.intersection(path.parts)
}


def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def requirements(wheel: Path) -> list[str]:
    """What it needs without an extra."""
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        lines = archive.read(name).decode().split("\n\n", 1)[0].splitlines()
    found = [line.split(": ", 1)[1] for line in lines if line.startswith("Requires-Dist: ")]
    return [line for line in found if "extra ==" not in line]


def backend(environment: Environment, asked: str = "auto") -> str:
    """Which backend runs there, away from the source tree."""
    code = "import lettafast; print(lettafast.backend)"
    environ = os.environ | {"LETTAFAST_BACKEND": asked}
    return run(environment.python, "-c", code, cwd=environment.folder, env=environ).strip()


def check(environment: Environment) -> list[object]:
    """What the installed command says of every recording."""
    paths = sorted(RECORDED.glob("*/*/transcript.jsonl"))
    command = environment.folder / "bin" / "lettafast"
    lines = run(command, "check", "--json", *paths, cwd=environment.folder).splitlines()
    return [json.loads(line) for line in lines]


def test_names(native_wheel: Path, pure_wheel: Path, sdist: Path) -> None:
    version = lettafast.__version__
    assert native_wheel.name.startswith(f"lettafast-{version}-py3-none-")
    assert pure_wheel.name == f"lettafast-{version}-py3-none-any.whl"
    assert sdist.name == f"lettafast-{version}.tar.gz"


def test_the_pure_wheel_is_the_tree_alone(pure_wheel: Path) -> None:
    assert names(pure_wheel) == SOURCES
    assert requirements(pure_wheel) == []


def test_the_native_wheel_is_the_tree_and_the_library(native_wheel: Path) -> None:
    more = names(native_wheel) - SOURCES
    assert names(native_wheel) >= SOURCES
    assert {os.path.dirname(name) for name in more} == {"lettafast/_native_lib"}
    assert any(name.endswith((".so", ".dylib")) for name in more)
    assert [line.split(">")[0] for line in requirements(native_wheel)] == ["cffi", "orjson"]


def test_pip_prefers_the_native_wheel(
    environment: Environment, native_wheel: Path, pure_wheel: Path, wheelhouse: Path
) -> None:
    assert native_wheel.parent == pure_wheel.parent
    environment.install(
        "--find-links", native_wheel.parent, "--find-links", wheelhouse, "lettafast"
    )
    assert backend(environment) == "native"
    assert all(answer["state"] == "ok" for answer in check(environment))


def test_pip_takes_the_pure_wheel_where_the_native_one_does_not_fit(
    dist: Path, tmp_path: Path, pure_wheel: Path
) -> None:
    run(
        sys.executable, "-m", "pip", "download", "--no-index", "--no-deps", "--find-links", dist,
        "--only-binary", ":all:", "--platform", "linux_riscv64", "--dest", tmp_path, "lettafast",
    )  # fmt: skip
    assert os.listdir(tmp_path) == [pure_wheel.name]


def test_the_pure_wheel_installs_alone(environment: Environment, pure_wheel: Path) -> None:
    environment.install(pure_wheel)
    assert backend(environment) == "pure"
    assert all(answer["state"] == "ok" for answer in check(environment))
    asked = subprocess.run(
        [environment.python, "-c", "import lettafast; lettafast.backend"],
        cwd=environment.folder,
        env=os.environ | {"LETTAFAST_BACKEND": "native"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "BackendError" in asked.stderr


def test_the_pure_wheel_conforms(environment: Environment, pure_wheel: Path) -> None:
    """The conformance suite, with the tests' own tools lent from here."""
    environment.install(pure_wheel)
    lent = environment.packages / "lent.pth"
    lent.write_text(f"{sysconfig.get_path('purelib')}\n{sysconfig.get_path('platlib')}\n")
    run(
        environment.python, "-m", "pytest", "-q", "-p", "no:cacheprovider",
        ROOT / "tests" / "conformance", "-k", "pure and not grown",
        cwd=ROOT,
        env=os.environ | {"LETTAFAST_BACKEND": "pure"},
    )  # fmt: skip


def test_the_source_archive_builds(sdist: Path, tmp_path: Path, native_wheel: Path) -> None:
    run(
        sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--no-index",
        "--wheel-dir", tmp_path, sdist,
        env=os.environ
        | {
            "CARGO_TARGET_DIR": str(ROOT / "build" / "sdist-target"),
            # Where maturin is, which its build back end calls by name.
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        },
    )  # fmt: skip
    [built] = tmp_path.glob("*.whl")
    assert names(built) == names(native_wheel)


def test_the_package_is_marked_as_typed(pure_wheel: Path) -> None:
    assert "lettafast/py.typed" in names(pure_wheel)
