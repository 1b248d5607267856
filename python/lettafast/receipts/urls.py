"""The addresses that a run may talk to: the key goes nowhere else."""

from __future__ import annotations

import ipaddress
import urllib.parse

from lettafast.errors import SessionError, SessionReason

from .frames import Channel

LETTA_CLOUD = "https://api.letta.com"


def cloud_base(url: str) -> str:
    """`url` without its last slash: https, or http on loopback; nothing but a path behind the host.

    Raises `SessionError` (`insecure_url`).
    """
    parts = _checked(url, "LETTA_BASE_URL", secure="https", plain="http")
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


def relay(base: str, connection_id: str, agent_id: str, conversation_id: str) -> dict[Channel, str]:
    """The addresses of the status relay's two sockets, under what `cloud_base` gave."""
    scheme, rest = base.split("://", 1)
    place = urllib.parse.quote(connection_id, safe="")
    asked = {"agentId": agent_id, "conversationId": conversation_id}
    channels: tuple[Channel, ...] = ("control", "stream")
    return {
        channel: f"{_SOCKETS[scheme]}://{rest}/v1/environments/{place}/status/ws?"
        + urllib.parse.urlencode({**asked, "channel": channel})
        for channel in channels
    }


def app_server(url: str) -> str:
    """The address of an App Server's socket: wss, or ws on loopback; `/ws` where it names no path.

    Raises `SessionError` (`insecure_url`).
    """
    parts = _checked(url, "--app-server", secure="wss", plain="ws")
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/') or '/ws'}"


_SOCKETS = {"https": "wss", "http": "ws"}


def _checked(url: str, name: str, *, secure: str, plain: str) -> urllib.parse.SplitResult:
    # What `urlsplit` drops or moves (line ends, a backslash) is no part of an address.
    if url.isascii() and url.isprintable() and not set(url) & set(' \\"<>'):
        try:
            parts = urllib.parse.urlsplit(url)
            host = parts.hostname or ""
            _ = parts.port  # raises where it is no number
        except ValueError:
            pass
        else:
            allowed = parts.scheme == secure or (parts.scheme == plain and _is_loopback(host))
            if allowed and host and not set("@?#") & set(url):
                return parts
    raise SessionError(SessionReason.INSECURE_URL, name)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
