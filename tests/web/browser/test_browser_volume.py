"""What is large: one turn of thousands of calls, a text of 20 MB, a conversation of 500 MB."""

from __future__ import annotations

import json
import re
import shutil
from typing import Any

from playwright.sync_api import expect

import talks
from support import assistant, tool, user
from waiting import settle, until

OLDER = "document.querySelector('#older').scrollIntoView({behavior: 'instant'})"


def test_one_turn_of_5000_calls(site: Any, keep: Any) -> None:
    rows = [tool(f"result {n}", f"call-{n}", arguments='{"command": "make"}') for n in range(5_000)]
    keep("calls", [user("do very much"), *rows, assistant("done")])
    page = site.open("calls")
    expect(page.get_by_text("done", exact=True).last).to_be_in_viewport()
    while page.locator("#older").is_visible():
        before = page.locator(".tool").count()
        page.evaluate(OLDER)
        until(page, f"document.querySelectorAll('.tool').length > {before}")
        settle(page)
    assert page.locator(".tool").count() == 5_000
    expect(page.locator(".turn.user")).to_have_count(1)


def test_an_argument_of_20_mb_is_fetched_in_ranges(site: Any, keep: Any) -> None:
    content = "".join(f"line {number:07}\n" for number in range(20_000_000 // 13))
    written = json.dumps({"file_path": "large.txt", "content": content})
    keep("argument", [user("write"), tool("written", name="Store", arguments=written)])
    page = site.open("argument")
    page.locator(".tool > summary").click()
    box = page.locator(".long[data-part=input]")
    expect(box.locator(".amount")).to_have_text(re.compile(r"of 21\.5 MB$"))
    before = len(site.requests)
    box.get_by_role("button", name="Show more").click()
    expect(box.locator(".amount")).not_to_have_text(re.compile(r"^4\.\d kB"))
    assert written.startswith(box.locator("pre").text_content())
    (asked,) = [url for url in site.requests[before:] if "/content?" in url]
    last = re.sub(r"start=\d+", f"start={len(written) - 20}", asked)
    found = page.evaluate("url => fetch(url).then(answer => answer.json())", last)
    assert (found["text"], found["end"]) == (written[-20:], len(written))


def test_a_conversation_of_500_mb(site: Any, keep: Any) -> None:
    answer = assistant("word " * 20_000)
    keep("huge", (row for n in range(5_000) for row in (user(f"question {n}"), answer)))
    page = site.open("huge")
    expect(page.get_by_text("question 4999", exact=True)).to_be_attached()
    for _ in range(5):
        before = page.locator(".turn.user").count()
        page.evaluate(OLDER)
        until(page, f"document.querySelectorAll('.turn.user').length > {before}")
        settle(page)
    shutil.rmtree(site.root / talks.AGENT / "huge")  # pytest keeps the folders of tests
