"""The offer of the witness, and what a pane shows once its letta says what it shows."""

from __future__ import annotations

import pathlib
import tempfile
import time
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from lettafast.binding import TmuxPanes
from lettafast.tmux.client import Tmux
from lettafast.witness import install
from scene import Scene
from scene import scene as letta_scene
from served import served
from sites import Site
from support import append, assistant, user
from tmuxserver import Server, as_command, until
from waiting import settle, violations

PHONE = {"width": 360, "height": 740}
SWITCH_TO_SCREEN = 1.5
"""Seconds from a switch in a letta to the screen, here with a browser on the same cores."""


@pytest.fixture
def scene() -> Iterator[Scene]:
    """In a short folder: the path of a tmux socket must be short."""
    with (
        tempfile.TemporaryDirectory(prefix="lt") as folder,
        letta_scene(pathlib.Path(folder)) as found,
    ):
        yield found


@pytest.fixture
def server(scene: Scene) -> Iterator[Server]:
    found = Server(scene.folder)
    try:
        yield found
    finally:
        found.stop()


def letta_in(scene: Scene, server: Server) -> int:
    """A letta in a pane of tmux; its pid."""
    argv = [str(scene.desk.node), str(scene.desk.script)]
    pane = server.start(as_command(argv, scene.desk.environ()), cwd=scene.desk.project)
    until(lambda: "ready" in server("capture-pane", "-p", "-t", pane))
    return int(server.ask("#{pane_pid}", pane))


def sideways(page: Page) -> int:
    """By how many pixels the page is wider than its window."""
    wide: int = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    return wide


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_offer_and_the_states_after_it(
    browser: Any,
    scene: Scene,
    server: Server,
    axe: str,
    scheme: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOME", str(scene.desk.home))
    transcripts = {name: scene.conversation(f"local-conv-{name}") for name in (1, 2)}
    transcripts[2].unlink()
    pid = letta_in(scene, server)
    binder = scene.binder(TmuxPanes(Tmux(server.socket)))
    with served(scene.letta_home / "transcripts", binder=binder) as web:
        site = Site(scene.folder, web, browser)
        page = site.open(
            "/", color_scheme=scheme, permissions=["clipboard-write", "clipboard-read"]
        )
        offer = page.get_by_role("region", name="letta does not say which conversation it shows")
        expect(offer).to_contain_text("lettafast witness install")
        offer.get_by_text("What this does, exactly").click()
        expect(offer.get_by_text(f"{scene.letta_home}/mods/lettafast-witness.js")).to_be_visible()
        assert violations(page, axe) == []
        page.set_viewport_size(PHONE)
        settle(page)
        assert sideways(page) <= 0
        page.locator(".row", has=page.get_by_text("work:0.0")).get_by_role("link").click()
        page.wait_for_selector("html[data-ready]")
        expect(page.locator(".terminal:is(pre)")).to_contain_text("ready")
        expect(offer).to_be_visible()
        settle(page)
        assert sideways(page) <= 0
        assert violations(page, axe) == []
        offer.get_by_role("button", name="Copy the command").click()
        expect(offer.get_by_role("button", name="Copied")).to_be_visible()
        assert page.evaluate("navigator.clipboard.readText()") == "lettafast witness install"
        # Once it is installed the offer goes; the letta does not have it yet.
        install(str(scene.desk.home))
        expect(offer).to_have_count(0, timeout=10_000)
        expect(page.locator(".terminal:is(pre)")).to_contain_text("ready")
        # The letta was told `/reload`, and says what it shows.
        scene.says(pid, "local-conv-1")
        page.get_by_text("prompt 0 of local-conv-1").last.wait_for()
        why = page.get_by_role("region", name="What this pane shows, and why")
        expect(why).to_contain_text("the letta itself says so")
        settle(page)
        began = time.monotonic()
        scene.says(pid, "local-conv-2")
        expect(why).to_contain_text("No completed turn yet")
        assert time.monotonic() - began < SWITCH_TO_SCREEN
        expect(why).to_contain_text("local-conv-2")
        expect(page.locator(".terminal:is(pre)")).to_contain_text("ready")
        why.get_by_text("Evidence").click()
        assert sideways(page) <= 0
        assert violations(page, axe) == []
        append(transcripts[2], user("the first turn") + assistant())
        page.get_by_text("the first turn").last.wait_for(timeout=10_000)
        page.set_viewport_size({"width": 1100, "height": 800})
        assert violations(page, axe) == []
        assert site.faults == []
        site.close()
