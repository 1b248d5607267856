"""A git server over HTTPS on loopback: git's own `http-backend`, with a certificate made here.

`GIT_SSL_CAINFO` with the path `certificate` makes a git trust it.
"""

from __future__ import annotations

import datetime
import ipaddress
import os
import ssl
import subprocess
import threading
import urllib.parse
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

if TYPE_CHECKING:
    from types import TracebackType

HOST = "127.0.0.1"
SECONDS = 30


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens to one request instead: a status, also a redirect to `location`.

    Before that, or before it is served, it waits for `seconds` or for `release`.
    """

    status: int = 0
    location: str = ""
    seconds: float = 0.0


class GitHttps:
    """Serves the bare repositories in `folder`; a context manager.

    `faults` are used up one a fetch, at its first request.
    """

    def __init__(self, folder: Path) -> None:
        self.faults: list[Fault] = []
        self._released = threading.Event()
        self.asked: list[str] = []
        """The path of each request that came."""
        self.certificate = folder / "certificate.pem"
        self.repositories = folder / "repositories"
        self.repositories.mkdir(parents=True)
        private = folder / "private.pem"
        _make_certificate(self.certificate, private)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, private)
        self._server = _Server((HOST, 0), _handler_of(self), context)
        self._serving = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    def url(self, name: str) -> str:
        return f"https://{HOST}:{self._server.server_address[1]}/{name}"

    def add(self, checkout: Path, name: str) -> str:
        """Serves what `checkout` has committed; the repository's URL."""
        bare = self.repositories / name
        subprocess.run(
            ["git", "clone", "-q", "--bare", str(checkout), str(bare)], check=True, timeout=SECONDS
        )
        return self.url(name)

    def begin(self, faults: list[Fault]) -> None:
        """From now on these are the faults."""
        self._released.clear()
        self.faults = list(faults)

    def release(self) -> None:
        """Lets every request go on that waits."""
        self._released.set()

    def wait(self, seconds: float) -> None:
        """Waits for `release`, or so long."""
        self._released.wait(seconds)

    def __enter__(self) -> GitHttps:
        self._serving.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()
        self._server.shutdown()
        self._serving.join()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = False

    def __init__(self, address, handler, context: ssl.SSLContext) -> None:
        super().__init__(address, handler)
        self._context = context

    def finish_request(self, request, client_address) -> None:
        # In the connection's own thread, so that a slow handshake holds up nobody.
        request.settimeout(SECONDS)
        try:
            with self._context.wrap_socket(request, server_side=True) as secured:
                super().finish_request(secured, client_address)
        except OSError:
            pass  # the client went away, as a git that `timeout` ends does


def _handler_of(git: GitHttps) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            git.asked.append(self.path)
            fault = git.faults.pop(0) if git.faults else Fault()
            git.wait(fault.seconds)
            if fault.status:
                self.send_response(fault.status)
                if fault.location:
                    self.send_header("Location", fault.location)
                self.send_header("Content-Length", "0")
                self.end_headers()
            else:
                self._backend(b"")

        def do_POST(self) -> None:
            git.asked.append(self.path)
            self._backend(self.rfile.read(int(self.headers["Content-Length"])))

        def _backend(self, body: bytes) -> None:
            """As RFC 3875 (CGI) has it."""
            address = urllib.parse.urlsplit(self.path)
            environ = {
                "PATH": os.environ["PATH"],
                "GIT_CONFIG_NOSYSTEM": "1",
                "GIT_CONFIG_GLOBAL": os.devnull,
                "GIT_PROJECT_ROOT": str(git.repositories),
                "GIT_HTTP_EXPORT_ALL": "1",
                "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
                "REQUEST_METHOD": self.command,
                "PATH_INFO": address.path,
                "QUERY_STRING": address.query,
                "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                "CONTENT_LENGTH": str(len(body)),
                "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                "REMOTE_ADDR": HOST,
            }
            done = subprocess.run(
                ["git", "http-backend"],
                env=environ,
                input=body,
                capture_output=True,
                check=True,
                timeout=SECONDS,
            )
            head, _, content = done.stdout.partition(b"\r\n\r\n")
            fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
            self.send_response(int(fields.pop("Status", "200").split()[0]))
            for name, value in fields.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    return Handler


def _make_certificate(certificate: Path, private: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "git server of a test")])
    now = datetime.datetime.now(datetime.timezone.utc)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(HOST))]),
            critical=False,
        )
        .sign(key, hashes.SHA256())
    )
    certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
