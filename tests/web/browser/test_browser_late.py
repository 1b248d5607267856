"""Answers that come late, in another order or not at all, and what is told only once.

Playwright holds answers of the real server back, or lets them fail, where a test says so.
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import re
from collections.abc import Iterator
from typing import Any

from playwright.sync_api import Page, Request, Route, expect

import talks
from scene import AGENT, Scene
from scene import scene as letta_scene
from served import served
from sites import Site
from support import append, assistant, tool, user
from waiting import settle, until

BAD_ROW = b'{"kind":"user","kind":"user"}\n'
NOTICES = "#notices .banner"
SWITCH = 15_000
"""Milliseconds that a changed verdict may take to the screen, on a busy machine."""


class Held:
    """Answers of the server that are kept from the page until they are let go."""

    def __init__(self, page: Page, pattern: str) -> None:
        self._page = page
        self._kept: list[tuple[Route, Any]] = []
        self._is_open = False
        page.route(re.compile(pattern), self._answer)

    def wait(self) -> None:
        for _ in range(SWITCH // 50):
            if self._kept:
                return
            self._page.wait_for_timeout(50)
        raise AssertionError("it was never asked for")

    def let_go(self) -> None:
        self._is_open = True
        for route, answer in self._kept:
            route.fulfill(response=answer)

    def _answer(self, route: Route) -> None:
        if self._is_open:
            route.continue_()
        else:
            self._kept.append((route, route.fetch()))


@contextlib.contextmanager
def pane(tmp_path: pathlib.Path, browser: Any) -> Iterator[tuple[Scene, Site, Page, Any]]:
    """A letta's pane and its page, which shows the first of two conversations."""
    with letta_scene(tmp_path) as scene:
        for number in (1, 2):
            scene.conversation(f"local-conv-{number}")
        letta = scene.start()
        scene.says(letta.pid, "local-conv-1")
        root = scene.letta_home / "transcripts"
        with served(root, binder=scene.binder()) as server:
            site = Site(root, server, browser)
            page = site.open("/")
            page.locator(".row", has=page.get_by_text("w1:p1")).get_by_role("link").click()
            page.wait_for_selector("html[data-ready]")
            shows(page, 1)
            expect(page.locator("#live")).to_have_text("Live")
            yield scene, site, page, letta
            site.close()


def shows(page: Page, number: int) -> None:
    text = page.locator(".turn").get_by_text(f"prompt 0 of local-conv-{number}")
    expect(text.first).to_be_visible(timeout=SWITCH)


def test_turns_that_come_late_are_not_put_into_another_conversation(
    browser: Any, tmp_path: pathlib.Path
) -> None:
    with pane(tmp_path, browser) as (scene, site, page, letta):
        held = Held(page, r"/turns\?after=")
        append(site.root / AGENT / "local-conv-1" / "transcript.jsonl", assistant("late words"))
        held.wait()
        scene.says(letta.pid, "local-conv-2")
        shows(page, 2)
        held.let_go()
        page.wait_for_timeout(300)
        expect(page.get_by_text("late words")).to_have_count(0)
        # What is told next is caught up with.
        append(site.root / AGENT / "local-conv-2" / "transcript.jsonl", assistant("its own words"))
        expect(page.get_by_text("its own words")).to_be_visible()
        expect(page.get_by_text("late words")).to_have_count(0)
        expect(page.locator(NOTICES)).to_have_count(0)


def test_a_page_that_comes_late_does_not_stay(browser: Any, tmp_path: pathlib.Path) -> None:
    """The letta goes on to another conversation and comes back before the page was there."""
    with pane(tmp_path, browser) as (scene, site, page, letta):
        held = Held(page, r"/panes/[^/]+/[^/]+$")
        scene.says(letta.pid, "local-conv-2")
        held.wait()
        scene.says(letta.pid, "local-conv-1")
        page.wait_for_timeout(1_500)
        held.let_go()
        page.wait_for_timeout(500)
        shows(page, 1)
        expect(page.get_by_text("prompt 0 of local-conv-2")).to_have_count(0)
        assert site.faults == []


def test_a_page_that_knows_more_than_was_told_is_left(browser: Any, tmp_path: pathlib.Path) -> None:
    """What is told is of before the page was made, and told again to whoever asks."""
    with pane(tmp_path, browser) as (_, site, page, _letta):
        watch = page.locator("main").get_attribute("data-watch")
        told = {"watch": watch, "pane": {"verdict": "terminal", "reason": "old", "sentence": "old"}}
        page.route(
            re.compile("/api/events"),
            lambda route: route.fulfill(
                content_type="text/event-stream",
                body=f"retry: 60000\n\nevent: verdict\ndata: {json.dumps(told)}\n\n",
            ),
        )
        page.reload()
        page.wait_for_selector("html[data-ready]")
        before = len(site.requests)
        page.wait_for_timeout(2_000)
        assert sum("/panes/" in url for url in site.requests[before:]) == 1
        shows(page, 1)


def test_a_page_that_does_not_come_is_asked_for_again(browser: Any, tmp_path: pathlib.Path) -> None:
    with pane(tmp_path, browser) as (scene, _, page, letta):
        refused: list[Request] = []

        def refuse(route: Route) -> None:
            refused.append(route.request)
            route.fulfill(status=503, body="")

        page.route(re.compile(r"/panes/[^/]+/[^/]+$"), refuse, times=2)
        scene.says(letta.pid, "local-conv-2")
        notice = page.get_by_role("region", name="what this pane shows now")
        notice.wait_for(timeout=SWITCH)
        expect(notice).to_contain_text("what the pane showed before")
        shows(page, 2)
        assert len(refused) == 2
        expect(page.locator(NOTICES)).to_have_count(0)


def test_a_pane_that_closes_before_its_page_comes_is_closed(
    browser: Any, tmp_path: pathlib.Path
) -> None:
    with pane(tmp_path, browser) as (scene, site, page, letta):
        page.route(re.compile(r"/panes/[^/]+/[^/]+$"), lambda route: route.fulfill(status=404))
        scene.says(letta.pid, "local-conv-2")
        page.get_by_role("region", name="what this pane shows now").wait_for(timeout=SWITCH)
        scene.double.close_pane("w1:p1")
        page.get_by_role("region", name="This pane was closed").wait_for(timeout=SWITCH)
        page.wait_for_timeout(500)  # for what was asked before
        before = len(site.requests)
        page.wait_for_timeout(3_000)
        assert [url for url in site.requests[before:] if "/panes/" in url] == []
        expect(page.locator(NOTICES)).to_have_count(1)
        expect(page.get_by_role("region", name="This pane was closed")).to_be_visible()


def test_a_herdr_that_was_away_leaves_no_notice(browser: Any, tmp_path: pathlib.Path) -> None:
    with pane(tmp_path, browser) as (scene, _, page, _letta):
        scene.double.fault("garbage")
        notice = page.get_by_role("region", name="what this pane shows now")
        notice.wait_for(timeout=SWITCH)
        expect(page.locator(".turn").first).to_be_visible()
        scene.double.clear_faults()
        expect(page.locator(NOTICES)).to_have_count(0, timeout=SWITCH)
        shows(page, 1)


def test_two_tabs_that_come_at_once_are_both_told(site: Site, keep: Any) -> None:
    """What happened between a tab's page and its watch is told to it, not to the last tab only."""
    keep("first", [user("words")])
    path = keep("one", [user("words")])
    context = site.context()
    leader = site.window(context)
    site.go(leader, "one")
    expect(leader.locator("#live")).to_have_text("Live")
    tabs = [site.window(context) for _ in range(2)]
    for tab in tabs:
        site.go(tab, "one")
        expect(tab.locator("#live")).to_have_text("Live")
    append(path, assistant("came meanwhile"))
    expect(tabs[0].get_by_text("came meanwhile")).to_be_visible()
    # As if the pages were made before: both ask at the same moment how it stands.
    leader.evaluate(
        """() => {
          window.told = new Set();
          const channel = new BroadcastChannel("lettafast");
          channel.onmessage = ({data}) => data.kind === "event" && window.told.add(data.to);
          const watches = [document.querySelector("main").dataset.watch];
          for (const tab of ["a", "b"]) channel.postMessage({kind: "hello", watches, tab});
          channel.postMessage({kind: "bye", tab: "c"});
        }"""
    )
    until(leader, "() => window.told.has('a') && window.told.has('b')", seconds=5)


def test_a_page_of_its_own_comes_before_the_rows_of_a_list(site: Site, keep: Any) -> None:
    """A server lets one client watch so much; all tabs of a browser are one client."""
    path = keep("zz", [user("words")])
    context = site.context()
    page = site.window(context)
    site.go(page, "zz")
    expect(page.locator("#live")).to_have_text("Live")
    page.evaluate(
        """() => {
          const watches = Array.from({length: 80}, (_, at) => `conversation:a/${at}`);
          const channel = new BroadcastChannel("lettafast");
          channel.postMessage({kind: "hello", watches, tab: "a list of many"});
        }"""
    )
    page.wait_for_timeout(500)
    append(path, assistant("still told"))
    expect(page.get_by_text("still told")).to_be_visible()


def test_watches_with_long_names_leave_the_others_live(site: Site, keep: Any) -> None:
    path = keep("one", [user("words")])
    context = site.context()
    page = site.window(context)
    site.go(page, "one")
    expect(page.locator("#live")).to_have_text("Live")
    page.evaluate(
        """() => {
          const channel = new BroadcastChannel("lettafast");
          for (const at of [1, 2, 3, 4, 5, 6, 7, 8]) {
            const watches = [`conversation:a/${"%C3%A9".repeat(120)}${at}`];
            channel.postMessage({kind: "hello", watches, tab: `tab ${at}`});
          }
        }"""
    )
    page.wait_for_timeout(500)
    append(path, assistant("still told"))
    expect(page.get_by_text("still told")).to_be_visible()
    expect(page.locator("#live")).to_have_text("Live")


def test_what_is_no_longer_so_is_no_longer_said(site: Site, keep: Any) -> None:
    path = keep("one", [user("good words"), assistant("a")])
    page = site.open("one")
    expect(page.locator("#live")).to_have_text("Live")
    good = path.read_bytes()
    append(path, BAD_ROW)
    refused = page.get_by_role("region", name="This transcript is refused now")
    refused.wait_for()
    path.rename(path.with_suffix(".away"))
    page.get_by_role("region", name="This transcript cannot be read now").wait_for()
    expect(refused).to_have_count(0)
    path.write_bytes(good + BAD_ROW)
    refused.wait_for()
    expect(page.locator(NOTICES)).to_have_count(1)
    path.write_bytes(good)
    page.get_by_role("region", name="This transcript was replaced").wait_for()
    expect(page.locator(NOTICES)).to_have_count(1)
    site.forgive("409")


def test_a_refused_transcript_that_goes_is_not_called_refused(site: Site, keep: Any) -> None:
    path = keep("one", [BAD_ROW])
    page = site.open("one")
    page.get_by_role("region", name="This transcript was refused").wait_for()
    expect(page.locator("#live")).to_have_text("Live")
    path.unlink()
    page.get_by_role("heading", name="Nothing is written yet").wait_for()
    expect(page.get_by_role("region", name="This transcript was refused")).to_have_count(0)
    site.forgive("422")


def test_a_transcript_that_was_emptied_meanwhile_is_told(
    browser: Any, keep: Any, root: Any
) -> None:
    """The server that saw it go is not the one that the page comes back to."""
    path = keep("one", [user("old words")])
    with served(root) as first:
        site = Site(root, first, browser)
        page = site.open("one")
        expect(page.locator("#live")).to_have_text("Live")
    expect(page.locator("#live")).to_have_text("Reconnecting…")
    path.write_bytes(b"")
    with served(root, again=first):
        page.get_by_role("region", name="This transcript was replaced").wait_for(timeout=SWITCH)
    site.close()


def test_a_lenient_reading_that_shows_nothing_is_not_asked_for_for_ever(
    site: Site, keep: Any
) -> None:
    keep("one", [BAD_ROW, BAD_ROW])
    page = site.open("/conversations/" + talks.AGENT + "/one?mode=lenient")
    expect(page.locator("#live")).to_have_text("Live")
    page.wait_for_timeout(1_500)
    assert sum("/one?" in url for url in site.requests) <= 2
    expect(page.get_by_text("nothing that can be read")).to_be_visible()
    expect(page.get_by_text("holds no entry")).to_have_count(0)


def test_what_was_found_is_of_the_turns_that_are_there(site: Site, keep: Any) -> None:
    path = keep("one", [user("needle needle"), assistant("needle")])
    page = site.open("one")
    expect(page.locator("#live")).to_have_text("Live")
    page.get_by_role("button", name="Find").click()
    page.get_by_role("searchbox").fill("needle")
    expect(page.locator("#find-count")).to_have_text("3 of 3")
    other = path.with_suffix(".new")
    other.write_bytes(user("one needle"))
    os.replace(other, path)
    page.get_by_role("button", name="Load it again").click()
    expect(page.locator("#find-count")).to_contain_text("of 1")
    site.forgive("409")


def test_the_raw_entry_of_a_call_is_its_own(site: Site, keep: Any) -> None:
    """In a turn that is longer than a page, whose end alone comes with the turn."""
    calls = [tool("x" * 900, f"call-{number}") for number in range(1_200)]
    keep("one", [user("do much"), *calls])
    page = site.open("one")
    page.evaluate("scrollTo(0, 0)")
    expect(page.locator(".tool")).to_have_count(1_200)
    call = page.locator(".tool").nth(3)
    call.locator(":scope > summary").click()
    call.get_by_role("button", name="Raw entry").click()
    expect(call.locator(".raw")).to_contain_text('"id": "call-3"')
    page.locator(".turn").last.locator("[data-do=raw]").first.click()
    expect(page.locator(".turn > .raw")).to_contain_text("Only the end of this long turn")


def test_a_button_that_was_pressed_twice_has_its_words_again(site: Site, keep: Any) -> None:
    keep("one", [user("words")])
    page = site.open("one", permissions=["clipboard-write", "clipboard-read"])
    button = page.locator(".turn [data-do=copy]").first
    button.click()
    page.wait_for_timeout(400)
    button.click()
    expect(button).to_have_text("Copied")
    expect(button).to_contain_text("this message as Markdown", timeout=3_000)
    page.wait_for_timeout(1_000)
    expect(button).to_contain_text("this message as Markdown")


def test_what_was_not_copied_is_not_called_copied(site: Site, keep: Any) -> None:
    keep("one", [user("words")])
    page = site.window()
    page.add_init_script(
        "navigator.clipboard.writeText = () => Promise.reject(new Error('no'));"
        "document.execCommand = () => false;"
    )
    site.go(page, "one")
    button = page.locator(".turn [data-do=copy]").first
    button.click()
    expect(button).to_have_text("Not copied")
    expect(page.locator("#said")).to_have_text("Not copied")


def test_back_from_a_conversation_is_where_the_list_was(site: Site, keep: Any) -> None:
    for number in range(80):
        keep(f"conv-{number:02}", [user(f"title {number}")])
    page = site.open("/")
    link = page.locator(".row a").nth(40)
    link.scroll_into_view_if_needed()
    settle(page)
    before = page.evaluate("scrollY")
    assert before > 1_000
    link.click()
    page.wait_for_selector("#turns")
    page.go_back()
    page.wait_for_selector("html[data-ready]")
    until(page, "(before) => Math.abs(scrollY - before) < 300", before, seconds=3)


def test_the_list_of_panes_stays_true(browser: Any, tmp_path: pathlib.Path) -> None:
    with letta_scene(tmp_path) as scene:
        scene.resumed()
        root = scene.letta_home / "transcripts"
        with served(root, binder=scene.binder()) as server:
            site = Site(root, server, browser)
            page = site.open("/")
            expect(page.locator("#live")).to_have_text("Live")
            row = page.locator(".row", has=page.get_by_text("w1:p1"))
            link = row.get_by_role("link")
            link.focus()
            scene.double.set_pane("w1:p1", agent_status="working")
            expect(row).to_contain_text("working", timeout=SWITCH)
            # Who walks through the list by keys is left at the row.
            assert page.evaluate("document.activeElement.getAttribute('href')") == (
                link.get_attribute("href")
            )
            scene.double.close_pane("w1:p2")
            expect(page.locator(".row", has=page.get_by_text("w1:p2"))).to_have_count(
                0, timeout=SWITCH
            )
            assert site.faults == []
            site.close()


def test_panes_that_take_long_come_later(browser: Any, tmp_path: pathlib.Path) -> None:
    with letta_scene(tmp_path) as scene:
        scene.resumed()
        scene.double.fault("slow", method="session.snapshot", delay=3.0, times=2)
        root = scene.letta_home / "transcripts"
        with served(root, binder=scene.binder()) as server:
            site = Site(root, server, browser)
            page = site.open("/")
            expect(page.get_by_text("The panes did not answer yet.")).to_be_visible()
            expect(page.get_by_role("link", name="prompt 0 of local-conv-1")).to_be_visible()
            expect(page.locator(".row", has=page.get_by_text("w1:p1"))).to_have_count(
                1, timeout=SWITCH
            )
            expect(page.get_by_text("The panes did not answer yet.")).to_have_count(0)
            assert site.faults == []
            site.close()


def test_a_list_that_is_looked_at_again_is_as_it_is_now(site: Site, keep: Any) -> None:
    keep("one", [user("the first")])
    page = site.open("/")
    expect(page.get_by_role("link", name="the first")).to_be_visible()
    page.get_by_role("searchbox").fill("the se")
    keep("two", [user("the second")])
    page.wait_for_timeout(1_100)
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(page.get_by_role("link", name="the second")).to_be_visible()
    # Who was typing goes on typing.
    page.keyboard.type("cond")
    expect(page.get_by_role("searchbox")).to_have_value("the second")
    expect(page.get_by_role("link", name="the first")).to_be_hidden()


def connected(site: Site) -> int:
    response = site.context().request.get(site.server.origin + "/api/health")
    clients: int = response.json()["clients"]
    return clients


def test_a_tab_out_of_sight_leaves_its_connection_to_others(site: Site, keep: Any) -> None:
    """Where tabs cannot share a stream: without HTTPS, on another machine."""
    path = keep("one", [user("words")])
    page = site.window()
    page.add_init_script("Object.defineProperty(navigator, 'locks', {value: undefined})")
    site.go(page, "one")
    expect(page.locator("#live")).to_have_text("Live")
    turn = """(hidden) => {
      Object.defineProperty(document, "hidden", {value: hidden, configurable: true});
      document.dispatchEvent(new Event("visibilitychange"));
    }"""
    assert connected(site) == 1
    page.evaluate(turn, True)
    for _ in range(60):
        if connected(site) == 0:
            break
        page.wait_for_timeout(50)
    assert connected(site) == 0
    append(path, assistant("written meanwhile"))
    page.evaluate(turn, False)
    expect(page.get_by_text("written meanwhile")).to_be_visible()


def test_a_slow_terminal_is_asked_for_once_at_a_time(browser: Any, tmp_path: pathlib.Path) -> None:
    with letta_scene(tmp_path) as scene:
        root = scene.letta_home / "transcripts"
        root.mkdir(parents=True, exist_ok=True)
        with served(root, binder=scene.binder()) as server:
            site = Site(root, server, browser)
            page = site.open("/")
            page.locator(".row", has=page.get_by_text("w1:p2")).get_by_role("link").click()
            page.wait_for_selector("html[data-ready]")
            kept: list[Route] = []

            def keep(route: Route) -> None:
                kept.append(route)

            page.route(re.compile("/turns"), keep)
            page.wait_for_timeout(6_500)
            assert len(kept) == 1
            for route in kept:
                route.continue_()
            site.close()
