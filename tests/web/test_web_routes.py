"""What each route answers, asked of a real server."""

from __future__ import annotations

import base64
import json
import os
import pathlib
import re
import time

import pytest

from lettafast import Store
from support import ROOT, append, assistant, tool, user
from webserver import AGENT, Site, serving

CONVERSATION = f"/api/conversations/{AGENT}/c"
PAGE = f"/conversations/{AGENT}/c"


def problem(site: Site, path: str, status: int, kind: str) -> dict:
    found = site.json(path, status)
    assert found["type"] == f"urn:lettafast:{kind}"
    assert found["status"] == status
    assert found["title"]
    assert found["detail"]
    return found


def test_a_page_is_the_cores_bytes(site: Site) -> None:
    site.write("c", user("one") + assistant() + user("two") + assistant("\u00e9\u2028"))
    with Store(site.root).transcript(AGENT, "c") as transcript:
        newest = transcript.page(limit=1)
        assert site.get(f"{CONVERSATION}?limit=1").content == transcript.page_json(limit=1)
        older = site.get(CONVERSATION, params={"before": newest.older, "limit": 1})
        assert older.content == transcript.page_json(newest.older, 1)
        lenient = site.get(f"{CONVERSATION}?mode=lenient")
        assert lenient.content == transcript.page_json()


def test_what_came_after_a_page(site: Site) -> None:
    path = site.write("c", user("one") + assistant())
    link = site.get(CONVERSATION).headers["link"]
    after = re.fullmatch(r'<(.*)>; rel="next"', link)[1]
    nothing = site.get(after)
    assert nothing.json()["turns"] == []
    assert nothing.headers["link"] == link
    append(path, user("two") + assistant("the answer"))
    more = site.get(after)
    assert [turn["parts"][0]["text"] for turn in more.json()["turns"]] == ["two", "the answer"]
    assert more.headers["link"] != link
    assert site.get(re.fullmatch(r"<(.*)>.*", more.headers["link"])[1]).json()["turns"] == []


def test_a_long_growth_comes_in_pieces(tmp_path: pathlib.Path) -> None:
    with serving(tmp_path, page_bytes=4096) as site:
        path = site.write("c", user("one"))
        url = re.fullmatch(r"<(.*)>.*", site.get(CONVERSATION).headers["link"])[1]
        append(path, b"".join(user(f"{number} {'x' * 900}") for number in range(20)))
        texts = []
        while turns := (answer := site.get(url)).json()["turns"]:
            texts += [part["text"] for turn in turns for part in turn["parts"]]
            assert len(answer.content) < 8192
            url = re.fullmatch(r"<(.*)>.*", answer.headers["link"])[1]
        assert [text.split()[0] for text in texts] == [str(number) for number in range(20)]


def test_an_older_page_leads_on_to_the_newer(site: Site) -> None:
    site.write("c", user("one") + assistant() + user("two"))
    newest = site.json(f"{CONVERSATION}?limit=1")
    older = site.get(CONVERSATION, params={"before": newest["older"]})
    after = re.fullmatch(r"<(.*)>.*", older.headers["link"])[1]
    assert site.get(after).json()["turns"] == newest["turns"]


def test_the_problems_of_a_page(site: Site) -> None:
    path = site.write("c", user("one") + assistant())
    cursor = site.json(CONVERSATION)["cursor"]
    history = cursor.partition(":")[0]
    for query, reason in {
        "before=x": "form",
        f"before={history}:7": "not_a_line",
        f"after={history}:7": "not_a_line",
        "after=x": "form",
        "limit=0": "limit",
        "limit=1001": "limit",
        "limit=-1": "limit",
        "limit=many": "limit",
        f"limit={'9' * 30}": "limit",
    }.items():
        assert problem(site, f"{CONVERSATION}?{query}", 400, "cursor")["reason"] == reason
    for query in (
        "mode=kind",
        f"before={cursor}&after={cursor}",
        f"before={cursor}&before={cursor}",
        "unknown=1",
        "ref=x",
    ):
        problem(site, f"{CONVERSATION}?{query}", 400, "query")
    for query in (f"before={history}:99999", "before=v1-0000000000000000:0"):
        problem(site, f"{CONVERSATION}?{query}", 409, "history_changed")
    assert problem(site, "/api/conversations/no/one", 404, "missing")["reason"] == "missing"
    path.unlink()
    problem(site, CONVERSATION, 404, "not_written")
    append(path, user("one") + b"{}\n")
    refused = problem(site, CONVERSATION, 422, "refused")
    assert (refused["reason"], refused["line"]) == ("missing_field", 2)
    assert refused["line_offset"] == len(user("one"))
    assert refused["hint"]
    assert site.json(f"{CONVERSATION}?mode=lenient")["diagnostics_total"] == 1
    path.unlink()
    path.symlink_to(ROOT / "README.md")
    assert problem(site, CONVERSATION, 422, "unreadable")["reason"] == "symlink"
    problem(site, "/api/no/such/route", 404, "not_found")
    problem(site, "/no/such/page", 404, "not_found")


@pytest.mark.parametrize(
    "path", ["..%2f..%2fetc/passwd", "../x", "%2e%2e/%2e%2e", "a%00b/c", "%ff%fe/c", "a/%2e", "a"]
)
def test_names_lead_nowhere_else(site: Site, path: str) -> None:
    (site.root.parent / "transcript.jsonl").write_bytes(user("secret"))
    answer = site.get(f"/api/conversations/{path}")
    assert answer.status_code == 404
    assert "secret" not in answer.text


def test_names_that_are_no_utf8(site: Site) -> None:
    folder = os.fsencode(site.root) + b"/agent \xff/c?#%41"
    os.makedirs(folder)
    with open(folder + b"/transcript.jsonl", "wb") as file:
        file.write(user("odd"))
    (found,) = site.json("/api/conversations")["conversations"]
    assert found["agent"] == r"agent \xff"
    assert found["conversation"] == "c?#%41"
    assert found["href"] == "/conversations/agent%20%FF/c%3F%23%2541"
    page = site.json(f"/api{found['href']}")
    assert page["turns"][0]["parts"][0]["text"] == "odd"
    shown = site.get(found["href"])
    assert shown.status_code == 200
    watch = re.search(r'data-watch="([^"]*)"', shown.text)[1]
    with site.stream(watch) as stream:
        assert stream.next().name == "grown"


def test_ranges_of_texts(site: Site) -> None:
    output = "\u00e9" * 700_000
    site.write("c", user("one") + tool("other", "call-2") + tool(output, "call-1"))
    part = site.json(CONVERSATION)["turns"][-1]["parts"][-1]
    assert part["output_size"] == 1_400_000
    url = f"{CONVERSATION}/content?part=output&ref={part['ref']}"
    found = site.json(url)
    assert (found["start"], found["end"], found["size"]) == (0, 1 << 20, 1_400_000)
    rest = site.json(f"{url}&start={found['end']}")
    assert found["text"] + rest["text"] == output
    assert site.json(f"{url}&start=1&length=1")["text"] == "\u00e9"
    assert site.json(f"{CONVERSATION}/content?part=output&ref=call-2")["text"] == "other"
    for query in ("start=-1", "start=x", "length=-1", "unknown=1", "start=1&start=2"):
        problem(site, f"{url}&{query}", 400, "query")
    assert problem(site, f"{url}&start=9999999", 400, "cursor")["reason"] == "range"
    for query in ("part=output", "ref=x", "ref=x&part=all"):
        problem(site, f"{CONVERSATION}/content?{query}", 400, "query")
    for query in ("part=text&ref=call-1", "part=output&ref=call-9", "part=output&ref=!"):
        problem(site, f"{CONVERSATION}/content?{query}", 404, "ref")
    gone = "at:v1-0000000000000000:0"
    problem(site, f"{CONVERSATION}/content?part=text&ref={gone}", 409, "history_changed")
    problem(site, f"/api/conversations/no/one/content?part=text&ref={gone}", 404, "missing")


def test_etags(site: Site) -> None:
    path = site.write("c", user("one") + assistant() + user("two"))
    older = site.json(f"{CONVERSATION}?limit=1")["older"]
    urls = [
        "/",
        "/api/conversations",
        PAGE,
        f"{PAGE}/turns",
        CONVERSATION,
        f"{CONVERSATION}?before={older}",
        "/api/openapi.json",
    ]
    tags = {}
    for url in urls:
        answer = site.get(url)
        assert answer.headers["cache-control"] == "private, no-cache"
        tags[url] = tag = answer.headers["etag"]
        assert re.fullmatch('"[0-9a-f]{32}"', tag)
        for known in (tag, f'"x", W/{tag}', "*"):
            again = site.get(url, headers={"If-None-Match": known})
            assert (again.status_code, again.content) == (304, b"")
            assert again.headers["etag"] == tag
        assert site.get(url, headers={"If-None-Match": '"x"'}).status_code == 200
    assert len(set(tags.values())) == len(urls)
    append(path, b'{"kind"')  # only a tail
    changed = [
        url
        for url, tag in tags.items()
        if site.get(url, headers={"If-None-Match": tag}).status_code == 200
    ]
    assert CONVERSATION in changed
    assert f"{CONVERSATION}?before={older}" not in changed


def test_the_list(site: Site) -> None:
    for number, name in enumerate(("old", "newest", "middle")):
        path = site.write(name, user(f"  \n the  title of\t{name}\nmore") + assistant())
        os.utime(path, (0, (1000, 3000, 2000)[number]))
    site.write("empty", b"")
    (site.root / AGENT / "unwritten").mkdir()
    found = site.json("/api/conversations")
    assert (found["total"], found["root"]) == (5, str(site.root))
    listed = {item["conversation"]: item for item in found["conversations"]}
    assert [*listed][1:4] == ["newest", "middle", "old"]
    assert listed["newest"] == {
        "agent": AGENT,
        "conversation": "newest",
        "title": "the title of newest",
        "state": "present",
        "reason": None,
        "size": (site.root / AGENT / "newest" / "transcript.jsonl").stat().st_size,
        "mtime": 3000.0,
        "href": f"/conversations/{AGENT}/newest",
    }
    assert (listed["empty"]["state"], listed["empty"]["title"]) == ("empty", "empty")
    assert (listed["unwritten"]["state"], [*listed][-1]) == ("missing", "unwritten")
    assert len(site.json("/api/conversations?limit=2")["conversations"]) == 2
    for limit in ("0", "x", "1001", "-1"):
        problem(site, f"/api/conversations?limit={limit}", 400, "query")


def test_a_root_that_is_not_there_yet(tmp_path: pathlib.Path) -> None:
    with serving(tmp_path / "later") as site:
        assert site.json("/api/conversations")["conversations"] == []
        assert site.get("/").status_code == 200
        site.write("c", user())
        time.sleep(1.1)  # a list is kept for a second
        assert site.json("/api/conversations")["total"] == 1


@pytest.mark.parametrize("size", [1, 100_000, 5_000_000])
def test_a_title_is_the_first_user_text(site: Site, size: int) -> None:
    """Also behind others, and of a line that is longer than what is read at first."""
    text = "w" * size
    site.write("c", assistant("before") + b"no json\n" + user(f"{text}\nsecond") + user("third"))
    (found,) = site.json("/api/conversations")["conversations"]
    expected = {1: text, 100_000: "w" * 119 + "\u2026", 5_000_000: "c"}
    assert found["title"] == expected[size]


def test_the_stores_summary_is_the_title(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("LETTA_TRANSCRIPT_ROOT", "LETTA_LOCAL_BACKEND_DIR"):
        monkeypatch.delenv(name, raising=False)
    store = tmp_path / ".letta" / "lc-local-backend" / "conversations"
    root = tmp_path / ".letta" / "transcripts"
    for conversation, key in {"c": "conversation:c", "default": f"default:{AGENT}"}.items():
        folder = store / base64.urlsafe_b64encode(key.encode()).rstrip(b"=").decode()
        folder.mkdir(parents=True)
        (folder / "conversation.json").write_text(json.dumps({"summary": f"about {conversation}"}))
        transcript = root / AGENT / conversation / "transcript.jsonl"
        transcript.parent.mkdir(parents=True)
        transcript.write_bytes(user("text"))
    with serving(None) as site:

        def titles() -> set[str]:
            return {item["title"] for item in site.json("/api/conversations")["conversations"]}

        assert titles() == {"about c", "about default"}
        assert "about c" in site.get(PAGE).text
        (folder / "conversation.json").write_text('{"summary": null, "x": 1}')
        assert titles() == {"about c", "text"}
        (folder / "conversation.json").unlink()
        assert titles() == {"about c", "text"}


def test_a_thousand_conversations(site: Site) -> None:
    for number in range(1_000):
        site.write(f"c-{number}", user(f"title {number}") + assistant())
    began = time.monotonic()
    found = site.json("/api/conversations")["conversations"]
    first = time.monotonic() - began
    assert {item["title"] for item in found} == {f"title {number}" for number in range(1_000)}
    began = time.monotonic()
    assert site.get("/").text.count("/conversations/agent-1/c-") >= 1_000
    again = time.monotonic() - began
    assert first < 3
    assert again < 2
    assert site.health()["open_transcripts"] == 0


def test_pages_for_people(tmp_path: pathlib.Path) -> None:
    with serving(tmp_path, note="This is a recording.") as site:
        path = site.write("c", user("one") + assistant("**bold**"))
        start = site.get("/")
        assert start.headers["content-type"] == "text/html; charset=utf-8"
        assert "This is a recording." in start.text
        assert PAGE in start.text
        shown = site.get(PAGE)
        assert "<strong>bold</strong>" in shown.text
        assert site.get("/conversations/no/one").status_code == 404
        path.write_bytes(user("one") + b"{}\n")
        refused = site.get(PAGE)
        assert refused.status_code == 422
        assert "missing" in refused.text
        lenient = site.get(f"{PAGE}?mode=lenient")
        assert lenient.status_code == 200
        path.unlink()
        assert site.get(PAGE).status_code == 200  # not written yet is no mistake
        path.write_bytes(b"")
        assert site.get(PAGE).status_code == 200
        browser = {"Accept": "text/html,*/*;q=0.8"}
        for url, status in (("/nothing", 404), (f"{PAGE}?before=x", 400)):
            answer = site.get(url, headers=browser)
            assert answer.status_code == status
            assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert site.get("/api/nothing", headers=browser).json()["status"] == 404


def test_fragments(site: Site) -> None:
    path = site.write("c", user("one") + assistant() + user("two"))
    end = json.loads(site.get(CONVERSATION).content)["history_id"] + f":{path.stat().st_size}"
    newest = site.get(f"{PAGE}/turns?limit=1")
    assert "two" in newest.text
    assert end in newest.text
    assert "<html" not in newest.text
    append(path, user("three"))
    more = site.get(f"{PAGE}/turns?after={end}")
    assert "three" in more.text
    assert "two" not in more.text
    path.write_bytes(user("other"))
    assert site.get(f"{PAGE}/turns?after={end}").status_code == 409


def test_a_history_that_changed_is_read_anew(site: Site) -> None:
    path = site.write("c", user("one") + assistant())
    cursor = site.json(CONVERSATION)["cursor"]
    path.write_bytes(user("other"))
    assert site.json(CONVERSATION)["turns"][0]["parts"][0]["text"] == "other"
    problem(site, f"{CONVERSATION}?before={cursor}", 409, "history_changed")
    path.write_bytes(user("other") + b"{}\n")
    problem(site, CONVERSATION, 422, "refused")
    problem(site, CONVERSATION, 422, "refused")
    path.write_bytes(user("other") + assistant("mended"))
    assert site.json(CONVERSATION)["turns"][1]["parts"][0]["text"] == "mended"


def test_what_is_open_is_bounded(tmp_path: pathlib.Path) -> None:
    with serving(tmp_path, open_transcripts=3) as site:
        for number in range(8):
            site.write(f"c-{number}", user(str(number)))
            site.json(f"/api/conversations/{AGENT}/c-{number}")
        assert site.health()["open_transcripts"] == 3
        assert site.json(f"/api/conversations/{AGENT}/c-0")["turns"]


def test_static_files_are_kept_forever(site: Site) -> None:
    page = site.get("/").text
    links = re.findall(r'"(/static/[^"]+)"', page)
    assert {link.partition("?")[0] for link in links} >= {"/static/style.css", "/static/app.js"}
    for link in links:
        answer = site.get(link)
        assert answer.status_code == 200
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        tag = {"If-None-Match": answer.headers["etag"]}
        assert site.get(link, headers=tag).status_code == 304
        other = site.get(link.partition("?")[0])
        assert other.headers["cache-control"] == "private, no-cache"
    for name in ("none.css", "..%2fapp.py", "%2e%2e/app.py", "../app.py"):
        assert site.get(f"/static/{name}").status_code == 404


def test_health(site: Site) -> None:
    site.write("c", user())
    assert site.health()["watched_files"] == 0
    site.json(CONVERSATION)
    with site.stream(f"conversation:{AGENT}/c") as stream:
        stream.next()
        found = site.health()
        assert found.pop("backend") in ("native", "pure")
        assert found.pop("version").count(".") == 2
        assert found == {"open_transcripts": 1, "watched_files": 1, "clients": 1}
