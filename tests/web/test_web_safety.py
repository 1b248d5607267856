"""Who is let in, and what is answered to everybody else: bytes on a real socket."""

from __future__ import annotations

import pathlib
import re
import socket

import httpx
import pytest

from lettafast.web import Access, WebLimits
from lettafast.web.serving import access_of, listen
from support import user
from webserver import AGENT, TOKEN, Site, raw, serving

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)


@pytest.fixture
def stranger(site: Site) -> httpx.Client:
    """A client without the token."""
    site.write("c", user("secret"))
    with httpx.Client(base_url=site.base, timeout=10) as client:
        yield client


def kind(answer: httpx.Response) -> str:
    assert answer.headers["content-type"] == "application/problem+json"
    return answer.json()["type"].removeprefix("urn:lettafast:")


def test_every_answer_has_the_headers_of_safety(site: Site, stranger: httpx.Client) -> None:
    answers = [
        site.get("/"),
        site.get(f"/conversations/{AGENT}/c"),
        site.get("/api/health"),
        site.get("/api/nothing"),
        site.get("/static/style.css"),
        stranger.get("/"),
        stranger.get("/", headers={"Host": "evil.example"}),
        stranger.post("/"),
        stranger.get(site.access.start_path),
    ]
    assert {answer.status_code for answer in answers} == {200, 303, 401, 404, 405, 421}
    for answer in answers:
        assert answer.headers["content-security-policy"] == POLICY
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert "server" not in answer.headers
        assert not [name for name in answer.headers if name.startswith("access-control-")]
    with site.stream(f"conversation:{AGENT}/c") as stream:
        assert stream.response.headers["content-security-policy"] == POLICY


@pytest.mark.parametrize(
    "path",
    [
        "/",
        f"/conversations/{AGENT}/c",
        f"/conversations/{AGENT}/c/turns",
        f"/api/conversations/{AGENT}/c",
        "/api/conversations",
        "/api/panes",
        "/api/health",
        "/api/openapi.json",
        f"/api/events?watch=conversation:{AGENT}/c",
        "/no/such/thing",
    ],
)
def test_nothing_without_the_token(stranger: httpx.Client, path: str) -> None:
    for headers in (
        {},
        {"Authorization": "Bearer wrong"},
        {"Authorization": f"Basic {TOKEN}"},
        {"Authorization": TOKEN},
        {"Cookie": f"lettafast-1={TOKEN}"},
        {"Cookie": f"lettafast-{stranger.base_url.port}={TOKEN}"},
    ):
        answer = stranger.get(path, headers=headers)
        assert (answer.status_code, kind(answer)) == (401, "no_token")
        assert answer.headers["www-authenticate"] == "Bearer"
        assert "secret" not in answer.text
    page = stranger.get(path, headers={"Accept": "text/html"})
    assert page.status_code == 401


def test_the_start_token_lets_in_one_browser_once(site: Site, stranger: httpx.Client) -> None:
    path = site.access.start_path
    assert stranger.get("/?start=wrong").status_code == 401
    assert stranger.get(path.replace("/?", "/api/health?")).status_code == 401
    entered = stranger.get(path)
    assert (entered.status_code, entered.headers["location"]) == (303, "/")
    assert entered.headers["cache-control"] == "no-store"
    cookie = re.fullmatch(
        rf"lettafast-{site.port}=([\w-]{{43}}); Path=/; HttpOnly; SameSite=Strict",
        entered.headers["set-cookie"],
    )[1]
    start = path.partition("=")[2]
    assert len({cookie, start, TOKEN}) == 3
    assert stranger.get("/").status_code == 200  # with the cookie
    assert stranger.get(path).status_code == 303  # the same browser may open it again
    with httpx.Client(base_url=site.base, timeout=10) as second:
        assert second.get(path).status_code == 401
        # Neither secret does for another.
        for wrong in (cookie, start):
            headers = {"Authorization": f"Bearer {wrong}"}
            assert second.get("/", headers=headers).status_code == 401
        headers = {"Cookie": f"a=b; lettafast-{site.port}={cookie}; c=d"}
        assert second.get("/", headers=headers).status_code == 200
        assert second.get(f"/?start={TOKEN}").status_code == 401


def test_foreign_hosts(site: Site) -> None:
    for host, status in {
        f"127.0.0.1:{site.port}": 200,
        f"localhost:{site.port}": 200,
        f"LOCALHOST:{site.port}": 200,
        f"[::1]:{site.port}": 200,
        f"evil.example:{site.port}": 421,
        f"localhost.evil.example:{site.port}": 421,
        f"127.0.0.1.nip.io:{site.port}": 421,
        "localhost": 421,
        "127.0.0.1:1": 421,
        f"192.168.0.1:{site.port}": 421,
        f"0x7f000001:{site.port}": 421,
        f"localhost:{site.port}@evil.example": 421,
        ":": 421,
        "": 421,
    }.items():
        answer = site.get("/api/health", headers={"Host": host})
        assert answer.status_code == status, host
        if status == 421:
            assert kind(answer) == "foreign_host"
            static = site.get("/static/style.css", headers={"Host": host})
            assert static.status_code == 421
    two = f"GET /api/health HTTP/1.1\r\nHost: localhost:{site.port}\r\nHost: evil\r\n\r\n"
    assert raw(site.port, two.encode()).split()[1] in (b"400", b"421")
    assert b" 421 " in raw(site.port, b"GET /api/health HTTP/1.0\r\n\r\n").split(b"\r\n")[0]


def test_foreign_requests(site: Site) -> None:
    ours = f"http://127.0.0.1:{site.port}"
    for headers, status in (
        ({}, 200),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
        ({"Sec-Fetch-Site": "none"}, 200),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Origin": ours}, 403),
        ({"Sec-Fetch-Site": "same-origin", "Origin": "http://evil.example"}, 200),
        ({"Sec-Fetch-Site": ""}, 403),
        ({"Origin": ours}, 200),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "http://127.0.0.1:1"}, 403),
        ({"Origin": f"http://localhost:{site.port}"}, 403),  # another origin than the one asked
        ({"Origin": "null"}, 403),
    ):
        answer = site.get("/api/health", headers=headers)
        assert answer.status_code == status, headers
        if status == 403:
            assert kind(answer) == "foreign_request"
    start = site.access.start_path
    assert site.get(start, headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
    assert site.access.exchange(start.partition("=")[2])  # it was not used up


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE"])
def test_only_get_exists(site: Site, method: str) -> None:
    for path in ("/", "/api/health", "/nothing", "/static/style.css"):
        answer = site.client.request(method, path)
        assert answer.status_code == 405
        assert answer.headers["allow"] == "GET"
        if method != "HEAD":
            assert kind(answer) == "method"


def test_sizes_are_bounded(site: Site) -> None:
    assert site.get(f"/api/health?{'x' * 9000}").status_code == 414
    assert site.get(f"/{'x' * 9000}").status_code == 414
    assert site.get("/api/health", headers={"X": "x" * 40_000}).status_code == 431
    many = [(f"x-{number}", "y" * 100) for number in range(400)]
    assert site.get("/api/health", headers=[*site.headers.items(), *many]).status_code == 431
    with_body = site.client.request("GET", "/api/health", content=b"x" * 10)
    assert (with_body.status_code, kind(with_body)) == (413, "too_large")
    chunked = site.client.request("GET", "/api/health", content=iter([b"x"]))
    assert chunked.status_code == 413
    head = f"GET / HTTP/1.1\r\nHost: localhost:{site.port}\r\n"
    endless = raw(site.port, head.encode() + b"X: " + b"x" * 500_000)
    assert endless == b"" or endless.split()[1] == b"400"
    watches = "&".join(f"watch=conversation:a/{number}" for number in range(65))
    assert site.get(f"/api/events?{watches}").status_code == 400
    assert site.health()["clients"] == 0


@pytest.mark.parametrize(
    "data",
    [
        b"\r\n\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01",
        b"GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: x\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ],
)
def test_what_is_no_request(site: Site, data: bytes) -> None:
    assert raw(site.port, data)[:16].split(b" ")[1:2] in ([], [b"400"], [b"421"])
    assert site.get("/api/health").status_code == 200


def test_names_of_the_server() -> None:
    local = access_of("127.0.0.1", "127.0.0.1", 8000, None)
    assert local.is_our_host("localhost:8000")
    assert not local.is_our_host("10.0.0.7:8000")
    everywhere = access_of("0.0.0.0", "0.0.0.0", 8000, None)
    for host in ("10.0.0.7:8000", "[fe80::1]:8000", f"{socket.gethostname()}:8000"):
        assert everywhere.is_our_host(host)
    assert not everywhere.is_our_host("evil.example:8000")
    assert not everywhere.is_our_host("10.0.0.7:8001")
    named = access_of("box.lan", "192.168.0.7", 8000, None)
    for host, ours in {
        "box.lan:8000": True,
        "192.168.0.7:8000": True,
        "1.1.1.1:8000": False,
    }.items():
        assert named.is_our_host(host) is ours
    assert Access(80).is_our_host("localhost")
    assert Access(80).is_our_host("localhost:80")


def test_secrets_are_random_and_never_shown() -> None:
    one, other = Access(1), Access(1)
    assert one.token != other.token
    assert len(one.token) >= 43
    assert one.start_path != other.start_path
    assert one.set_cookie() != other.set_cookie()
    assert not one.exchange(other.start_path.partition("=")[2])
    assert not one.is_let_in("Bearer \u00e9", [])
    assert not one.is_let_in(None, ["lettafast-1", "lettafast-1=", "=", ";;", "lettafast-1=\u00ff"])


def test_a_client_that_does_not_read_holds_no_connection_for_ever() -> None:
    with listen("127.0.0.1", 0, WebLimits(unread=7.0)) as listening:
        if not hasattr(socket, "TCP_USER_TIMEOUT"):
            pytest.skip("this system has no TCP_USER_TIMEOUT")
        with socket.create_connection(listening.getsockname()[:2]):
            accepted, _ = listening.accept()
            with accepted:
                found = accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)
    assert found == 7000


def test_nothing_is_written(tmp_path: pathlib.Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    with serving(root) as site:
        path = site.write("c", user("one"))
        before = {found: found.stat().st_mtime_ns for found in tmp_path.rglob("*")}
        site.get("/")
        site.get(f"/conversations/{AGENT}/c")
        site.get(f"/conversations/{AGENT}/none")
    assert {found: found.stat().st_mtime_ns for found in tmp_path.rglob("*")} == before
    assert path.exists()
