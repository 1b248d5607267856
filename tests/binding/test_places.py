"""Where a letta keeps its files, from its environment: tables, and the real Node's own answers."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from lettafast.binding.facts import Places, Problem
from lettafast.binding.places import config_of, places_of
from lettafast.binding.verdict import Reason

HOME = {"HOME": "/home/user"}
NODE = shutil.which("node")


def places(
    environ: dict[str, str],
    version: str | None = "0.34.12",
    settings: dict[str, str] | None = None,
    trusted: bool = True,
) -> Places:
    found = places_of(environ, version, trusted, settings or {})
    assert isinstance(found, Places), found
    return found


def reason(
    environ: dict[str, str], version: str | None = "0.34.12", trusted: bool = True
) -> Reason:
    found = places_of(environ, version, trusted, {})
    assert isinstance(found, Problem), found
    assert found.saw
    return found.reason


def test_nothing_but_a_home() -> None:
    assert places(HOME) == Places(
        home="/home/user",
        config="/home/user/.letta",
        store="/home/user/.letta/lc-local-backend",
        transcripts="/home/user/.letta/transcripts",
        chunk_logs="/home/user/.letta/logs/chunk-logs",
        local_key="local:/home/user/.letta/lc-local-backend",
        cloud_key="api.letta.com",
    )
    # None of it depends on the version.
    assert places(HOME, None, trusted=False) == places(HOME)


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, Reason.NO_HOME),
        ({"HOME": ""}, Reason.NO_HOME),
        ({"HOME": "user"}, Reason.STORE_UNKNOWN),
        ({"HOME": " /home/user"}, Reason.STORE_UNKNOWN),
        ({"HOME": "/home/\udcff"}, Reason.STORE_UNKNOWN),
        ({**HOME, "LETTA_LOCAL_BACKEND_DIR": ""}, Reason.STORE_UNKNOWN),
        ({**HOME, "LETTA_LOCAL_BACKEND_DIR": "store"}, Reason.STORE_UNKNOWN),
        ({**HOME, "LETTA_LOCAL_BACKEND_DIR": "~/store"}, Reason.STORE_UNKNOWN),
        ({**HOME, "LETTA_LOCAL_BACKEND_DIR": "/\udc80"}, Reason.STORE_UNKNOWN),
        ({**HOME, "LETTA_TRANSCRIPT_ROOT": "transcripts"}, Reason.STORE_UNKNOWN),
        ({**HOME, "LETTA_TRANSCRIPT_ROOT": "\u00a0./t"}, Reason.STORE_UNKNOWN),
    ],
)
def test_what_depends_on_more_than_the_environment(environ, expected) -> None:
    assert reason(environ) is expected


@pytest.mark.parametrize(
    ("home", "config"),
    [
        ("/", "/.letta"),
        ("//", "/.letta"),
        ("//home", "/home/.letta"),
        ("/home/user/", "/home/user/.letta"),
        ("/home/./x/../user//", "/home/user/.letta"),
        ("/../home", "/home/.letta"),
        ("/home/user ", "/home/user /.letta"),
    ],
)
def test_homes(home, config) -> None:
    assert places({"HOME": home}).config == config
    assert places({"HOME": home}).local_key == f"local:{config}/lc-local-backend"


@pytest.mark.parametrize(
    ("said", "root"),
    [
        ("", "/home/user/.letta/transcripts"),
        (" \t\n\u00a0\ufeff\u2028 ", "/home/user/.letta/transcripts"),
        ("/t", "/t"),
        ("\ufeff /t/ ", "/t"),
        ("/t/../u", "/u"),
        # JavaScript's trim leaves what Python's strip takes.
        ("/t\x1f", "/t\x1f"),
        ("/t\x85", "/t\x85"),
    ],
)
def test_transcript_roots(said, root) -> None:
    assert places({**HOME, "LETTA_TRANSCRIPT_ROOT": said}).transcripts == root


def test_the_local_store() -> None:
    found = places({**HOME, "LETTA_LOCAL_BACKEND_DIR": "/a//b/../c/ "})
    assert found.store == "/a/c/ "
    assert found.local_key == "local:/a/c/ "
    assert found.transcripts == "/home/user/.letta/transcripts"


@pytest.mark.parametrize(
    ("version", "trusted", "used"),
    [
        ("0.30.29", True, False),
        ("0.34.12", True, False),
        ("0.34.13", True, None),
        ("0.34.26", True, None),
        ("0.34.27", True, True),
        ("0.35.0", True, True),
        ("1.0.0", True, True),
        ("0.9.99", True, False),
        ("0.34.12", False, None),
        ("0.34.27", False, None),
        (None, True, None),
        ("0.34", True, None),
        ("0.34.27-next.1", True, None),
        ("0.34.27\n", True, None),
        ("v0.34.12", True, None),
    ],
)
def test_the_config_folder_by_version(version, trusted, used) -> None:
    environ = {**HOME, "LETTA_CONFIG_DIR": "/config/./letta"}
    if used is None:
        assert reason(environ, version, trusted) is Reason.STORE_UNKNOWN
        return
    found = places(environ, version, trusted=trusted)
    config = "/config/letta" if used else "/home/user/.letta"
    assert found.config == config_of(environ, version, trusted) == config
    assert found.store == f"{config}/lc-local-backend"
    assert found.transcripts == f"{config}/transcripts"
    assert found.chunk_logs == f"{config}/logs/chunk-logs"
    assert found.home == "/home/user"


@pytest.mark.parametrize("said", ["", " ", "config", " /config", "/config\n", "/\udcff"])
def test_a_config_folder_that_is_not_clear(said) -> None:
    environ = {**HOME, "LETTA_CONFIG_DIR": said}
    assert reason(environ, "0.34.27") is Reason.STORE_UNKNOWN
    assert places(environ, "0.34.12").config == "/home/user/.letta"


@pytest.mark.parametrize(
    ("environ", "settings", "key"),
    [
        ({"LETTA_BASE_URL": "https://letta.example"}, {}, "letta.example"),
        ({"LETTA_BASE_URL": "http://h:8283/"}, {}, "h:8283"),
        ({"LETTA_BASE_URL": "http://h//"}, {}, "h/"),
        ({"LETTA_BASE_URL": "HTTP://h"}, {}, "HTTP://h"),
        ({"LETTA_BASE_URL": ""}, {}, "api.letta.com"),
        ({"LETTA_BASE_URL": ""}, {"LETTA_BASE_URL": "https://s"}, "s"),
        ({"LETTA_BASE_URL": "https://e"}, {"LETTA_BASE_URL": "https://s"}, "e"),
        ({"LETTA_BASE_URL": "https://e"}, {"LETTA_SETTINGS_BASE_URL": "https://s"}, "s"),
        (
            {"LETTA_SETTINGS_BASE_URL": "https://e", "LETTA_BASE_URL": "https://f"},
            {"LETTA_SETTINGS_BASE_URL": "https://s"},
            "e",
        ),
    ],
)
def test_the_cloud_key(environ, settings, key) -> None:
    assert places({**HOME, **environ}, settings=settings).cloud_key == key


@pytest.mark.skipif(NODE is None, reason="no Node is installed")
def test_paths_are_those_that_node_makes() -> None:
    """The real `path.resolve` and `path.join` are asked; no file is needed."""
    paths = [
        "/",
        "//a",
        "///a",
        "/a/",
        "/a/..",
        "/a/../..",
        "/a//b/./c/../d",
        "/a /b",
        "/ä/…",
        "/.a",
    ]
    program = """
        const { resolve, join } = require("node:path");
        const said = JSON.parse(require("node:fs").readFileSync(0));
        console.log(JSON.stringify(said.map((p) => [resolve(p), join(p, "x")])));
    """
    done = subprocess.run(
        [str(NODE), "-e", program],
        input=json.dumps(paths),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    for path, (resolved, joined) in zip(paths, json.loads(done.stdout), strict=True):
        found = places({**HOME, "LETTA_LOCAL_BACKEND_DIR": path, "LETTA_TRANSCRIPT_ROOT": path})
        assert found.local_key == f"local:{resolved}"
        assert f"{found.transcripts.rstrip('/')}/x" == joined
