"""How a page stays current: follow, notices, one stream for all tabs, switches of a verdict."""

from __future__ import annotations

import json
import os
import pathlib
import time
import urllib.request
from typing import Any

import pytest
from playwright.sync_api import Page, expect

import talks
from scene import AGENT
from scene import scene as letta_scene
from served import served
from sites import Site
from support import append, assistant, tool, user
from waiting import settle

FROM_END = "() => document.documentElement.scrollHeight - scrollY - innerHeight"
APPEND_TO_SCREEN = 0.5
"""Seconds that an appended turn may take to the screen, here with a browser on the same cores."""


def clients(site: Any) -> int:
    address = f"{site.server.origin}/api/health"
    request = urllib.request.Request(address, headers=site.server.headers)
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)["clients"]


def live(page: Page) -> None:
    expect(page.locator("#live")).to_have_text("Live")


def test_what_is_appended_is_shown_and_followed(site: Any, keep: Any) -> None:
    path = keep("long", talks.long(30))
    page = site.open("long")
    live(page)
    settle(page)
    began = time.monotonic()
    append(path, user("something new") + assistant("and *its* answer"))
    page.get_by_text("something new").wait_for()
    took = time.monotonic() - began
    expect(page.get_by_text("and its answer")).to_be_in_viewport()
    assert page.evaluate(FROM_END) <= 1
    assert took < APPEND_TO_SCREEN * 2
    # A turn that goes on is one turn.
    turns = page.locator(".turn").count()
    append(path, tool("more", "late", name="Late"))
    page.get_by_text("Late", exact=True).wait_for()
    assert page.locator(".turn").count() == turns
    expect(page.locator(".turn").last.get_by_text("1 tool call")).to_have_count(1)


def test_a_reader_above_is_left_there_and_told(site: Any, keep: Any) -> None:
    path = keep("long", talks.long(40))
    page = site.open("long")
    live(page)
    page.evaluate("scrollBy(0, -900)")
    settle(page)
    before = page.evaluate("scrollY")
    append(path, user("new one") + assistant("x"))
    below = page.get_by_role("button", name="2 new below")
    below.wait_for()
    append(path, user("new two"))
    page.get_by_role("button", name="3 new below").wait_for()
    assert page.evaluate("scrollY") == before
    expect(page.locator("#said")).to_have_text("3 new turns below")
    page.get_by_role("button", name="3 new below").press("Enter")
    expect(page.get_by_text("new two")).to_be_in_viewport()
    expect(page.locator(".below")).to_be_hidden()
    assert page.evaluate("document.activeElement.closest('.turn').innerText").startswith("You")


def test_within_eighty_pixels_is_at_the_end(site: Any, keep: Any) -> None:
    path = keep("long", talks.long(40))
    page = site.open("long")
    live(page)
    page.evaluate("scrollBy(0, -70)")
    settle(page)
    append(path, user("new one"))
    expect(page.get_by_text("new one")).to_be_in_viewport()


def test_a_first_turn_comes_by_itself(site: Any, keep: Any, root: pathlib.Path) -> None:
    (root / talks.AGENT / "waiting").mkdir(parents=True)
    page = site.open("waiting")
    live(page)
    keep("waiting", [user("the first words")])
    expect(page.get_by_text("the first words").last).to_be_visible()
    expect(page.get_by_text("Nothing is written yet")).to_have_count(0)
    append(root / talks.AGENT / "waiting" / "transcript.jsonl", assistant("the answer"))
    expect(page.get_by_text("the answer")).to_be_visible()


def test_a_replaced_transcript_is_told_and_loaded_again(site: Any, keep: Any) -> None:
    path = keep("one", [user("old words"), assistant("a")])
    page = site.open("one")
    live(page)
    other = path.with_suffix(".new")
    other.write_bytes(user("other words"))
    os.replace(other, path)
    notice = page.get_by_role("region", name="This transcript was replaced")
    notice.wait_for()
    expect(page.get_by_text("old words").last).to_be_visible()
    notice.get_by_role("button", name="Load it again").click()
    expect(page.get_by_text("other words").last).to_be_visible()
    page.wait_for_timeout(500)  # by then the tab that asks for all has told again what it knows
    expect(notice).to_have_count(0)
    append(path, assistant("follows on"))
    expect(page.get_by_text("follows on")).to_be_visible()
    site.forgive("409")


def test_a_transcript_that_is_refused_later_is_told(site: Any, keep: Any) -> None:
    path = keep("one", [user("good words"), assistant("a")])
    page = site.open("one")
    live(page)
    append(path, b'{"kind":"user","kind":"user"}\n')
    notice = page.get_by_role("region", name="This transcript is refused now")
    expect(notice).to_contain_text("Line 3, byte ")
    expect(notice).to_contain_text("duplicate key")
    expect(page.locator(".turn").get_by_text("good words")).to_be_visible()
    notice.get_by_role("link", name="Read it leniently").click()
    page.get_by_role("region", name="Read leniently: 1 fault").wait_for()
    live(page)
    append(path, assistant("goes on leniently"))
    expect(page.get_by_text("goes on leniently")).to_be_visible()


def test_a_transcript_that_goes_is_told(site: Any, keep: Any) -> None:
    path = keep("one", [user("good words")])
    page = site.open("one")
    live(page)
    path.unlink()
    page.locator("#notices .banner").first.wait_for()
    expect(page.locator(".turn").get_by_text("good words")).to_be_visible()


def test_tabs_share_one_stream_and_another_takes_over(site: Any, keep: Any) -> None:
    paths = [keep(name, [user(f"words of {name}")]) for name in ("one", "two", "three")]
    context = site.context()
    tabs = [site.window(context) for _ in paths]
    for tab, name in zip(tabs, ("one", "two", "three"), strict=True):
        site.go(tab, name)
    for tab in tabs:
        live(tab)
    tabs[0].wait_for_timeout(400)
    assert clients(site) == 1
    for path, tab in zip(paths, tabs, strict=True):
        append(path, assistant("shared"))
        expect(tab.get_by_text("shared")).to_be_visible()
    tabs[0].close()
    append(paths[2], assistant("by the next"))
    expect(tabs[2].get_by_text("by the next")).to_be_visible()
    tabs[2].wait_for_timeout(400)
    assert clients(site) == 1


@pytest.mark.parametrize("without", ["BroadcastChannel", "navigator.locks"])
def test_a_browser_without_shared_streams_has_its_own(site: Any, keep: Any, without: str) -> None:
    path = keep("one", [user("words")])
    page = site.window()
    page.add_init_script(
        "delete window.BroadcastChannel"
        if without == "BroadcastChannel"
        else "Object.defineProperty(navigator, 'locks', {value: undefined})"
    )
    site.go(page, "one")
    live(page)
    append(path, assistant("arrives"))
    expect(page.get_by_text("arrives")).to_be_visible()


def test_a_server_that_comes_back_is_found_again(browser: Any, keep: Any, root: Any) -> None:
    path = keep("one", [user("words")])
    with served(root) as first:
        site = Site(root, first, browser)
        page = site.open("one")
        live(page)
    expect(page.locator("#live")).to_have_text("Reconnecting…")
    append(path, assistant("written meanwhile"))
    with served(root, again=first):
        expect(page.get_by_text("written meanwhile")).to_be_visible(timeout=15_000)
        live(page)
    site.close()


def test_a_pane_switches_by_itself(browser: Any, tmp_path: pathlib.Path) -> None:
    with letta_scene(tmp_path) as scene:
        letta = scene.resumed()
        binder = scene.binder()
        root = scene.letta_home / "transcripts"
        with served(root, binder=binder) as server:
            site = Site(root, server, browser)
            page = site.open("/")
            rows = page.locator(".row", has=page.get_by_text("w1:p1"))
            expect(rows.get_by_text("Conversation", exact=True)).to_be_visible()
            expect(page.locator(".row", has=page.get_by_text("w1:p2"))).to_contain_text("Terminal")
            rows.get_by_role("link").click()
            page.get_by_text("prompt 0 of local-conv-1").last.wait_for()
            why = page.get_by_role("region", name="What this pane shows, and why")
            expect(why).to_contain_text("Bound")
            expect(why.locator(".evidence").first).to_be_hidden()
            why.get_by_text("Evidence").click()
            expect(why.locator(".evidence").first.locator(".held")).to_have_count(6)
            live(page)
            transcript = root / AGENT / "local-conv-1" / "transcript.jsonl"
            append(transcript, assistant("live in the pane"))
            expect(page.get_by_text("live in the pane")).to_be_visible()
            letta.stop()
            scene.double.exit_process("w1:p1")
            expect(why).to_contain_text("Terminal", timeout=15_000)
            expect(page.locator(".turn")).to_have_count(0)
            expect(page.get_by_role("button", name="Find")).to_have_count(0)
            expect(why.locator(".advice")).not_to_be_empty()
            expect(page.locator(".scrollback")).to_be_visible()
            scene.double.set_pane("w1:p1", text="typed just now\n")
            expect(page.locator(".terminal:is(pre)")).to_contain_text("typed just now")
            scene.start(report="local-conv-1")
            page.get_by_text("prompt 0 of local-conv-1").last.wait_for(timeout=20_000)
            expect(page.get_by_role("button", name="Find")).to_have_count(1)
            scene.double.close_pane("w1:p1")
            page.get_by_role("region", name="This pane was closed").wait_for(timeout=15_000)
            expect(page.get_by_text("prompt 0 of local-conv-1").last).to_be_visible()
            assert site.faults == []
            site.close()
