"""Takes the pictures of `docs/screenshots`: `make screenshots`.

Everything on them is the real front-end on a store made for it; the panes are those of a
double of herdr and of a real tmux.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from typing import Any

TESTS = pathlib.Path(__file__).parents[1]
sys.path[:0] = [str(TESTS / name) for name in ("", "web/browser", "binding", "herdr", "tmux")]

from playwright.sync_api import Browser, Page, sync_playwright  # noqa: E402

import talks  # noqa: E402
from lettafast.binding import TmuxPanes  # noqa: E402
from lettafast.tmux.client import Tmux  # noqa: E402
from scene import AGENT, Scene, scene  # noqa: E402
from served import Served, served  # noqa: E402
from support import user  # noqa: E402
from tmuxserver import Server, as_command, until  # noqa: E402

FOLDER = TESTS.parent / "docs" / "screenshots"
DESK = {"width": 960, "height": 720}
PHONE = {"width": 390, "height": 780}
MOST_BYTES = 250_000
BEAT = 5.0
"""Seconds after which a witness writes again."""
TERMINAL = """\
 Letta Code v0.34.12
 ~/proj · agent "Nadia"

> Where are the tokens checked?

● Grep(expires_at)
  └  src/auth.py:12
     src/session.py:88

● In src/auth.py, line 12, by is_fresh.

╭──────────────────────────────────────────────────────────────────────────╮
│ > A token that expired yesterday is still accepted. Find out why, and    │
╰──────────────────────────────────────────────────────────────────────────╯
"""


def top_of_the_second_prompt(page: Page) -> None:
    page.locator(".turn.user").nth(1).evaluate("turn => turn.scrollIntoView()")


def edit_open(page: Page) -> None:
    edit = page.locator(".tool", has=page.get_by_text("Edit", exact=True))
    edit.locator("summary").first.click()
    edit.evaluate("tool => tool.scrollIntoView()")


def found(page: Page) -> None:
    page.keyboard.press("/")
    page.keyboard.type("expires_at")
    page.get_by_text("of", exact=False).first.wait_for()


def evidence_open(page: Page) -> None:
    page.get_by_text("Evidence").click()


def evidence_of_a_pane(page: Page) -> None:
    evidence_open(page)
    page.evaluate("scrollTo(0, 0)")


def offer_open(page: Page) -> None:
    page.get_by_text("What this does, exactly").click()


def nothing(_: Page) -> None:
    pass


def browser() -> str:
    named = os.environ.get("LETTAFAST_CHROMIUM") or shutil.which("chromium")
    if named is None:
        sys.exit("the pictures need Chromium: apt-get install chromium")
    return named


@contextlib.contextmanager
def pane_of_tmux(stage: Scene) -> Iterator[TmuxPanes]:
    """A tmux with one pane, whose letta says what it shows."""
    transcript = stage.conversation("local-conv-6")
    transcript.write_bytes(user("Write the notes for release 2.4") + b"".join(talks.plain()[1:]))
    folder = stage.folder / "docs"
    folder.mkdir()
    server = Server(stage.folder)
    argv = [str(stage.desk.node), str(stage.desk.script)]
    pane = server.start(as_command(argv, stage.desk.environ()), session="docs", cwd=folder)
    done = threading.Event()

    def beat() -> None:
        while not done.wait(BEAT):
            stage.says(pid, "local-conv-6")

    beating = threading.Thread(target=beat)
    try:
        until(lambda: "ready" in server("capture-pane", "-p", "-t", pane))
        pid = int(server.ask("#{pane_pid}", pane))
        stage.says(pid, "local-conv-6")
        beating.start()
        yield TmuxPanes(Tmux(server.socket))
        done.set()
        beating.join()
    finally:
        done.set()
        server.stop()


@contextlib.contextmanager
def shown() -> Iterator[tuple[Served, Scene]]:
    """A server on a store with five conversations, and four panes."""
    with (
        tempfile.TemporaryDirectory(prefix="lt") as folder,
        scene(pathlib.Path(folder)) as stage,
        pane_of_tmux(stage) as tmux,
    ):
        # Of that home are the lettas, too: the command that is offered names none then.
        os.environ["HOME"] = str(stage.desk.home)
        root = stage.letta_home / "transcripts"
        talks.keep(root, "local-conv-7", talks.plain())
        rows = talks.plain()
        talks.keep(
            root,
            "local-conv-5",
            [user("Rename the settings"), *rows[1:9], rows[9][:-90] + b"\n", *rows[10:]],
        )
        talks.keep(root, "local-conv-4", [user("Why is the build slow?")])
        stage.resumed()
        (root / AGENT / "local-conv-1" / "transcript.jsonl").write_bytes(b"".join(talks.plain()))
        stage.double.set_pane("w1:p1", label="auth")
        other = stage.desk.project.parent / "tokens"
        other.mkdir()
        stage.start("w1:p2", cwd=other)
        stage.double.set_pane("w1:p2", label="tokens", text=TERMINAL)
        stage.double.set_pane("w1:p3", label="shell", text="$ ")
        with served(root, binder=stage.binder(tmux)) as server:
            yield server, stage


def take(
    window: Browser,
    server: Served,
    name: str,
    path: str,
    act: Callable[[Page], None],
    **options: Any,
) -> None:
    context = window.new_context(extra_http_headers=server.headers, timezone_id="UTC", **options)
    page = context.new_page()
    page.goto(server.origin + path)
    page.locator("html[data-ready]").wait_for()
    page.wait_for_timeout(600)
    act(page)
    page.wait_for_timeout(200)
    data = page.screenshot(path=FOLDER / f"{name}.png")
    context.close()
    print(f"{name}.png {len(data):,} bytes")
    if len(data) > MOST_BYTES:
        sys.exit(f"{name}.png is larger than {MOST_BYTES:,} bytes")


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    with shown() as (server, stage), sync_playwright() as driver:
        window = driver.chromium.launch(executable_path=browser(), args=sandbox)
        bound, pane = (pane_of(server, stage, pane_id) for pane_id in ("w1:p1", "w1:p2"))
        plain, damaged = (f"/conversations/{talks.AGENT}/local-conv-{n}" for n in (7, 5))
        for scheme in ("light", "dark"):
            look = {"color_scheme": scheme, "viewport": DESK}
            take(window, server, f"start-{scheme}", "/", nothing, **look)
            take(window, server, f"conversation-{scheme}", plain, top_of_the_second_prompt, **look)
            take(window, server, f"tool-call-{scheme}", plain, edit_open, **look)
            take(window, server, f"pane-{scheme}", bound, evidence_of_a_pane, **look)
            take(window, server, f"terminal-{scheme}", pane, evidence_open, **look)
            take(window, server, f"offer-{scheme}", pane, offer_open, **look)
            take(window, server, f"refused-{scheme}", damaged, nothing, **look)
            phone = {"color_scheme": scheme, "viewport": PHONE, "device_scale_factor": 2}
            take(window, server, f"phone-{scheme}", plain, nothing, **phone)
        take(window, server, "find-light", plain, found, color_scheme="light", viewport=DESK)
        window.close()


def pane_of(server: Served, stage: Scene, pane_id: str) -> str:
    from lettafast.binding.names import session_name, terminal_name

    terminal = stage.double.pane(pane_id)["terminal_id"]
    return f"/panes/{session_name('herdr', stage.double.path)}/{terminal_name(terminal)}"


if __name__ == "__main__":
    main()
