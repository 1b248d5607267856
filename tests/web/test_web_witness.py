"""Panes of tmux, and lettas that say what they show: real processes, a real tmux, a real server.

What the mod writes is written here in its place.
"""

from __future__ import annotations

import os
import pathlib
import signal
import tempfile
import time
from collections.abc import Iterator

import pytest

from lettafast.binding import TmuxPanes
from lettafast.binding.names import session_name, terminal_name
from lettafast.tmux.client import Tmux
from lettafast.witness import install, mod_path
from lettas import Letta
from scene import AGENT, Scene
from scene import scene as scenes
from support import append, assistant, user
from tmuxserver import Server, as_command
from webserver import Site, serving, until


@pytest.fixture
def scene() -> Iterator[Scene]:
    """In a short folder: the path of a tmux socket must be short."""
    with tempfile.TemporaryDirectory(prefix="lt") as folder, scenes(pathlib.Path(folder)) as found:
        yield found


@pytest.fixture
def server(scene: Scene) -> Iterator[Server]:
    found = Server(scene.folder)
    try:
        yield found
    finally:
        found.stop()


@pytest.fixture
def site(scene: Scene, server: Server) -> Iterator[Site]:
    """A site that sees the scene's herdr and the server, and whose own looks are far apart."""
    tmux = TmuxPanes(Tmux(server.socket))
    with serving(scene.folder / "nothing", scene.binder(tmux), verdicts=60.0) as found:
        yield found


def where(provider: str, socket: str, terminal: str) -> str:
    return f"{session_name(provider, socket)}/{terminal_name(terminal)}"


def in_tmux(scene: Scene, server: Server) -> tuple[int, str]:
    """A letta in a pane of tmux; its pid, and where it is shown."""
    argv = [str(scene.desk.node), str(scene.desk.script)]
    pane = server.start(as_command(argv, scene.desk.environ()), cwd=scene.desk.project)
    until(lambda: "ready" in server("capture-pane", "-p", "-t", pane))
    pid = int(server.ask("#{pane_pid}", pane))
    return pid, where("tmux", server.socket, f"{pane}.{pid}")


def in_herdr(scene: Scene) -> tuple[Letta, str]:
    letta = scene.start()
    return letta, where("herdr", scene.double.path, scene.double.pane("w1:p1")["terminal_id"])


def test_a_pane_of_tmux_shows_what_its_letta_says(scene: Scene, server: Server, site: Site) -> None:
    scene.conversation("local-conv-1")
    pid, place = in_tmux(scene, server)
    listed = site.json("/api/panes")
    assert {pane["provider"] for pane in listed["panes"]} == {"herdr", "tmux"}
    (pane,) = [pane for pane in listed["panes"] if pane["provider"] == "tmux"]
    assert (pane["href"], pane["verdict"]) == (f"/panes/{place}", "terminal")
    said = site.json(f"/api/panes/{place}/conversation")
    assert (said["source"], said["text"]) == ("scrollback", "ready\n")
    listed = site.get("/").text
    assert listed.index(f'href="/panes/{place}"') < listed.index("w1:p1")  # agents come first
    page = site.get(f"/panes/{place}").text
    assert "ready" in page
    assert server.socket in page
    witness = scene.says(pid, "local-conv-1")
    found = site.json(f"/api/panes/{place}")
    assert (found["verdict"], found["proof"]) == ("bound", "witnessed")
    assert found["offer"] is None
    page = site.json(f"/api/panes/{place}/conversation")
    assert page["turns"][0]["parts"][0]["text"] == "prompt 0 of local-conv-1"
    assert "the letta itself says so" in site.get(f"/panes/{place}").text
    os.kill(server.pid, signal.SIGSTOP)
    away = site.json(f"/api/panes/{place}", 503)
    assert (away["type"], away["reason"]) == ("urn:lettafast:tmux", "tmux_unavailable")
    (gone,) = site.json("/api/panes")["unreachable"]
    assert (gone["provider"], gone["socket"]) == ("tmux", server.socket)
    assert "A tmux server could not be asked" in site.get("/?panes=all").text
    os.kill(server.pid, signal.SIGCONT)
    with site.stream(f"pane:{place}") as stream:
        assert stream.wait("verdict").data["pane"]["verdict"] == "bound"
        server.stop()
        witness.unlink()  # as a letta does that ends
        assert stream.wait("pane_closed")
    site.json(f"/api/panes/{place}", 404)
    assert site.json("/api/panes")["unreachable"] == []


@pytest.mark.parametrize("provider", ["herdr", "tmux"])
def test_a_switch_is_told_within_a_second(
    scene: Scene, server: Server, site: Site, provider: str
) -> None:
    """Without a look that was due: what the witness says is compared four times a second."""
    for number in (1, 2, 3):
        scene.conversation(f"local-conv-{number}")
    if provider == "tmux":
        pid, place = in_tmux(scene, server)
    else:
        letta, place = in_herdr(scene)
        pid = letta.pid
    with site.stream(f"pane:{place}") as stream:
        assert stream.next().data["pane"]["verdict"] == "terminal"
        slowest = 0.0
        for number in (1, 2, 3, 1, 2):
            time.sleep(0.35 * number)  # at another moment of the pace
            began = time.monotonic()
            scene.says(pid, f"local-conv-{number}")
            told = stream.wait("verdict")
            assert told.data["pane"]["conversation_id"] == f"local-conv-{number}"
            slowest = max(slowest, told.at - began)
        print(f"{provider}: slowest switch {slowest * 1000:.0f} ms")
        assert slowest < 1


def test_a_switch_during_the_first_look(scene: Scene, server: Server, site: Site) -> None:
    """It is seen although nothing was known of that letta's file before."""
    for number in (1, 2):
        scene.conversation(f"local-conv-{number}")
    letta, place = in_herdr(scene)
    scene.says(letta.pid, "local-conv-1")
    scene.double.fault("slow", method="session.snapshot", delay_ms=300)
    with site.stream(f"pane:{place}") as stream:
        time.sleep(0.35)
        scene.says(letta.pid, "local-conv-2")
        began = time.monotonic()
        while stream.wait("verdict").data["pane"].get("conversation_id") != "local-conv-2":
            pass
        assert time.monotonic() - began < 2


def test_a_file_that_is_only_written_again_costs_no_look(
    scene: Scene, server: Server, site: Site
) -> None:
    """The mod writes every 5 s, so that it is known to run."""
    scene.conversation("local-conv-1")
    letta, place = in_herdr(scene)
    path = scene.says(letta.pid, "local-conv-1")
    with site.stream(f"pane:{place}") as stream:
        stream.wait("grown")
        time.sleep(1.5)
        scene.double.requests.clear()
        said = path.read_bytes()
        for _ in range(3):
            other = path.with_name("other")
            other.write_bytes(said)
            other.chmod(0o600)
            other.replace(path)
            time.sleep(0.4)
        assert scene.double.requests == []
        scene.says(letta.pid, "local-conv-1", event="turn_start")
        until(lambda: scene.double.requests)


def test_a_conversation_without_a_turn(scene: Scene, server: Server, site: Site) -> None:
    """It is named, the terminal is shown, and the first turn comes by itself."""
    transcript = scene.conversation("local-conv-1")
    transcript.unlink()
    letta, place = in_herdr(scene)
    scene.says(letta.pid, "local-conv-1")
    found = site.json(f"/api/panes/{place}")
    assert (found["verdict"], found["reason"]) == ("terminal", "transcript_missing")
    assert (found["agent_id"], found["conversation_id"]) == (AGENT, "local-conv-1")
    assert found["offer"] is None
    assert "No completed turn yet" in site.get(f"/panes/{place}").text
    assert "No completed turn yet" in site.get("/").text
    assert site.json(f"/api/panes/{place}/conversation")["source"] == "scrollback"
    with site.stream(f"pane:{place}") as stream:
        stream.next()
        append(transcript, user("one") + assistant())
        scene.says(letta.pid, "local-conv-1", event="turn_end")
        assert stream.wait("verdict").data["pane"]["verdict"] == "bound"


def test_the_offer(scene: Scene, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Made where it would help, for the home that it is for; gone once it is taken up."""
    monkeypatch.setenv("HOME", str(scene.desk.home))
    scene.letta_home.mkdir()
    _, place = in_herdr(scene)
    home = str(scene.desk.home)
    offer = site.json(f"/api/panes/{place}")["offer"]
    assert offer == {
        "home": home,
        "command": "lettafast witness install",
        "file": mod_path(home),
        "folder": f"{home}/.local/state/lettafast/witness",
    }
    for page in ("/", f"/panes/{place}"):
        shown = site.get(page).text
        assert "<code>lettafast witness install</code>" in shown
        assert mod_path(home) in shown
    shell = where("herdr", scene.double.path, scene.double.pane("w1:p3")["terminal_id"])
    assert site.json(f"/api/panes/{shell}")["offer"] is None
    assert "witness" not in site.get(f"/panes/{shell}").text
    monkeypatch.setenv("HOME", str(scene.folder))
    offer = site.json(f"/api/panes/{place}")["offer"]
    assert offer["command"] == f"lettafast witness install --home {home}"
    with site.stream(f"pane:{place}") as stream:
        assert stream.next().data["pane"]["offer"] is not None
        install(home)
        scene.double.set_pane("w1:p1", label="so that it is looked at")
        record = scene.desk.project / ".letta" / "settings.local.json"
        record.parent.mkdir()
        record.write_text("{}")
        assert stream.wait("verdict").data["pane"]["offer"] is None
    assert "witness install</code>" not in site.get("/").text


@pytest.mark.parametrize(
    ("arguments", "variables", "helps"),
    [
        ((), {}, True),
        ((), {"LETTA_DISABLE_MODS": "1"}, False),
        (("--no-mods",), {}, False),
        (("-p", "x"), {}, False),
    ],
)
def test_where_an_offer_would_not_help(
    scene: Scene, site: Site, arguments: tuple[str, ...], variables: dict[str, str], helps: bool
) -> None:
    """To a letta that loads no mods, or that answers one prompt."""
    argv = ["node", str(scene.desk.script), *arguments]
    letta = scene.desk.run(
        argv, executable=scene.desk.node, environ=scene.desk.environ(**variables)
    )
    scene.double.start_letta("w1:p1", letta.pid, argv, str(scene.desk.project))
    place = where("herdr", scene.double.path, scene.double.pane("w1:p1")["terminal_id"])
    found = site.json(f"/api/panes/{place}")
    assert "witness_missing" in [one["reason"] for one in found["evidence"]]
    assert (found["offer"] is not None) == helps


def test_what_a_witness_file_can_be(scene: Scene, server: Server, site: Site) -> None:
    """A pipe, a folder or a link in its place holds nothing up."""
    letta, place = in_herdr(scene)
    path = scene.says(letta.pid, "local-conv-1")
    with site.stream(f"pane:{place}") as stream:
        stream.next()
        for make in (os.mkfifo, os.mkdir, lambda name: os.symlink("/dev/zero", name)):
            path.unlink()
            make(path)
            time.sleep(0.6)
            assert site.get("/api/health").status_code == 200
            if path.is_dir() and not path.is_symlink():
                path.rmdir()
                path.touch()
        found = site.json(f"/api/panes/{place}")
        assert found["verdict"] == "terminal"
