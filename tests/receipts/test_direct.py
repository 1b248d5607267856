"""One App Server's socket, against a server of `websockets` on loopback."""

from __future__ import annotations

import asyncio
import contextlib
import http

import pytest
from websockets.asyncio.server import serve

from keys import KEY, assert_without_key
from lettafast.errors import SessionError, SessionReason
from lettafast.receipts import direct, urls
from lettafast.receipts.deadlines import Deadlines
from lettafast.receipts.secret import Secret
from lettafast.receipts.transport import MAX_MESSAGE, Arrived, Closed, open_socket

QUICK = Deadlines(connect=5)


def run(coroutine):
    return asyncio.run(asyncio.wait_for(coroutine, 20))


@contextlib.asynccontextmanager
async def server(requests):
    """The address of a server that keeps what it was asked for, and says nothing."""

    async def keep(connection):
        requests.append(connection.request)
        await connection.wait_closed()

    async with serve(keep, "127.0.0.1", 0) as serving:
        yield f"ws://127.0.0.1:{serving.sockets[0].getsockname()[1]}"


def test_messages_come_as_they_were_on_the_wire() -> None:
    async def go():
        async def say(connection):
            await connection.send('{"type": "a",  "x":"\\u00e9"}')
            await connection.send(b'{"type":"binary"}')
            await connection.close(1001, "going away")

        async with serve(say, "127.0.0.1", 0) as serving:
            port = serving.sockets[0].getsockname()[1]
            sockets = await direct.connect(f"ws://127.0.0.1:{port}", QUICK)
            got = [await sockets.receive() for _ in range(5)]
            await sockets.close()
            await sockets.close()
        assert got == [
            Arrived("control", b'{"type": "a",  "x":"\\u00e9"}'),
            Arrived("control", b'{"type":"binary"}'),
            Closed("control", 1001, "going away"),
            None,
            None,
        ]

    run(go())


def test_the_path_is_ws_and_there_is_no_key() -> None:
    async def go():
        requests = []
        async with server(requests) as url:
            sockets = await direct.connect(f"{url}/", QUICK)
            await sockets.close()
        assert [request.path for request in requests] == ["/ws"]
        assert "Authorization" not in requests[0].headers

    run(go())


def test_bytes_that_are_no_text_are_handed_on_and_do_not_end_the_session() -> None:
    async def go():
        async def say(connection):
            # `send(str)` would encode it well: this is what a text message may hold all the same.
            await connection.send(b'{"type":"\xff"}', text=True)
            await connection.send("{}")
            await connection.wait_closed()

        async with serve(say, "127.0.0.1", 0) as serving:
            port = serving.sockets[0].getsockname()[1]
            sockets = await direct.connect(f"ws://127.0.0.1:{port}", QUICK)
            assert await sockets.receive() == Arrived("control", b'{"type":"\xff"}')
            assert await sockets.receive() == Arrived("control", b"{}")
            await sockets.close()

    run(go())


def test_a_message_that_is_too_long_ends_the_session_and_says_so() -> None:
    async def go():
        async def say(connection):
            await connection.send("x" * (MAX_MESSAGE + 1))
            await connection.wait_closed()

        async with serve(say, "127.0.0.1", 0, compression=None) as serving:
            port = serving.sockets[0].getsockname()[1]
            sockets = await direct.connect(f"ws://127.0.0.1:{port}", QUICK)
            closed = await sockets.receive()
            assert isinstance(closed, Closed)
            assert (closed.code, closed.too_big) == (1009, True)
            await sockets.close()

    run(go())


def test_a_connection_that_is_cut_has_no_code() -> None:
    async def go():
        async def cut(connection):
            connection.transport.abort()

        async with serve(cut, "127.0.0.1", 0) as serving:
            port = serving.sockets[0].getsockname()[1]
            sockets = await direct.connect(f"ws://127.0.0.1:{port}", QUICK)
            assert await sockets.receive() == Closed("control", None, "")
            with pytest.raises(SessionError) as error:
                await sockets.send("{}")
            assert error.value.reason is SessionReason.CLOSED
            await sockets.close()

    run(go())


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (401, SessionReason.UNAUTHORIZED),
        (403, SessionReason.UNAUTHORIZED),
        (404, SessionReason.NOT_FOUND),
        (426, SessionReason.REFUSED),
        (503, SessionReason.UNREACHABLE),
    ],
)
def test_a_refused_handshake_says_why_and_never_the_key(status, reason) -> None:
    async def go():
        def refuse(connection, request):
            return connection.respond(http.HTTPStatus(status), request.headers["Authorization"])

        async with serve(None, "127.0.0.1", 0, process_request=refuse) as serving:
            port = serving.sockets[0].getsockname()[1]
            url = f"ws://127.0.0.1:{port}/"
            with pytest.raises(SessionError) as error:
                await open_socket(url, "it", 5, key=Secret(KEY), keep_alive=None)
        assert (error.value.reason, error.value.status) == (reason, status)
        assert_without_key(error.value)

    run(go())


def test_a_redirect_is_not_followed() -> None:
    async def go():
        requests = []
        async with server(requests) as other:

            def redirect(connection, request):
                answer = connection.respond(http.HTTPStatus.FOUND, "")
                answer.headers["Location"] = other
                return answer

            async with serve(None, "127.0.0.1", 0, process_request=redirect) as redirecting:
                port = redirecting.sockets[0].getsockname()[1]
                url = f"ws://127.0.0.1:{port}/"
                with pytest.raises(SessionError) as error:
                    await open_socket(url, "it", 5, key=Secret(KEY), keep_alive=None)
        assert (error.value.reason, error.value.status) == (SessionReason.REFUSED, 302)
        assert requests == []

    run(go())


def test_nobody_there_and_somebody_silent() -> None:
    async def go():
        async with serve(None, "127.0.0.1", 0) as serving:
            port = serving.sockets[0].getsockname()[1]
        with pytest.raises(SessionError) as error:
            await direct.connect(f"ws://127.0.0.1:{port}", QUICK)
        assert error.value.reason is SessionReason.UNREACHABLE
        held = []
        silent = await asyncio.start_server(lambda *streams: held.append(streams), "127.0.0.1", 0)
        port = silent.sockets[0].getsockname()[1]
        with pytest.raises(SessionError) as error:
            await direct.connect(f"ws://127.0.0.1:{port}", Deadlines(connect=0.2))
        assert error.value.reason is SessionReason.DEADLINE
        silent.close()
        for _, writer in held:
            writer.close()
        await silent.wait_closed()

    run(go())


def test_proxies_of_the_environment_are_not_used(monkeypatch) -> None:
    async def go():
        requests = []
        async with server(requests) as url:
            sockets = await direct.connect(url, QUICK)
            await sockets.close()
        assert len(requests) == 1

    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
        monkeypatch.setenv(name.upper(), "http://127.0.0.1:9")
    run(go())


def test_debug_logging_shows_no_header(caplog) -> None:
    async def go():
        async with server([]) as url:
            opened = await open_socket(url, "it", 5, key=Secret(KEY), keep_alive=None)
            await opened.close()

    caplog.set_level("DEBUG")
    run(go())
    # The server of this test logs what it was sent; what counts is what the client says.
    said = [record.getMessage() for record in caplog.records if "server" not in record.name]
    assert not [text for text in said if KEY in text]


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("ws://127.0.0.1:4555", "ws://127.0.0.1:4555/ws"),
        ("ws://127.9.9.9:4555/ws/", "ws://127.9.9.9:4555/ws"),
        ("ws://[::1]:4555/x", "ws://[::1]:4555/x"),
        ("ws://localhost:1", "ws://localhost:1/ws"),
        ("wss://app.example", "wss://app.example/ws"),
    ],
)
def test_addresses_of_app_servers(url, expected) -> None:
    assert urls.app_server(url) == expected


@pytest.mark.parametrize(
    "url",
    [
        "ws://192.0.2.1:4555",
        "ws://127.0.0.1.example:4555",
        "ws://localhost.example",
        "http://127.0.0.1:4555",
        "ws://user@127.0.0.1:4555",
        "ws://127.0.0.1@192.0.2.1",
        "ws://127.0.0.1:4555/?token=x",
        "ws://127.0.0.1:4555/#x",
        "ws://127.0.0.1:4555\\@192.0.2.1",
        "ws://127.0.0.1:port",
        "ws://127.0.0.1:4555/\n",
        "wss://",
        "",
    ],
)
def test_addresses_that_are_refused(url) -> None:
    with pytest.raises(SessionError) as error:
        urls.app_server(url)
    assert error.value.reason is SessionReason.INSECURE_URL
    assert error.value.exit_code == 2


def test_cloud_addresses() -> None:
    assert urls.cloud_base("https://api.letta.com/") == "https://api.letta.com"
    assert urls.cloud_base("http://127.0.0.1:8283/x/") == "http://127.0.0.1:8283/x"
    for refused in (
        "http://api.letta.com",
        "https://a@b.example",
        "ws://127.0.0.1",
        "api.letta.com",
    ):
        with pytest.raises(SessionError):
            urls.cloud_base(refused)
    assert urls.relay("https://api.letta.com", "c/1?", "agent-1", "conv 1") == {
        channel: "wss://api.letta.com/v1/environments/c%2F1%3F/status/ws"
        f"?agentId=agent-1&conversationId=conv+1&channel={channel}"
        for channel in ("control", "stream")
    }
