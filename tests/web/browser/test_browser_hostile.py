"""A transcript that is out to harm its reader: nothing of it runs, nothing of it is hidden."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest
from playwright.sync_api import expect

import talks
from support import append, user
from waiting import open_all

MISLEADING = (
    r"/[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\u{e0041}]/u"
)


def test_nothing_runs_and_nothing_is_asked_for(site: Any, keep: Any) -> None:
    path = keep("hostile", talks.hostile())
    page = site.open("hostile")
    open_all(page)
    for raw in page.get_by_role("button", name="Raw entry").all()[:6]:
        raw.click()
    append(path, b"".join(talks.hostile()))
    page.locator(".turn.user").nth(len(talks.SCRIPTS) + 2).wait_for()
    open_all(page)
    page.wait_for_timeout(300)
    assert page.evaluate("window.__ran") is None
    inside = "#content :is(script, style, iframe, img, svg, object, form, base, meta, link)"
    assert page.locator(inside).count() == 0
    attributes = page.evaluate(
        "[...document.querySelectorAll('#content *')].flatMap(one => one.getAttributeNames())"
        ".filter(name => name.startsWith('on'))"
    )
    assert attributes == []
    # `site` checks that no other server was asked, and that the console stayed silent.


def test_links_lead_where_they_may(site: Any, keep: Any) -> None:
    keep("hostile", talks.hostile())
    page = site.open("hostile")
    links = page.locator(".prose a")
    assert links.count() > 3
    for link in links.all():
        assert link.get_attribute("href").startswith(("https://", "http://", "mailto:"))
        assert link.get_attribute("rel") == "noopener noreferrer nofollow"
        assert link.get_attribute("target") is None
    image = page.locator(".prose a.image").first
    expect(image).to_have_text("Image: six (https://evil.example/p.png)")


def test_nothing_is_hidden(site: Any, keep: Any) -> None:
    keep("hostile", talks.hostile())
    page = site.open("hostile")
    open_all(page)
    text = page.locator("main").inner_text()
    for spelled in talks.SPELLED:
        assert text.count(spelled) >= 6, spelled
    sources = "[...document.querySelectorAll('template')].map(one => one.content.textContent)"
    shown = f"[document.body.innerText, document.title, ...{sources}].join()"
    assert page.evaluate(f"{MISLEADING}.test({shown})") is False
    for script in talks.SCRIPTS:
        # As a user's text, thought, answer, in code, error, name, arguments, output, and id.
        squeezed = "".join(script.split())
        assert "".join(text.split()).count(squeezed) >= 7, script


def test_what_is_fetched_later_is_spelled_out_too(site: Any, keep: Any) -> None:
    from support import tool

    output = "a" * 5_000 + talks.CONTROLS + "<img src=x onerror=alert(1)>"
    keep("later", [user("go"), tool(output)])
    page = site.open("later")
    page.locator(".tool > summary").click()
    page.locator("[data-part=output]").get_by_role("button", name="Show more").click()
    text = page.locator("[data-part=output] pre")
    expect(text).to_contain_text("<img src=x onerror=alert(1)>")
    expect(text).to_contain_text(r"rtl\u202egnp.exe\u202c")
    expect(text).to_contain_text(r"esc\x1b[31mred")
    page.get_by_role("button", name="Raw entry").click()
    expect(page.locator(".raw pre")).to_contain_text("Bash")
    assert page.locator("#content img").count() == 0


def test_the_page_and_the_server_spell_alike(site: Any, keep: Any) -> None:
    from lettafast.visible import visible

    keep("one", [user("x" * 9_000)])
    page = site.open("one")
    characters = [chr(number) for number in range(0x3200) if number not in (9, 10)]
    characters += [
        chr(n) for n in (0xFEFF, 0xFFA0, 0xFFF0, 0xFFFE, 0xFFFF, 0x1D173, 0xE0001, 0xE0FFF, 0x1F600)
    ]
    text = "".join(f"a{one}b" for one in characters) + "👩‍💻 क्‍ष a\u200db"
    page.route(
        "**/content?*",
        lambda route: route.fulfill(
            content_type="application/json",
            body=json.dumps({"text": text, "start": 0, "end": 1, "size": 1}),
        ),
    )
    page.evaluate("""() => {
      const box = document.createElement('details');
      box.innerHTML = '<div class="long" data-part="output" data-ref="r" data-shown="0"'
        + ' data-size="9"><pre></pre><p class="more"><span class="amount"></span><a></a></p></div>';
      document.querySelector('.turn .parts').append(box);
      box.open = true;
    }""")
    shown = page.locator("details .long[data-ref=r] pre")
    expect(shown).not_to_be_empty()
    assert shown.text_content() == visible(text)


def test_titles_and_names_are_only_text(site: Any, keep: Any, root: pathlib.Path) -> None:
    for number, script in enumerate(talks.SCRIPTS[:4]):
        talks.keep(root, f"n{number}", [user(script)])
    keep("bidi", [user(talks.CONTROLS)])
    (root / talks.AGENT / "<img src=x onerror=alert(1)>\x1b\u202e").mkdir()
    page = site.open("/")
    assert page.locator("main img, main script, main svg, main iframe").count() == 0
    assert page.evaluate(f"{MISLEADING}.test(document.body.innerText)") is False
    expect(page.get_by_text(talks.SCRIPTS[0])).to_be_visible()
    site.go(page, "n1")
    expect(page.get_by_role("heading", level=1)).to_have_text(talks.SCRIPTS[1])
    site.go(page, "bidi")
    assert page.evaluate(f"{MISLEADING}.test(document.title)") is False


@pytest.mark.parametrize(
    "path", ["/conversations/%3Cscript%3E/%1b%E2%80%AE", "/nowhere/%3Cimg%20src=x%3E"]
)
def test_addresses_are_only_text(site: Any, path: str) -> None:
    page = site.open(path)
    site.forgive("404")
    assert page.locator("main img, main script").count() == 0
    assert page.evaluate(f"{MISLEADING}.test(document.body.innerText + document.title)") is False
