"""Letta Cloud's REST interface: the conversation, its sandbox, and what is stored of them.

The calls are those of `@letta-ai/letta-agent-sdk` (src/cloud-session.ts): the sandbox is made for
one conversation, its time to live is set by a refresh, and its device has a connection once it is
online.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import urllib.parse
from collections.abc import Awaitable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx
from letta_client import APIConnectionError, APIStatusError, AsyncLetta, LettaError, omit

from lettafast.errors import SessionError, SessionReason

from .deadlines import Deadlines
from .recorder import Recorder, to_json
from .secret import Secret
from .strict_json import parse
from .transport import refusal

TTL_MINUTES = 10
"""What a refresh asks for. The pipeline may take half of it."""
_LONGEST_TTL_MINUTES = 60
_RETRIES = 2
_PAGE = 100
"""Messages of the history that are asked for at once."""
_MOST_PAGES = 100
_LONGEST_ANSWER = 16 << 20
"""Bytes."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Sandbox:
    """A managed sandbox.

    `resumed`: it is not known to be new. `ours`: it serves our conversation alone,
    so that we may end it. `device_id` is "" where the answer named none.
    """

    sandbox_id: str
    device_id: str
    resumed: bool
    ours: bool


class Cloud:
    """What one run asks of Letta Cloud. All calls are bounded, and raise `SessionError`."""

    def __init__(self, base: str, key: Secret, recorder: Recorder, deadlines: Deadlines) -> None:
        """`base` is what `urls.cloud_base` gave."""
        self._deadlines = deadlines
        # Proxies, certificates and passwords of the environment are none of ours.
        self._http = httpx.AsyncClient(transport=_Wire(base, key, recorder), trust_env=False)
        self._once = _letta(base, self._http, retries=0)
        self._again = _letta(base, self._http, retries=_RETRIES)

    async def create_conversation(self, agent_id: str, model: str | None) -> str:
        """The id of a new conversation, in which `model` is used instead of the agent's."""
        chosen = omit if model is None else model
        asked = self._once.conversations.create(agent_id=agent_id, model=chosen)
        said = await self._bounded("the conversation", asked)
        return _id(getattr(said, "id", None), "the conversation")

    async def create_sandbox(self, agent_id: str, conversation_id: str) -> Sandbox:
        """A sandbox for one conversation. Whether it is new is for the caller to look at."""
        path = f"/v1/agents/{_part(agent_id)}/sandboxes"
        said = await self._post(
            "the sandbox", self._once, path, {"conversationId": conversation_id}
        )
        resumed = said.get("resumed") is not False
        device_id = said.get("deviceId")
        return Sandbox(
            sandbox_id=_id(said.get("sandboxId"), "the sandbox"),
            device_id=device_id if isinstance(device_id, str) else "",
            resumed=resumed,
            ours=not resumed or said.get("conversationId") == conversation_id,
        )

    async def refresh(self, sandbox: Sandbox) -> float:
        """Asks for another ten minutes; the seconds that were granted.

        Raises `SessionError`: `expired` where the sandbox is gone.
        """
        path = f"/v1/sandboxes/{_part(sandbox.sandbox_id)}/refresh"
        what = "the refresh of the sandbox"
        try:
            said = await self._post(what, self._again, path, {"ttlMinutes": TTL_MINUTES})
        except SessionError as error:
            if error.reason is not SessionReason.NOT_FOUND:
                raise
            raise SessionError(SessionReason.EXPIRED, what, error.status) from None
        minutes = said.get("ttlMinutes")
        if (
            said.get("success") is not True
            or said.get("sandboxId") != sandbox.sandbox_id
            or not isinstance(minutes, (int, float))
            or not 0 < minutes <= _LONGEST_TTL_MINUTES
        ):
            raise SessionError(SessionReason.PROTOCOL, what)
        return minutes * 60.0

    async def online(self, sandbox: Sandbox) -> str:
        """The id of the sandbox's connection, once it has one. Raises `SessionError`."""
        path = f"/v1/environments/{_part(_id(sandbox.device_id, 'the sandbox'))}"
        what = "the sandbox's environment"
        loop = asyncio.get_running_loop()
        until = loop.time() + self._deadlines.online
        while loop.time() < until:
            with _unless(*_NOT_YET):
                said = await self._bounded(what, self._again.get(path, cast_to=object))
                connection_id = said.get("connectionId") if isinstance(said, dict) else None
                if connection_id is not None:
                    return _id(connection_id, what)
            await asyncio.sleep(self._deadlines.poll)
        raise SessionError(SessionReason.NOT_ONLINE, "the sandbox")

    async def terminate(self, sandbox: Sandbox) -> None:
        """Ends the sandbox; one that is gone has ended."""
        path = f"/v1/sandboxes/{_part(sandbox.sandbox_id)}/terminate"
        with _unless(SessionReason.NOT_FOUND):
            await self._post("the termination of the sandbox", self._again, path, {})

    async def read_history(self, conversation_id: str) -> None:
        """Has all stored messages of the conversation recorded, oldest first."""
        await self._bounded("the history", self._pages(conversation_id))

    async def close(self) -> None:
        """Closes the connections."""
        await self._http.aclose()

    async def _pages(self, conversation_id: str) -> None:
        messages = self._again.conversations.messages
        page = await messages.list(conversation_id, order="asc", limit=_PAGE)
        for _ in range(_MOST_PAGES):
            if not page.has_next_page():
                return
            page = await page.get_next_page()
        raise SessionError(SessionReason.PROTOCOL, "the history")

    async def _post(
        self, what: str, letta: AsyncLetta, path: str, body: dict[str, Any]
    ) -> dict[str, Any]:
        said = await self._bounded(what, letta.post(path, cast_to=object, body=body))
        return said if isinstance(said, dict) else {}

    async def _bounded(self, what: str, call: Awaitable[T]) -> T:
        status = None
        try:
            return await asyncio.wait_for(call, self._deadlines.request)
        except APIStatusError as error:
            status = error.status_code
            reason = refusal(status)
        except APIConnectionError:
            reason = SessionReason.UNREACHABLE
        except asyncio.TimeoutError:
            reason = SessionReason.DEADLINE
        except (LettaError, AttributeError, TypeError, ValueError):
            # `letta-client` takes an answer of another form for what it should be.
            reason = SessionReason.PROTOCOL
        # Raised here, so that nothing of what led to it is kept with it.
        raise SessionError(reason, what, status)


class _Wire(httpx.AsyncBaseTransport):
    """Puts requests on the wire: to our server alone, with our headers alone, and recorded.

    The key is added here, below `letta-client`: what that logs or raises cannot hold it, and no
    header of its own (`LETTA_CUSTOM_HEADERS` adds some) goes out.
    """

    def __init__(self, base: str, key: Secret, recorder: Recorder) -> None:
        self._origin = _origin(httpx.URL(base))
        self._key = key
        self._recorder = recorder
        # Redirects are not followed by a transport; `retries` would be those of connecting.
        self._inner = httpx.AsyncHTTPTransport(
            verify=ssl.create_default_context(), trust_env=False, retries=0
        )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Sends a request and reads its whole answer. Raises `httpx.TransportError`."""
        if _origin(request.url) != self._origin:
            raise httpx.UnsupportedProtocol("another server than ours")
        name = f"{request.method} {request.url.raw_path.decode('ascii')}"
        body = await request.aread()
        self._recorder.asked(name, _body(body))
        timed_out = False
        try:
            status, content = await self._exchange(request, body)
        except httpx.TimeoutException:
            timed_out = True
        except httpx.TransportError:
            pass
        else:
            said = _body(content)
            self._recorder.answered(name, status, said)
            # What goes on is what is recorded, without the key: ids are shown, and in addresses.
            text = said if isinstance(said, str) else "" if said is None else to_json(said)
            content = self._recorder.without_key(text).encode(errors="replace")
            kind = {"Content-Type": "application/json"}
            return httpx.Response(status, headers=kind, content=content)
        # Raised here: the error that is handled above holds frames that know the headers.
        if timed_out:
            raise httpx.ReadTimeout("no answer in time")
        raise httpx.ReadError("no whole answer")

    async def aclose(self) -> None:
        """Closes the connections."""
        await self._inner.aclose()

    async def _exchange(self, request: httpx.Request, body: bytes) -> tuple[int, bytes]:
        answer = await self._inner.handle_async_request(
            httpx.Request(
                request.method,
                request.url,
                headers={
                    "Authorization": f"Bearer {self._key.reveal()}",
                    "Content-Type": "application/json",
                    "Accept": "application/json",
                    "Accept-Encoding": "identity",
                    "User-Agent": "lettafast",
                },
                content=body,
                extensions=request.extensions,
            )
        )
        try:
            content = b""
            async for part in answer.aiter_raw():
                content += part
                if len(content) > _LONGEST_ANSWER:
                    raise httpx.ReadError("the answer is too long")
        finally:
            await answer.aclose()
        return answer.status_code, content


# What a device answers that is not online yet, and what may pass.
_NOT_YET = (SessionReason.NOT_FOUND, SessionReason.UNREACHABLE, SessionReason.DEADLINE)


@contextlib.contextmanager
def _unless(*reasons: SessionReason) -> Iterator[None]:
    """Lets errors of these reasons pass."""
    try:
        yield
    except SessionError as error:
        if error.reason not in reasons:
            raise


def _letta(base: str, http: httpx.AsyncClient, *, retries: int) -> AsyncLetta:
    # Explicit, since both come from the environment otherwise. The key is for `_Wire` alone.
    return AsyncLetta(api_key="unused", base_url=base, http_client=http, max_retries=retries)


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


def _part(text: str) -> str:
    """One part of a path."""
    return urllib.parse.quote(text, safe="")


def _id(value: Any, what: str) -> str:
    if not isinstance(value, str) or not value:
        raise SessionError(SessionReason.PROTOCOL, what)
    return value


def _body(content: bytes) -> Any:
    """A body as it is recorded: JSON, or text where it is none."""
    if not content:
        return None
    text = content.decode(errors="replace")
    try:
        return parse(text)
    except ValueError:
        return text
