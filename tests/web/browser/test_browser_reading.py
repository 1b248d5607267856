"""What a reader sees and does on the page of a conversation."""

from __future__ import annotations

import json
import re
from typing import Any

from playwright.sync_api import Page, expect

import talks
from support import NIGHTLY, assistant, tool, user
from waiting import settle, until

PHONE = {"width": 375, "height": 700}

# Where the first turn below the bar stands: its name and its distance from the top of the window.
PLACE = """() => {
  const top = document.querySelector('.top').getBoundingClientRect().bottom;
  for (const head of document.querySelectorAll('.turn > header')) {
    const rect = head.getBoundingClientRect();
    if (rect.bottom > top + 1) return [head.parentElement.id, rect.top];
  }
}"""
TOP_OF = "id => document.getElementById(id).querySelector('header').getBoundingClientRect().top"
FROM_END = "() => document.documentElement.scrollHeight - scrollY - innerHeight"


def loaded(page: Page) -> int:
    return page.locator(".turn.user").count()


def test_a_conversation_opens_at_its_end(site: Any, keep: Any) -> None:
    keep("long", talks.long(200))
    page = site.open("long")
    assert page.evaluate(FROM_END) <= 1
    expect(page.get_by_text("question 199", exact=True)).to_be_in_viewport()
    assert loaded(page) < 200
    expect(page.get_by_text("Letta writes a turn when it ends")).to_be_in_viewport()


def test_older_turns_come_on_scroll_and_nothing_moves(site: Any, keep: Any) -> None:
    turns = 5_000 if NIGHTLY else 600
    keep("long", talks.long(turns))
    page = site.open("long")
    page.mouse.move(500, 400)
    jumps: list[float] = []
    while loaded(page) < turns:
        before = loaded(page)
        page.evaluate("document.querySelector('#older').scrollIntoView({behavior: 'instant'})")
        name, top = page.evaluate(PLACE)
        until(page, f"document.querySelectorAll('.turn.user').length > {before}")
        settle(page)
        jumps.append(abs(page.evaluate(TOP_OF, name) - top))
    assert max(jumps) < 1.5, jumps
    expect(page.get_by_text("The conversation begins here.")).to_be_visible()
    expect(page.locator("#older")).to_be_hidden()
    numbers = page.locator(".turn.user .parts").all_text_contents()
    assert [text.strip() for text in numbers] == [f"question {number}" for number in range(turns)]


def test_scrolling_back_by_hand_never_jumps(site: Any, keep: Any) -> None:
    """Turn by turn upwards by the wheel: each step moves the text by the step and no more."""
    keep("long", talks.long(300))
    page = site.open("long")
    page.mouse.move(500, 400)
    for _ in range(60):
        name, top = page.evaluate(PLACE)
        at = page.evaluate("scrollY")
        if at == 0:
            break
        page.mouse.wheel(0, -500)
        settle(page)
        moved = page.evaluate(TOP_OF, name) - top
        assert -1.5 < moved < 501.5, (moved, at)
    assert loaded(page) > 30


def test_a_long_conversation_does_not_slow_the_page_down(site: Any, keep: Any) -> None:
    """What is out of sight is not laid out."""
    keep("long", talks.long(300))
    page = site.open("long")
    for _ in range(8):
        page.evaluate("document.querySelector('#older').scrollIntoView({behavior: 'instant'})")
        page.wait_for_timeout(80)
    skipped = page.evaluate(
        "[...document.querySelectorAll('.turn .parts')]"
        ".filter(one => !one.checkVisibility({contentVisibilityAuto: true})).length"
    )
    assert skipped > 100


def test_pages_that_cut_a_turn_are_joined(site: Any, keep: Any) -> None:
    calls = 700
    rows = [user("do much")]
    rows += [
        tool("x" * 1_500, f"call-{n}", arguments=json.dumps({"command": f"run {n}"}))
        for n in range(calls)
    ]
    keep("much", [*rows, assistant("done")])
    page = site.open("much")
    assert page.locator(".tool").count() < calls
    expect(page.get_by_text("(continued)")).to_have_count(1)
    while page.locator("#older").is_visible():
        before = page.locator(".tool").count()
        page.evaluate("document.querySelector('#older').scrollIntoView({behavior: 'instant'})")
        until(
            page,
            f"document.querySelectorAll('.tool').length > {before}"
            " || document.querySelector('#older').hidden",
        )
        page.wait_for_timeout(50)
    assert page.locator(".turn").count() == 2
    names = page.locator(".tool-summary").all_text_contents()
    assert names == [f"run {number}" for number in range(calls)]
    expect(page.get_by_text("700 tool calls")).to_have_count(1)
    expect(page.get_by_text("(continued)")).to_have_count(0)


def test_a_tool_call_is_one_line(site: Any, keep: Any) -> None:
    keep("plain", talks.plain())
    page = site.open("plain")
    edit = page.locator(".tool", has=page.get_by_text("Edit", exact=True))
    assert edit.evaluate("one => one.getBoundingClientRect().height") < 50
    summary = edit.locator("summary").first
    assert re.sub(r"\s+", " ", summary.inner_text()) == "Edit /home/user/proj/src/auth.py done"
    failed = page.locator(".tool.failed")
    expect(failed).to_have_count(1)
    expect(failed).to_have_attribute("open", "")
    expect(failed.get_by_text("1 failed, 30 passed in 0.84s")).to_be_visible()
    expect(page.get_by_text("4 tool calls, 1 failed")).to_be_visible()
    expect(page.locator(".tool[open]")).to_have_count(1)


def test_the_whole_output_comes_in_ranges(site: Any, keep: Any) -> None:
    output = "".join(f"line {number} – ü\n" for number in range(60_000))
    keep("large", [user("go"), tool(output, arguments=json.dumps({"command": "y" * 9_000}))])
    page = site.open("large")
    page.locator(".tool > summary").click()
    box = page.locator(".long[data-part=output]")
    text = box.locator("pre")
    assert len(text.text_content()) == 4_000
    expect(box.locator(".amount")).to_have_text(re.compile(r"^4\.9 kB of 1\.1 MB$"))
    box.get_by_role("button", name="Show more").click()
    expect(box.locator(".amount")).not_to_have_text(re.compile(r"^4\.9 kB"))
    shown = text.text_content()
    assert output.startswith(shown)
    assert 200_000 < len(shown) < 300_000
    box.get_by_role("button", name="Show all").click()
    expect(box.locator(".more")).to_have_count(0)
    assert text.text_content() == output
    given = page.locator(".long[data-part=input]")
    given.get_by_role("button", name="Show all").click()
    expect(given.locator(".more")).to_have_count(0)
    assert len(given.locator("pre").text_content()) == 9_000 + len('{"command": ""}')


def test_a_long_message_comes_in_ranges_too(site: Any, keep: Any) -> None:
    said = "".join(f"sentence {number} of it. " for number in range(64_000))
    keep("message", [user("go"), assistant(said)])
    page = site.open("message")
    box = page.locator(".turn .long[data-part=text]").last
    text = box.locator("pre")
    assert len(text.text_content()) == 1 << 20
    box.get_by_role("button", name="Show all").click()
    expect(box.locator(".more")).to_have_count(0)
    assert text.text_content() == said


def test_what_a_page_does_not_carry_comes_when_it_is_opened(site: Any, keep: Any) -> None:
    rows = [user("go")]
    rows += [
        tool("o" * 4_500 + str(n), f"c{n}", arguments=json.dumps({"command": f"r{n}"}))
        for n in range(110)
    ]
    keep("many", rows)
    # The whole half megabyte is one page; a third of its outputs would be too much to send.
    page = site.open("many")
    assert page.locator(".tool").count() > 100
    lazy = page.locator(".tool", has=page.locator(".long[data-shown='0'][data-part=output]")).first
    handle = lazy.element_handle()
    number = handle.query_selector(".tool-summary").text_content()[1:]
    handle.query_selector("summary").click()
    until(
        page, "one => one.querySelector('[data-part=output] pre').textContent.length > 4500", handle
    )
    assert handle.query_selector("[data-part=output] pre").text_content() == "o" * 4_500 + number


def test_an_edit_is_shown_as_a_diff(site: Any, keep: Any) -> None:
    keep("plain", talks.plain())
    page = site.open("plain")
    edit = page.locator(".tool", has=page.get_by_text("Edit", exact=True))
    edit.locator("summary").first.click()
    expect(edit.locator("figcaption")).to_contain_text("2 lines removed, 3 added")
    expect(edit.locator("del").first).to_have_text("def is_fresh(token):")
    assert edit.locator("ins").all_text_contents() == talks.NEW.rstrip("\n").split("\n")
    # What the colors say is there as text too.
    assert "removed: def is_fresh(token):" in edit.locator(".lines").text_content()
    edit.get_by_text("Arguments").click()
    expect(edit.get_by_text('"old_string"')).to_be_visible()


def test_thinking_is_folded(site: Any, keep: Any) -> None:
    keep("plain", talks.plain())
    page = site.open("plain")
    thought = page.get_by_text("Units, perhaps: milliseconds against seconds.")
    expect(thought).to_be_hidden()
    page.locator(".thinking", has=thought).locator("summary").click()
    expect(thought).to_be_visible()


def test_markdown_is_rendered_and_what_people_type_is_not(site: Any, keep: Any) -> None:
    keep("said", [user("# no heading\n    *as typed*"), assistant(talks.TOKEN_FIX)])
    page = site.open("said")
    assert page.locator(".turn.user pre").inner_text() == "# no heading\n    *as typed*"
    expect(page.locator(".prose strong").first).to_have_text("milliseconds")
    expect(page.locator(".prose td.to-right").first).to_have_text("accepted")
    assert page.locator(".prose .k").count() > 0
    link = page.locator(".prose a")
    assert link.get_attribute("rel") == "noopener noreferrer nofollow"


def test_a_wide_table_scrolls_in_its_own_box(site: Any, keep: Any) -> None:
    wide = "|" + " column |" * 30 + "\n|" + " - |" * 30 + "\n|" + " `value_of_it` |" * 30
    code = "```text\n" + "w" * 400 + "\n```\n"
    keep("wide", [user("u" * 500), assistant(wide + "\n\n" + code), tool("o" * 500, name="N" * 90)])
    page = site.open("wide", viewport=PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert page.locator(".wide").evaluate("box => box.scrollWidth > box.clientWidth")


def test_copying_gives_markdown(site: Any, keep: Any) -> None:
    keep("plain", talks.plain())
    context = site.context(permissions=["clipboard-read", "clipboard-write"])
    page = site.window(context)
    site.go(page, "plain")
    code = page.get_by_role("button", name="Copy this code as Markdown")
    code.click()
    until(page, "navigator.clipboard.readText().then(text => text.length)")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("```python\ndef is_fresh(token: Token")
    assert copied.endswith("\n```")
    turn = page.locator(".turn", has=page.get_by_text("I run the test first."))
    turn.get_by_role("button", name="Copy this message as Markdown").click()
    until(page, "navigator.clipboard.readText().then(text => text.startsWith('I run'))")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert talks.TOKEN_FIX in copied
    assert "- Bash: python -m pytest tests/test_auth.py (failed)" in copied
    expect(page.get_by_role("status").get_by_text("Copied")).to_have_count(1)


def test_raw_entries_are_there_on_demand(site: Any, keep: Any) -> None:
    keep("plain", talks.plain())
    page = site.open("plain")
    turn = page.locator(".turn", has=page.get_by_text("I run the test first."))
    turn.get_by_role("button", name="Raw entries of this turn").click()
    raw = json.loads(turn.locator("> .raw pre").inner_text())
    assert raw["role"] == "assistant"
    assert [part["kind"] for part in raw["parts"]].count("tool") == 4
    turn.get_by_role("button", name="Raw entries of this turn").click()
    expect(turn.locator(".raw")).to_have_count(0)
    tool_ = turn.locator(".tool.failed")
    tool_.get_by_role("button", name="Raw entry").click()
    raw = json.loads(tool_.locator(".raw pre").inner_text())
    assert raw["output"] == talks.FAILED
    first = page.locator(".turn.user").first
    first.get_by_role("button", name="Raw").click()
    assert json.loads(first.locator(".raw pre").inner_text())["offset"] == 0


def test_the_three_empty_states_differ(site: Any, keep: Any, root: Any) -> None:
    keep("empty", [])
    (root / talks.AGENT / "waiting").mkdir()
    page = site.open("empty")
    expect(page.get_by_role("heading", name="This transcript is empty")).to_be_visible()
    site.go(page, "waiting")
    expect(page.get_by_role("heading", name="Nothing is written yet")).to_be_visible()
    expect(page.get_by_text("Letta writes a turn when it ends.").first).to_be_visible()
    site.go(page, "nowhere")
    expect(page.get_by_role("heading", name="There is no such conversation")).to_be_visible()
    site.forgive("404")


def test_a_refused_transcript_says_where_and_why(site: Any, keep: Any) -> None:
    rows = talks.plain()
    keep("damaged", [*rows[:4], b'{"kind":"user"}\n', *rows[4:]])
    page = site.open("damaged")
    site.forgive("422")
    banner = page.get_by_role("region", name="This transcript was refused")
    offset = sum(map(len, rows[:4])) + len('{"kind":"user"')
    expect(banner).to_contain_text(f"Line 5, byte {offset:,}")
    expect(banner).to_contain_text("missing field")
    expect(page.locator(".turn")).to_have_count(0)
    banner.get_by_role("link", name="Read it leniently").click()
    page.wait_for_selector("html[data-ready]")
    losses = page.get_by_role("region", name="Read leniently: 1 fault")
    losses.get_by_text("What is damaged").click()
    expect(losses).to_contain_text("missing field")
    expect(page.get_by_text("Good. Commit it.")).to_be_visible()
    page.get_by_role("link", name="Read it strictly").click()
    expect(banner).to_be_visible()
    site.forgive("422")


def test_it_reads_without_javascript(site: Any, keep: Any) -> None:
    keep("long", [*talks.long(120), *talks.plain()])
    page = site.open("long", java_script_enabled=False)
    expect(page.get_by_text("Good. Commit it.")).to_be_visible()
    expect(page.get_by_role("button", name="Find")).to_have_count(0)
    page.locator(".thinking > summary").last.click()
    expect(page.locator(".thinking[open]")).to_have_count(1)
    page.get_by_role("link", name="Older turns").click()
    expect(page.get_by_text("Good. Commit it.")).to_have_count(0)
    assert page.locator(".turn").count() > 20
    page.get_by_role("link", name="Newest turns").click()
    expect(page.get_by_text("Good. Commit it.")).to_be_visible()
    keep("large", [user("go"), tool("o" * 5_000 + "end of it")])
    site.go(page, "large", scripted=False)
    page.locator(".tool > summary").click()
    rest = page.get_by_role("link", name="The rest as JSON").get_attribute("href")
    assert page.request.get(site.server.origin + rest).json()["text"].endswith("end of it")


def test_the_phone_has_all_of_it(site: Any, keep: Any) -> None:
    keep("plain", talks.plain())
    page = site.open("plain", viewport=PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    for name in ("Find", "Help"):
        expect(page.get_by_role("button", name=name)).to_be_in_viewport()
    site.go(page, "/")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_titles_are_searched(site: Any, keep: Any) -> None:
    keep("plain", talks.plain())
    keep("long", talks.long(3))
    page = site.open("/")
    rows = page.locator(".row")
    expect(rows).to_have_count(2)
    page.keyboard.press("/")
    page.keyboard.type("TOKENS")
    expect(rows.locator("visible=true")).to_have_count(1)
    expect(page.locator("#titles-count")).to_have_text("1 of 2")
    page.get_by_label("Find a title").fill("nothing like it")
    expect(page.get_by_text("No title holds this.")).to_be_visible()
    page.get_by_label("Find a title").fill("")
    page.get_by_role("link", name="Where are the tokens checked?").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Where are the tokens checked?")
