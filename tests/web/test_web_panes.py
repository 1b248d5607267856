"""Panes: real lettas and files, the herdr double, and the real server."""

from __future__ import annotations

import os
import pathlib
import shutil
import time
from collections.abc import Iterator

import pytest

from double import HerdrDouble
from lettafast.binding import HerdrPanes
from lettafast.binding.names import session_name, terminal_name
from lettafast.herdr.client import Herdr
from lettafast.web.shelf import Shelf
from scene import AGENT, Scene
from support import append, assistant, tool, user
from webserver import Site, serving, until


@pytest.fixture
def site(scene: Scene) -> Iterator[Site]:
    """A site that sees the scene's herdr and, beneath its root, nothing."""
    with serving(scene.folder / "nothing", scene.binder()) as found:
        yield found


def where(scene: Scene, pane_id: str = "w1:p1") -> str:
    terminal = scene.double.pane(pane_id)["terminal_id"]
    return f"{session_name('herdr', scene.double.path)}/{terminal_name(terminal)}"


def transcript(scene: Scene) -> pathlib.Path:
    return scene.letta_home / "transcripts" / AGENT / "local-conv-1" / "transcript.jsonl"


def test_names() -> None:
    name = session_name("herdr", "/run/herdr.sock")
    assert name == session_name("herdr", "/run/../run/herdr.sock") == "herdr-69276fa35711c9ff"
    here = str(pathlib.Path("herdr.sock").absolute())
    assert session_name("herdr", "herdr.sock") == session_name("herdr", here)
    assert session_name("tmux", "/run/herdr.sock") == "tmux-69276fa35711c9ff"
    assert terminal_name("term_1/\u00e9?") == "dGVybV8xL8OpPw"
    assert "=" not in terminal_name("a") + terminal_name("ab") + terminal_name("abc")


def test_the_panes_of_every_session(scene: Scene, tmp_path: pathlib.Path) -> None:
    scene.resumed()
    with HerdrDouble(tmp_path / "other.sock") as other:
        other.fault("garbage", method="session.snapshot")
        with serving(tmp_path / "nothing", scene.binder(HerdrPanes(Herdr(other.path)))) as site:
            found = site.json("/api/panes")
            assert [pane["pane_id"] for pane in found["panes"]] == ["w1:p1", "w1:p2", "w1:p3"]
            first = found["panes"][0]
            assert f"{first['session']}/{first['terminal']}" == where(scene)
            assert first["href"] == f"/panes/{where(scene)}"
            (unreachable,) = found["unreachable"]
            assert unreachable["session"] == session_name("herdr", other.path)
            assert unreachable["socket"] == other.path
            assert unreachable["reason"] == "herdr_protocol"
            page = site.get("/").text
            assert first["href"] in page
            place = f"{session_name('herdr', other.path)}/{terminal_name('t')}"
            away = site.json(f"/api/panes/{place}", 503)
            assert away["type"] == "urn:lettafast:herdr"


def test_a_bound_pane_shows_its_conversation(scene: Scene, site: Site) -> None:
    scene.resumed()
    path = transcript(scene)
    pane = site.json(f"/api/panes/{where(scene)}")
    assert pane["verdict"] == "bound"
    recorded = [found["held"] for found in pane["evidence"] if found["proof"] == "recorded"]
    assert recorded == [True] * 6
    page = site.json(f"/api/panes/{where(scene)}/conversation?limit=1")
    assert page["source"] == "letta-transcript"
    assert page["turns"][0]["parts"][0]["text"] == "prompt 0 of local-conv-1"
    shown = site.get(f"/panes/{where(scene)}")
    assert (shown.status_code, "prompt 0 of local-conv-1" in shown.text) == (200, True)
    assert "<title>prompt 0 of local-conv-1" in shown.text
    fragment = site.get(f"/panes/{where(scene)}/turns")
    assert "prompt 0 of local-conv-1" in fragment.text
    assert "<html" not in fragment.text
    append(path, tool("x" * 5000, "call-1"))
    api = f"/api/panes/{where(scene)}/conversation"
    link = site.get(api).headers["link"]
    assert link.startswith(f"<{api}?after=")
    found = site.json(f"{api}/content?part=output&ref=call-1")
    assert found["text"] == "x" * 5000
    assert site.json(f"{api}?before=x", 400)["type"] == "urn:lettafast:cursor"


def test_a_pane_that_shows_its_terminal_says_why(scene: Scene, site: Site) -> None:
    scene.double.set_pane("w1:p3", text="$ make\n", ansi_text="\x1b[31m$ make\x1b[0m\n")
    place = where(scene, "w1:p3")
    said = site.json(f"/api/panes/{place}/conversation")
    assert said.pop("sentence").endswith(".")
    assert said == {"source": "scrollback", "text": "$ make\n", "reason": "not_letta"}
    shown = site.get(f"/panes/{place}")
    assert "$ make" in shown.text
    assert "\x1b" not in shown.text
    fragment = site.get(f"/panes/{place}/turns")
    assert "$ make" in fragment.text
    assert "<html" not in fragment.text
    assert site.json(f"/api/panes/{place}")["reason"] == "not_letta"
    site.json(f"/api/panes/{place}/conversation/content?part=text&ref=x", 404)
    scene.double.fault("error", method="pane.read")
    assert site.json(f"/api/panes/{place}/conversation")["text"] is None
    assert site.get(f"/panes/{place}").status_code == 200


def test_unknown_panes(scene: Scene, site: Site) -> None:
    session, terminal = where(scene).split("/")
    site.json("/api/panes")
    for place in (f"{session}/{terminal}x", f"{session}x/{terminal}", "a/b", "%ff/%00"):
        for suffix in ("", "/conversation", "/conversation/content?part=text&ref=x"):
            found = site.json(f"/api/panes/{place}{suffix}", 404)
            assert found["type"] == "urn:lettafast:unknown_pane"
        assert site.get(f"/panes/{place}").status_code == 404
        assert site.get(f"/panes/{place}/turns").status_code == 404


def test_the_verdict_is_asked_for_before_each_page(scene: Scene, site: Site) -> None:
    scene.resumed()
    url = f"/api/panes/{where(scene)}/conversation"
    assert site.json(url)["source"] == "letta-transcript"
    report = scene.double.pane("w1:p1")["agent_session"]
    scene.double.set_pane("w1:p1", agent_session=None)
    assert site.json(url)["reason"] == "no_report"
    scene.double.set_pane("w1:p1", agent_session=report)
    assert site.json(url)["source"] == "letta-transcript"
    path = transcript(scene)
    cursor = site.json(url)["cursor"]
    shutil.copy(path, path.with_name("copy"))
    path.with_name("copy").rename(path)
    assert site.json(f"{url}?before={cursor}", 409)["type"] == "urn:lettafast:history_changed"
    append(path, b"{}\n")
    assert site.json(url)["reason"] == "transcript_refused"


def test_only_the_file_that_was_judged_is_shown(
    scene: Scene, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.resumed()
    path = transcript(scene)
    read = Shelf.read

    async def late(self: Shelf, place: object, work: object) -> object:
        """Another file comes to the place between the verdict and the reading."""
        shutil.copy(path, path.with_name("copy"))
        path.with_name("copy").rename(path)
        return await read(self, place, work)  # type: ignore[arg-type]

    monkeypatch.setattr(Shelf, "read", late)
    found = site.json(f"/api/panes/{where(scene)}/conversation", 409)
    assert (found["type"], found["reason"]) == ("urn:lettafast:history_changed", "replaced")
    monkeypatch.undo()
    assert site.json(f"/api/panes/{where(scene)}/conversation")["turns"]


def test_a_pane_is_watched(scene: Scene, site: Site) -> None:
    """Its verdict, what its conversation gains, the switch to the terminal and back, its end."""
    scene.resumed()
    path = transcript(scene)
    watch = f"pane:{where(scene)}"
    with site.stream(watch) as stream:
        verdict = stream.next()
        assert (verdict.name, verdict.data["watch"]) == ("verdict", watch)
        assert verdict.data["pane"]["verdict"] == "bound"
        assert verdict.data["pane"]["href"] == f"/panes/{where(scene)}"
        standing = stream.next()
        assert (standing.name, standing.data["bytes"]) == ("grown", 0)
        began = time.monotonic()
        append(path, user("two") + assistant())
        grown = stream.next()
        assert grown.at - began < 0.5
        assert grown.data["bytes"] == len(user("two") + assistant())
        report = scene.double.pane("w1:p1")["agent_session"]
        scene.double.set_pane("w1:p1", agent_session=None)
        switched = stream.next()
        assert switched.data["pane"]["reason"] == "no_report"
        assert switched.data["pane"]["sentence"]
        append(path, user("three") + assistant())
        scene.double.set_pane("w1:p1", agent_session=report)
        assert stream.next().data["pane"]["verdict"] == "bound"
        assert stream.next().data["cursor"] != grown.data["cursor"]
        with site.stream(watch) as other:
            assert [other.next().name, other.next().name] == ["verdict", "grown"]
        scene.double.close_pane("w1:p1")
        # A look that has the pane in its list and is then told that it is gone comes first.
        assert stream.wait("pane_closed").data == {"watch": watch}


def test_a_witness_that_moves_is_looked_at_at_once(scene: Scene, tmp_path: pathlib.Path) -> None:
    """Not only when the next look is due."""
    scene.resumed()
    with (
        serving(tmp_path / "nothing", scene.binder(), verdicts=60.0) as site,
        site.stream(f"pane:{where(scene)}") as stream,
    ):
        stream.next()
        stream.next()
        time.sleep(0.6)
        began = time.monotonic()
        scene.record("local-conv-2")
        found = stream.next()
        assert found.data["pane"]["verdict"] == "terminal"
        assert found.at - began < 1


def test_herdr_is_killed_and_comes_again(scene: Scene, site: Site) -> None:
    scene.resumed()
    place = where(scene)
    report = scene.double.pane("w1:p1")["agent_session"]
    with site.stream(f"pane:{place}") as stream:
        stream.next()
        stream.next()
        scene.double.stop()
        lost = stream.next()
        assert lost.name == "verdict"
        assert lost.data["pane"]["reason"] == "herdr_unavailable"
        for path in (f"/api/panes/{place}", f"/api/panes/{place}/conversation"):
            away = site.json(path, 503)
            assert away["type"] == "urn:lettafast:herdr"
            assert away["reason"] == "missing"
        assert site.get(f"/panes/{place}").status_code == 503
        assert site.json("/api/panes") == {"panes": [], "unreachable": []}
        assert site.get("/").status_code == 200
        assert scene.double.pane("w1:p1")["agent_session"] == report
        scene.double.start()
        back = stream.next()
        assert back.data["pane"]["verdict"] == "bound"
        assert stream.next().name == "grown"
    assert site.json(f"/api/panes/{place}")["verdict"] == "bound"


def test_one_look_serves_all_who_ask(scene: Scene, site: Site) -> None:
    from concurrent.futures import ThreadPoolExecutor

    site.json("/api/panes")
    scene.double.requests.clear()
    scene.double.fault("slow", method="session.snapshot", delay=0.3)
    with ThreadPoolExecutor(40) as pool:
        answers = list(pool.map(lambda _: site.get("/api/panes").status_code, range(40)))
    assert answers == [200] * 40
    looks = [one for one in scene.double.requests if one["method"] == "session.snapshot"]
    assert len(looks) <= 8


def test_only_what_is_asked_for_is_judged(scene: Scene, site: Site) -> None:
    """A verdict reads files: one page costs one, however many panes there are."""
    scene.resumed()
    site.json(f"/api/panes/{where(scene)}/conversation")
    scene.double.requests.clear()
    site.json(f"/api/panes/{where(scene, 'w1:p3')}/conversation")
    asked = [
        one["params"]["pane_id"] for one in scene.double.requests if one["method"] == "pane.get"
    ]
    assert "w1:p1" not in asked  # what a verdict on it asks last
    site.json("/api/panes")
    asked = [
        one["params"]["pane_id"] for one in scene.double.requests if one["method"] == "pane.get"
    ]
    assert "w1:p1" in asked


def test_a_herdr_that_hangs_delays_no_page_and_no_end(scene: Scene, tmp_path: pathlib.Path) -> None:
    site = Site(tmp_path / "transcripts", scene.binder()).start()
    site.write("c", user("one"))
    scene.double.fault("hang")
    with site.stream(f"pane:{where(scene)}", "conversation:agent-1/c") as stream:
        assert stream.next().name == "grown"
        until(lambda: bool(scene.double.requests))
        began = time.monotonic()
        assert site.get("/conversations/agent-1/c").status_code == 200
        assert time.monotonic() - began < 1
        assert site.stop() < 2


def test_a_herdr_that_hangs_delays_no_start_page(scene: Scene, tmp_path: pathlib.Path) -> None:
    with serving(tmp_path / "transcripts", scene.binder(), patience=0.3) as site:
        site.write("c", user("one"))
        scene.double.fault("hang", method="session.snapshot")
        began = time.monotonic()
        shown = site.get("/")
        assert time.monotonic() - began < 2
        assert "/conversations/agent-1/c" in shown.text
        assert "The panes did not answer yet." in shown.text
        told = site.get("/?panes=all").text
        assert "A herdr session could not be asked" in told
        assert "The panes did not answer yet." not in told


def test_without_a_binder_there_are_no_panes(tmp_path: pathlib.Path) -> None:
    with serving(tmp_path) as site:
        assert site.json("/api/panes") == {"panes": [], "unreachable": []}
        site.json("/api/panes/a/b", 404)
        with site.stream("pane:a/b") as stream:
            assert stream.next()[:2] == ("pane_closed", {"watch": "pane:a/b"})


class Moving(HerdrDouble):
    """Rewrites the record while herdr is asked for the last time in a look, once."""

    record: pathlib.Path | None = None

    def _answer(self, request_id: str, method: str, params: object) -> dict[str, object]:
        if method == "pane.get" and self.record is not None:
            record, self.record = self.record, None
            before = record.stat()
            record.write_bytes(record.read_bytes())
            os.utime(record, ns=(before.st_atime_ns, before.st_mtime_ns))
        return super()._answer(request_id, method, params)  # type: ignore[no-any-return]


def test_what_is_just_being_written_is_looked_at_again(scene: Scene, site: Site) -> None:
    """Neither a page nor a watch is told of a reason that the next look does not have."""
    scene.resumed()
    scene.double.__class__ = Moving
    assert isinstance(scene.double, Moving)
    record = scene.desk.project / ".letta" / "settings.local.json"
    scene.double.record = record
    found = site.json(f"/api/panes/{where(scene)}")
    assert scene.double.record is None
    assert found.get("reason") != "changed_while_reading"
    scene.double.record = record
    with site.stream(f"pane:{where(scene)}") as stream:
        assert stream.next().data["pane"].get("reason") != "changed_while_reading"
    assert scene.double.record is None
