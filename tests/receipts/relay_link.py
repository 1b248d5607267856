"""One open WebSocket of the double of Letta Cloud's relay, from the server's side."""

from __future__ import annotations

import queue
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from websockets.frames import Opcode
from websockets.http11 import Request as Upgrade
from websockets.protocol import State
from websockets.server import ServerProtocol


class Link:
    """Its messages are numbered on the way out, by a thread of its own."""

    def __init__(self, connection: socket.socket, upgrade: bytes) -> None:
        self.ended = False
        self.waiting: list[int] = []
        """The `seq` of what is not acknowledged yet."""
        self._connection = connection
        self._lock = threading.Lock()
        self._seq = 0
        self._held: list[bytes] = []
        self._due: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._protocol = ServerProtocol(max_size=None)
        self._protocol.receive_data(upgrade)
        [request] = self._protocol.events_received()
        assert isinstance(request, Upgrade)
        self._protocol.send_response(self._protocol.accept(request))
        self._sending = threading.Thread(target=self._send)

    def accept(self) -> None:
        """Answers the handshake; then what was put meanwhile goes out."""
        self._flush()
        self._sending.start()

    def read(self, take: Callable[[str], None]) -> None:
        """Hands on each message until the socket has ended."""
        with suppress(OSError):
            while data := self._connection.recv(1 << 16):
                with self._lock:
                    self._protocol.receive_data(data)
                    events = self._protocol.events_received()
                    self._flush()
                for event in events:
                    if event.opcode is Opcode.TEXT:
                        take(event.data.decode())
                if self._protocol.state is State.CLOSED:
                    break
        self.ended = True
        self._due.put(None)
        self._sending.join()
        self.cut()

    def put(self, data: bytes, *, counted: bool = False) -> None:
        """Sends a message; `counted`: it gets a `seq`, in front of its other members."""
        self._due.put(lambda: self._message(data, counted=counted))
        if counted:
            held, self._held = self._held, []
            for each in held:
                self._due.put(lambda each=each: self._message(each, counted=True))

    def hold(self, texts: list[bytes]) -> None:
        """Sends these messages after the next one."""
        self._held += texts

    def put_pause(self, seconds: float) -> None:
        """Holds back what follows."""
        self._due.put(lambda: time.sleep(seconds))

    def settle(self, seconds: float) -> None:
        """Waits until all that was sent is acknowledged, or so long."""
        end = time.monotonic() + seconds
        while self.waiting and not self.ended and time.monotonic() < end:
            time.sleep(0.005)

    def put_close(self, code: int, reason: str) -> None:
        """Closes after what was put before."""
        self._due.put(lambda: self._close(code, reason))

    def put_cut(self) -> None:
        """As `cut`, after what was put before."""
        self._due.put(self.cut)

    def cut(self) -> None:
        """Ends the connection without a close frame."""
        self.ended = True
        shut(self._connection)

    def _message(self, data: bytes, *, counted: bool) -> None:
        with self._lock:
            if self._protocol.state is not State.OPEN:
                return
            if counted and data.startswith(b"{"):
                self._seq += 1
                self.waiting.append(self._seq)
                data = b'{"seq":%d,' % self._seq + data[1:].lstrip()
            self._protocol.send_text(data)
            self._flush()

    def _close(self, code: int, reason: str) -> None:
        with self._lock:
            if self._protocol.state is State.OPEN:
                self._protocol.send_close(code, reason)
                self._flush()

    def _flush(self) -> None:
        for data in self._protocol.data_to_send():
            if data:
                self._connection.sendall(data)
            else:
                self._connection.shutdown(socket.SHUT_WR)

    def _send(self) -> None:
        while (send := self._due.get()) is not None:
            try:
                send()
            except OSError:
                self.ended = True


def shut(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
