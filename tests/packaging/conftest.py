"""What `make wheels` built, the dependencies, and a fresh environment."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from environments import ROOT, Environment


@pytest.fixture(scope="session")
def dist() -> Path:
    folder = ROOT / "dist"
    if not folder.is_dir():
        pytest.skip("`make wheels` builds what is tested here")
    return folder


@pytest.fixture(scope="session")
def pure_wheel(dist: Path) -> Path:
    [path] = dist.glob("lettafast-*-py3-none-any.whl")
    return path


@pytest.fixture(scope="session")
def native_wheel(dist: Path) -> Path:
    [path] = set(dist.glob("lettafast-*.whl")) - set(dist.glob("*-none-any.whl"))
    return path


@pytest.fixture(scope="session")
def sdist(dist: Path) -> Path:
    [path] = dist.glob("lettafast-*.tar.gz")
    return path


@pytest.fixture(scope="session")
def wheelhouse() -> Path:
    """The wheels of the dependencies, so that installing needs no index."""
    version = sysconfig.get_python_version()
    folder = ROOT / "build" / "wheelhouse" / version
    wanted = ["cffi", "orjson"]
    if not all(list(folder.glob(f"{name}-*.whl")) for name in wanted):
        command = [sys.executable, "-m", "pip", "download", "--only-binary", ":all:"]
        done = subprocess.run(
            [*command, "--dest", str(folder), *wanted], capture_output=True, check=False
        )
        if done.returncode:
            pytest.skip("the dependencies cannot be fetched here")
    return folder


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    return Environment(tmp_path / "environment")
