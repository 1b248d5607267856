"""Chromium from the system's packages, driven by Playwright, on the real application."""

from __future__ import annotations

import os
import pathlib
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("playwright", reason="the browser tests need Playwright")

from playwright.sync_api import Browser, sync_playwright

import talks
from served import served
from sites import Site
from support import ROOT

AXE = ROOT / "build" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
CHROMIUM = os.environ.get("LETTAFAST_CHROMIUM") or shutil.which("chromium")


@pytest.fixture(scope="session")
def axe() -> str:
    """The program that checks accessibility."""
    if not AXE.exists():
        if os.environ.get("CI"):
            pytest.fail("axe-core is missing: `make test-browser` fetches it")
        pytest.skip("axe-core is missing: `make test-browser` fetches it")
    return AXE.read_text("utf-8")


@pytest.fixture(scope="module")  # its event loop would be in the way of others
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("the browser tests need Chromium: `apt-get install chromium`")
    with sync_playwright() as driver:
        # Chromium's own sandbox does not start for root; the pages are this project's.
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield browser
        browser.close()


@pytest.fixture
def root(tmp_path: pathlib.Path) -> pathlib.Path:
    folder = tmp_path / "transcripts"
    folder.mkdir()
    return folder


@pytest.fixture
def site(browser: Browser, root: pathlib.Path) -> Iterator[Site]:
    """The store `root`, served; nothing may be said on the console, nor asked of elsewhere."""
    with served(root) as server:
        site = Site(root, server, browser)
        yield site
        site.close()
    assert site.faults == []
    assert [url for url in site.requests if not url.startswith((server.origin, "data:"))] == []


@pytest.fixture
def keep(root: pathlib.Path) -> Callable[..., pathlib.Path]:
    """Writes a conversation of the store."""

    def write(name: str, rows: Any) -> pathlib.Path:
        return talks.keep(root, name, rows)

    return write
