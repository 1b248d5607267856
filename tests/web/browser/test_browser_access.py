"""For every reader: axe finds nothing, the tree has names, contrast holds in both themes."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest
from playwright.sync_api import expect

import talks
from support import user
from waiting import open_all, violations

WIDTHS = {"desk": {"width": 1100, "height": 800}, "phone": {"width": 375, "height": 700}}


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(
    site: Any, keep: Any, root: pathlib.Path, axe: str, scheme: str, width: str
) -> None:
    keep("plain", talks.plain())
    keep("hostile", talks.hostile())
    keep("damaged", [*talks.plain(), b"{}\n"])
    keep("empty", [])
    (root / talks.AGENT / "waiting").mkdir()
    page = site.open("/", color_scheme=scheme, viewport=WIDTHS[width])
    assert violations(page, axe) == []
    for name in ("plain", "hostile", "damaged", "damaged?mode=lenient", "empty", "waiting"):
        site.go(page, name)
        open_all(page)
        if name == "plain":
            page.keyboard.press("/")
            page.get_by_role("button", name="Raw entries").first.click()
            page.locator(".raw").first.wait_for()
        assert violations(page, axe) == [], name
        if name == "plain":
            page.keyboard.press("Escape")
            page.get_by_role("button", name="Help").click()
            assert violations(page, axe) == []
    site.forgive("422")


def test_a_screen_reader_finds_its_way(site: Any, keep: Any) -> None:
    keep("plain", talks.plain())
    page = site.open("plain")
    tree = page.locator("body").aria_snapshot()
    for line in (
        "- banner:",
        "- main:",
        '- heading "Where are the tokens checked?" [level=1]',
        '- navigation "Older turns"',
        '- article "You":',
        '- article "Agent":',
        '- heading "Agent" [level=2]',
        '- button "Copy this message as Markdown"',
    ):
        assert line in tree, line
    articles = page.get_by_role("article")
    expect(articles).to_have_count(6)
    # A live region that read every appended turn aloud would never be silent.
    assert page.locator("#turns [aria-live], #turns [role=status], #turns [role=log]").count() == 0


def test_reduced_motion_is_respected(site: Any, keep: Any) -> None:
    keep("plain", [user("x")])
    page = site.open("plain", reduced_motion="reduce")
    moving = page.evaluate(
        "[...document.querySelectorAll('*')].map(one => getComputedStyle(one)).filter("
        "  style => parseFloat(style.transitionDuration) > 0 || style.animationName !== 'none'"
        ").length"
    )
    assert moving == 0


def test_the_theme_follows_the_system(site: Any, keep: Any) -> None:
    keep("plain", [user("x")])
    back = "getComputedStyle(document.body).backgroundColor"
    page = site.open("plain", color_scheme="light")
    light = page.evaluate(back)
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(back) != light
