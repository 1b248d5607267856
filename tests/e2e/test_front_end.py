"""The real Letta Code writes, and a real browser shows it by itself."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from letta_code import wait_until
from letta_world import World, pane

pytest.importorskip("playwright", reason="`make test-e2e` installs Playwright")

from playwright.sync_api import Page, expect, sync_playwright

CHROMIUM = os.environ.get("LETTAFAST_CHROMIUM") or shutil.which("chromium")
SECONDS = 20


@contextmanager
def served(world: World, state: Path) -> Iterator[str]:
    """`lettafast serve` as the user of that home runs it; the address that it prints."""
    environ = {
        **os.environ,
        "HOME": str(world.home.home),
        "HERDR_SOCKET_PATH": world.stage.path,
        "LETTAFAST_STATE_DIR": str(state),
        "TMUX_TMPDIR": str(world.home.home),
        # The terminals of this test are tmux's: the pane is shown as one of tmux, too.
        "TMUX": f"{world.stage.tmux_socket},1,0",
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "lettafast", "serve", "--port", "0"],
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.terminate()
        assert process.wait(SECONDS) in (0, -15, 143)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.fixture
def page(world: World, tmp_path: Path) -> Iterator[Page]:
    if CHROMIUM is None:
        pytest.skip("needs Chromium: `apt-get install chromium`")
    with served(world, tmp_path / "state") as address, sync_playwright() as driver:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=arguments)
        page = browser.new_page()
        page.set_default_timeout(SECONDS * 1000)
        page.goto(address)
        yield page
        browser.close()


def test_a_pane_is_followed_through_new_and_back(world: World, page: Page, fresh: Any) -> None:
    folder = fresh()
    with pane(world, "w1:p1", folder) as screen:
        screen.start(conversation="local-conv-1")
        page.reload()
        page.get_by_role("link", name=re.compile("w1:p1")).click()
        shown = page.locator("main[data-shows=conversation]")
        expect(shown).to_be_visible(timeout=SECONDS * 1000)
        expect(page.locator("#turns")).to_contain_text("SCN:plain in 1")

        before = world.stage.turns()
        screen.type("SCN:plain from the terminal")
        while world.stage.turns() == before:
            time.sleep(0.01)
        written = time.monotonic()
        expect(page.locator("#turns")).to_contain_text("SCN:plain from the terminal")
        print(f"on the screen {time.monotonic() - written:.2f} s after it was written")

        screen.command("/new")
        terminal = page.locator("main[data-shows=terminal]")
        expect(terminal).to_be_visible(timeout=SECONDS * 1000)
        expect(page.locator(".why")).to_contain_text("No completed turn yet")
        expect(page.locator(".why")).to_contain_text(screen.title)
        screen.say("SCN:plain in the new one")
        expect(shown).to_be_visible(timeout=SECONDS * 1000)
        expect(page.locator("#turns")).to_contain_text("SCN:plain in the new one")
        expect(page.locator("#turns")).not_to_contain_text("SCN:plain in 1")
        expect(page.locator(".why")).to_contain_text("the letta itself says so")

        screen.type("/resume local-conv-1")
        wait_until("the switch", SECONDS, lambda: screen.title == "local-conv-1")
        switched = time.monotonic()
        expect(page.locator("#turns")).to_contain_text("SCN:plain from the terminal")
        print(f"on the screen {time.monotonic() - switched:.2f} s after the switch")

        page.goto(page.url.partition("/panes/")[0] + "/")
        page.get_by_role("link", name=re.compile("w1-p1:0.0")).click()
        expect(shown).to_be_visible(timeout=SECONDS * 1000)
        expect(page.locator(".about")).to_contain_text("tmux")
        expect(page.locator("#turns")).to_contain_text("SCN:plain from the terminal")
        screen.quit()
        expect(page.locator("main[data-shows=terminal]")).to_be_visible(timeout=SECONDS * 1000)
        expect(page.locator("pre.terminal")).to_contain_text("$")
