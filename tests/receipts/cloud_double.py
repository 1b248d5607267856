"""A double of Letta Cloud: its REST interface and its status relay, on loopback.

Letta Cloud itself needs an account, costs money and cannot be made to fail on purpose. What is
here of it was read from `@letta-ai/letta-agent-sdk` (src/cloud-session.ts, cloud-sandbox.ts,
remote.ts and cloud-status-transport.ts), from the SDK's pages "Remote client reference" and
"Sessions", and from the types of `letta-client` 1.12.1; the hosted service was never asked. It is
a real HTTP and WebSocket server, and what speaks through it is a `Backend`: a real App Server of
Letta Code, or a script.

The relay: two sockets, `control` and `stream`, both with the whole feed; each frame has a `seq` of
its socket, which is to be acknowledged on that socket; `ping` is answered by `pong`; a client sends
its commands on `control`.

What can go wrong is said by `answers` (REST, and the opening of the sockets) and `faults` (the
feed).
"""

from __future__ import annotations

import json
import socket
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Literal

from relay_link import Link, shut
from session_feed import Backend, Feed, Json

Channel = Literal["control", "stream"]
CHANNELS: tuple[Channel, Channel] = ("control", "stream")
_ACK_SECONDS = 2.0
GONE = {"errorCode": "SANDBOX_NOT_FOUND", "error": "Sandbox not found"}
"""The body of a 404 for a sandbox that has expired."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One REST answer that is not the usual one.

    `body` replaces the usual one, `change` only some of its members; the answer is held back for
    `seconds`. Where it is no success, nothing is done.
    """

    status: int = 200
    body: Any = None
    change: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens to the `nth` frame of the feed for which `when` holds.

    `channel` None means both sockets. `drop` loses it; `repeat` sends it twice; `swap` sends it
    after the one that follows; `delay` holds it, and so all behind it, for `seconds`; `close`
    closes the socket before it with 1011; `cut` ends the connection without a word; `replace` sends
    `data` instead; `precede` sends `data` before it. `data` is a frame, the bytes of a text
    message, or what makes a frame of the one that is hit.
    """

    what: Literal["drop", "repeat", "swap", "delay", "close", "cut", "replace", "precede"]
    when: Callable[[Json], bool]
    channel: Channel | None = None
    nth: int = 1
    seconds: float = 0.0
    data: Json | bytes | Callable[[Json], Json] = b""


def of_type(name: str) -> Callable[[Json], bool]:
    """Frames of this type."""
    return lambda frame: frame.get("type") == name


def delta(message_type: str) -> Callable[[Json], bool]:
    """Stream deltas of this message type."""
    return lambda frame: frame.get("delta", {}).get("message_type") == message_type


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that came: `route` is a key of `answers`."""

    route: str
    method: str
    path: str
    query: dict[str, str]
    body: Any
    authorized: bool


class CloudDouble:
    """The whole of it, on a port of its own; a context manager.

    `answers` gives for a route (`conversation`, `sandbox`, `refresh`, `environment`, `history`,
    `terminate`, and for the sockets `control`, `stream`) what is answered first, one each; then all
    is as usual. `split`: stream deltas come on `stream` alone, and nothing else does. `deaf`: no
    pong.
    """

    def __init__(
        self,
        backend: Backend,
        key: str,
        *,
        answers: Mapping[str, Iterable[Answer]] | None = None,
        faults: Iterable[Fault] = (),
        split: bool = False,
        deaf: bool = False,
    ) -> None:
        self.asked: list[Asked] = []
        self.running: set[str] = set()
        """Ids of sandboxes that were made and not terminated."""
        self.wrongs: list[str] = []
        """Rules of the relay that the client broke."""
        self._backend = backend
        self._key = key
        self._answers = {route: list(given) for route, given in (answers or {}).items()}
        self._faults = list(faults)
        self._split = split
        self._deaf = deaf
        self._lock = threading.Lock()
        self._made = 0
        self._links: dict[Channel, Link] = {}
        self._connections: set[socket.socket] = set()
        self._feed: Feed | None = None
        self._pump: threading.Thread | None = None
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler_of(self))
        # The threads of connections are joined when it closes.
        self._server.daemon_threads = False
        self._serving = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    @property
    def url(self) -> str:
        """The base URL of the REST interface, and of the relay."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def unacknowledged(self) -> dict[Channel, int]:
        """How many frames of each socket that is open, or was last, have no ack."""
        return {channel: len(link.waiting) for channel, link in self._links.items()}

    def routes(self) -> list[str]:
        """The routes that were asked, in order."""
        return [asked.route for asked in self.asked]

    def __enter__(self) -> CloudDouble:
        self._serving.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end_session()
        self._server.shutdown()
        self._serving.join()
        with self._lock:
            for connection in self._connections:
                shut(connection)
        self._server.server_close()

    def connected(self, connection: socket.socket) -> None:
        """A connection was made; what is still open at the end is ended then."""
        with self._lock:
            self._connections.add(connection)

    def disconnected(self, connection: socket.socket) -> None:
        """It is about to be closed."""
        with self._lock:
            self._connections.discard(connection)

    # --- REST ---

    def rest(self, method: str, path: str, query: dict[str, str], body: Any) -> tuple[int, Any]:
        """The answer to a request with the right key."""
        route = self.route_of(method, path)
        special = self.special(route)
        time.sleep(special.seconds)
        if special.status >= 400:
            return special.status, special.body
        usual = self._usual(route, path.strip("/").split("/"), query, body)
        if usual is None:
            return 404, GONE
        if special.body is not None:
            return special.status, special.body
        if isinstance(usual, dict):
            usual = {**usual, **special.change}
        return special.status, usual

    def special(self, route: str) -> Answer:
        """What is due for this route, once."""
        with self._lock:
            due = self._answers.get(route)
            return due.pop(0) if due else Answer()

    def note(self, asked: Asked) -> None:
        """Keeps what was asked."""
        with self._lock:
            self.asked.append(asked)

    def knows(self, header: str | None) -> bool:
        """Whether a request has the key."""
        return header == f"Bearer {self._key}"

    @staticmethod
    def route_of(method: str, path: str) -> str:
        """The name of a route, or "" for what is none."""
        match method, path.strip("/").split("/"):
            case "POST", ["v1", "conversations"]:
                return "conversation"
            case "POST", ["v1", "agents", _, "sandboxes"]:
                return "sandbox"
            case "POST", ["v1", "sandboxes", _, ("refresh" | "terminate") as what]:
                return what
            case "GET", ["v1", "environments", _]:
                return "environment"
            case "GET", ["v1", "conversations", _, "messages"]:
                return "history"
        return ""

    def _usual(self, route: str, parts: list[str], query: dict[str, str], body: Any) -> Any:
        """What a route answers where nothing is wrong, done as well; None for what is not there."""
        if route == "conversation":
            body = {"agent_id": query["agent_id"], **(body or {})}
            return {"id": self._backend.conversation(body), "agent_id": query["agent_id"]}
        if route == "sandbox":
            with self._lock:
                self._made += 1
                sandbox_id = f"sandbox-{self._made}"
                self.running.add(sandbox_id)
            return {
                "sandboxId": sandbox_id,
                "deviceId": f"device-of-{sandbox_id}",
                "connectionName": "managed sandbox",
                "conversationId": body["conversationId"],
                "resumed": False,
            }
        if route == "environment":
            return _environment(parts[2])
        if route == "history":
            return self._page(self._backend.history(parts[2]), query)
        if route in ("refresh", "terminate") and parts[2] in self.running:
            if route == "refresh":
                minutes = (body or {}).get("ttlMinutes", 5)
                return {"success": True, "sandboxId": parts[2], "ttlMinutes": minutes}
            self.running.discard(parts[2])
            return {"success": True, "sandboxId": parts[2]}
        return None

    def _page(self, messages: list[Json], query: dict[str, str]) -> list[Json]:
        messages = messages if query.get("order") == "asc" else messages[::-1]
        ids = [message["id"] for message in messages]
        start = ids.index(query["after"]) + 1 if "after" in query else 0
        return messages[start : start + int(query.get("limit", 100))]

    # --- the relay ---

    def open(self, channel: Channel, link: Link) -> None:
        """A socket is open; the session begins with the second one."""
        with self._lock:
            if channel in self._links and not self._links[channel].ended:
                self.wrongs.append(f"a second {channel} socket")
            self._links[channel] = link
            if any(each not in self._links or self._links[each].ended for each in CHANNELS):
                return
            self._feed = self._backend.feed()
            self._pump = threading.Thread(target=self._run, args=(self._feed, dict(self._links)))
            self._pump.start()

    def take(self, channel: Channel, link: Link, text: str) -> None:
        """A message of the client."""
        said = json.loads(text)
        kind = said.get("type")
        if kind == "ack":
            if link.waiting and link.waiting[0] == said.get("seq"):
                link.waiting.pop(0)
            else:
                self.wrongs.append(f"{channel}: ack of {said.get('seq')}, not {link.waiting[:1]}")
        elif kind == "ping":
            if not self._deaf:
                link.put(json.dumps({"type": "pong"}).encode())
        elif channel != "control":
            self.wrongs.append(f"{kind} on {channel}")
        elif self._feed is None:
            self.wrongs.append(f"{kind} before both sockets were open")
        else:
            self._feed.send(text)

    def closed(self, channel: Channel) -> None:
        """A socket has ended: the session has no other end."""
        with self._lock:
            feed, other = self._feed, {c: one for c, one in self._links.items() if c != channel}
        if feed is not None and all(one.ended for one in other.values()):
            feed.close()

    def terminated(self) -> None:
        """The sandbox is gone and its sockets with it.

        What came just before could not be acknowledged any more, through no fault of the client.
        """
        for link in list(self._links.values()):
            link.settle(_ACK_SECONDS)
            link.put_close(1001, "the sandbox was terminated")

    def _end_session(self) -> None:
        if self._feed is not None:
            self._feed.close()
        if self._pump is not None:
            self._pump.join()

    def _run(self, feed: Feed, links: dict[Channel, Link]) -> None:
        """Hands the feed on to both sockets."""
        counts = [0] * len(self._faults)
        while (text := feed.receive()) is not None:
            frame = _object(text)
            hit = []
            for at, fault in enumerate(self._faults):
                if fault.when(frame):
                    counts[at] += 1
                    if counts[at] == fault.nth:
                        hit.append(fault)
            for channel, link in links.items():
                if self._split and (frame.get("type") == "stream_delta") != (channel == "stream"):
                    continue
                due = [fault for fault in hit if fault.channel in (None, channel)]
                _deliver(link, text, frame, due)
        for link in links.values():
            link.put_close(1011, "the device is offline")


def _deliver(link: Link, text: str, frame: Json, faults: list[Fault]) -> None:
    texts = [text.encode()]
    swapped = False
    for fault in faults:
        data = fault.data(frame) if callable(fault.data) else fault.data
        data = data if isinstance(data, bytes) else json.dumps(data).encode()
        if fault.what == "drop":
            texts = []
        elif fault.what == "repeat":
            texts *= 2
        elif fault.what == "replace":
            texts = [data]
        elif fault.what == "precede":
            texts = [data, *texts]
        elif fault.what == "delay":
            link.put_pause(fault.seconds)
        elif fault.what == "close":
            link.put_close(1011, "fault")
        elif fault.what == "cut":
            link.put_cut()
        else:
            swapped = True
    if swapped:
        link.hold(texts)
    else:
        for each in texts:
            link.put(each, counted=True)


def _object(text: str) -> Json:
    """The members of a frame, or none."""
    try:
        frame = json.loads(text)
    except ValueError:
        return {}
    return frame if isinstance(frame, dict) else {}


def _environment(device_id: str) -> Json:
    """A device that is online, with the members that `letta-client` knows."""
    return {
        "id": f"environment-of-{device_id}",
        "connectionId": f"connection-of-{device_id}",
        "deviceId": device_id,
        "connectionName": "managed sandbox",
        "organizationId": "org-double",
        "podId": "pod-double",
        "connectedAt": 1_790_000_000_000,
        "lastHeartbeat": 1_790_000_000_000,
        "lastSeenAt": 1_790_000_000_000,
        "firstSeenAt": 1_790_000_000_000,
        "currentMode": "unrestricted",
        "metadata": None,
    }


def _handler_of(cloud: CloudDouble) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            super().setup()
            cloud.connected(self.connection)

        def finish(self) -> None:
            cloud.disconnected(self.connection)
            super().finish()

        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            self._answer()

        def do_POST(self) -> None:
            self._answer()

        def _answer(self) -> None:
            address = urllib.parse.urlsplit(self.path)
            query = dict(urllib.parse.parse_qsl(address.query))
            authorized = cloud.knows(self.headers.get("Authorization"))
            upgrade = self.headers.get("Upgrade", "").lower() == "websocket"
            size = int(self.headers.get("Content-Length") or 0)
            text = self.rfile.read(size)
            body = json.loads(text) if text else None
            channel = query.get("channel", "")
            route = channel if upgrade else cloud.route_of(self.command, address.path)
            cloud.note(Asked(route, self.command, address.path, query, body, authorized))
            if not authorized:
                self._json(401, {"error": "Unauthorized"})
            elif upgrade:
                self._upgrade(address.path, channel)
            else:
                status, said = cloud.rest(self.command, address.path, query, body)
                self._json(status, said)
                if route == "terminate" and status == 200:
                    cloud.terminated()

        def _upgrade(self, path: str, channel: str) -> None:
            special = cloud.special(channel)
            time.sleep(special.seconds)
            if special.status >= 400 or channel not in CHANNELS or not path.endswith("/status/ws"):
                self._json(special.status if special.status >= 400 else 404, special.body)
                return
            self.close_connection = True
            head = f"{self.requestline}\r\n{self.headers}".replace("\r\n", "\n").strip("\n")
            link = Link(self.connection, head.replace("\n", "\r\n").encode() + b"\r\n\r\n")
            # In this order, since a client may speak as soon as it has the answer.
            cloud.open(channel, link)
            link.accept()
            link.read(lambda text: cloud.take(channel, link, text))
            cloud.closed(channel)

        def _json(self, status: int, value: Any) -> None:
            data = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    return Handler
