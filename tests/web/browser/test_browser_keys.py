"""Everything by keys alone: jumps, find, help, folding."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Page, expect

import talks
from support import assistant, tool, user
from waiting import settle, until

FOCUSED = "document.activeElement.closest('.turn')?.querySelector('.parts').textContent.trim()"


def test_j_and_k_go_from_one_prompt_to_the_next(site: Any, keep: Any) -> None:
    keep("long", talks.long(120))
    page = site.open("long")
    seen = []
    for _ in range(60):
        page.keyboard.press("k")
        number = len(seen)
        until(page, f"({FOCUSED} ?? '').startsWith('question') && {FOCUSED} !== {seen[-1:]!r}[0]")
        seen.append(page.evaluate(FOCUSED))
        assert len(seen) == number + 1
    assert seen == [f"question {119 - number}" for number in range(60)]
    expect(page.locator(":focus")).to_be_in_viewport()
    page.keyboard.press("j")
    assert page.evaluate(FOCUSED) == "question 61"


def test_find_counts_and_steps_and_reaches_older_turns(site: Any, keep: Any) -> None:
    rows = list(talks.long(150))
    rows.insert(0, user("the needle in the hay"))
    keep("long", [*rows, assistant("a **Nee**dle here"), tool("a needle", arguments="{}")])
    page = site.open("long")
    page.keyboard.press("/")
    expect(page.get_by_label("Find in the conversation")).to_be_focused()
    page.keyboard.type("needle")
    count = page.locator("#find-count")
    expect(count).to_have_text("2 of 2 in what is loaded")
    # The newest is shown first, inside a folded call.
    expect(page.locator(".tool[open]", has_text="a needle")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(count).to_have_text("1 of 2 in what is loaded")
    expect(page.locator(".prose", has_text="Needle here")).to_be_in_viewport()
    assert page.evaluate("CSS.highlights.get('found').size") == 2
    page.keyboard.press("Enter")
    expect(count).to_have_text("1 of 3", timeout=20_000)
    expect(page.get_by_text("the needle in the hay").last).to_be_in_viewport()
    page.keyboard.press("Shift+Enter")
    expect(count).to_have_text("2 of 3")
    page.get_by_label("Find in the conversation").fill("nothing of the kind")
    expect(count).to_have_text("None")
    page.keyboard.press("Escape")
    expect(page.locator("#find")).to_be_hidden()
    assert page.evaluate("CSS.highlights.get('found').size") == 0


def test_help_opens_and_closes_by_keys(site: Any, keep: Any) -> None:
    keep("plain", talks.plain())
    page = site.open("plain")
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Help")
    expect(dialog).to_be_visible()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()


def test_single_keys_can_be_turned_off(site: Any, keep: Any) -> None:
    keep("plain", talks.plain())
    page = site.open("plain")
    page.get_by_role("button", name="Help").click()
    page.get_by_label("Single keys do this").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    expect(page.locator("#find")).to_be_hidden()
    page.reload()
    page.wait_for_selector("html[data-ready]")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("button", name="Find")).to_be_visible()


def tab_to(page: Page, expression: str) -> None:
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.evaluate(f"(one => {expression})(document.activeElement)"):
            return
    raise AssertionError(f"no focus on {expression}")


def test_everything_is_reached_by_tab(site: Any, keep: Any) -> None:
    keep("plain", talks.plain())
    page = site.open("/")
    tab_to(page, "one.textContent.includes('Skip')")
    expect(page.locator(".skip")).to_be_in_viewport()
    tab_to(page, "one.closest('.row')")
    page.keyboard.press("Enter")
    page.wait_for_selector("html[data-ready]")
    expect(page.get_by_role("heading", level=1)).to_have_text("Where are the tokens checked?")
    tab_to(page, "one.matches('.tool summary') && one.textContent.includes('Grep')")
    page.keyboard.press("Enter")
    expect(page.locator(".tool[open]", has_text="Grep")).to_have_count(1)
    tab_to(page, "one.textContent === 'Raw entry'")
    page.keyboard.press("Space")
    page.locator(".tool .raw").wait_for()
    tab_to(page, "one.matches('.thinking summary')")
    page.keyboard.press("Enter")
    tab_to(page, "one.getAttribute('aria-label') === 'Copy this code as Markdown'")
    style = "getComputedStyle(document.activeElement)"
    assert page.evaluate(f"{style}.outlineStyle") == "solid"
    page.keyboard.press("Enter")
    expect(page.locator("#said")).to_have_text("Copied")
    settle(page)
