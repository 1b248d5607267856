"""Where a run takes place: in a sandbox of Letta Cloud, or on one App Server."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from typing import Protocol

from lettafast.errors import SessionError, SessionReason

from . import direct, relay, urls
from .cloud import Cloud, Sandbox
from .deadlines import Deadlines
from .judgement import Profile
from .recorder import Recorder
from .secret import Secret
from .session import Session

_BEFORE_ITS_END = 0.8
"""The part of the time to live after which the sandbox is refreshed."""
_AFTER_A_FAILURE = 10.0
"""Seconds until a refresh is tried again."""


class Host(Protocol):
    """One run's place. Its methods raise `SessionError`, `end` none."""

    async def begin(self, agent_id: str, model: str | None, profile: Profile) -> Session:
        """A session in a new conversation."""

    async def before_turn(self) -> None:
        """What is due before a message is sent."""

    async def end(self, *, history: bool) -> None:
        """Ends all that `begin` began, however far it came, and reads the history if asked to."""


class DirectHost:
    """One App Server: there is nothing to be ended but the connection."""

    def __init__(
        self,
        url: str,
        recorder: Recorder,
        deadlines: Deadlines,
        on_progress: Callable[[str], None],
    ) -> None:
        self._url = url
        self._recorder = recorder
        self._deadlines = deadlines
        self._on_progress = on_progress
        self._session: Session | None = None

    async def begin(self, agent_id: str, model: str | None, profile: Profile) -> Session:
        """As `Host.begin`."""
        transport = await direct.connect(self._url, self._deadlines)
        session = Session(transport, self._recorder, self._deadlines)
        self._session = session
        conversation_id = await session.start(agent_id, None, model, profile)
        self._recorder.note("conversation", conversation_id=conversation_id)
        self._on_progress(f"conversation {conversation_id}")
        return session

    async def before_turn(self) -> None:
        """As `Host.before_turn`: nothing."""

    async def end(self, *, history: bool) -> None:
        """As `Host.end`."""
        if self._session is None:
            return
        if history:
            with _recorded(self._recorder):
                await self._session.read_history()
        await self._session.close()


class CloudHost:
    """A sandbox of Letta Cloud, made for this run and ended with it."""

    def __init__(
        self,
        base: str,
        key: Secret,
        recorder: Recorder,
        deadlines: Deadlines,
        on_progress: Callable[[str], None],
    ) -> None:
        """`base` is what `urls.cloud_base` gave."""
        self._base = base
        self._key = key
        self._recorder = recorder
        self._deadlines = deadlines
        self._on_progress = on_progress
        self._cloud = Cloud(base, key, recorder, deadlines)
        self._conversation_id: str | None = None
        self._making: asyncio.Task[Sandbox] | None = None
        self._refreshing: asyncio.Task[None] | None = None
        self._session: Session | None = None

    async def begin(self, agent_id: str, model: str | None, profile: Profile) -> Session:
        """As `Host.begin`."""
        conversation_id = await self._cloud.create_conversation(agent_id, model)
        self._conversation_id = conversation_id
        self._recorder.note("conversation", conversation_id=conversation_id)
        self._on_progress(f"conversation {conversation_id}")
        # A task of its own: who is stopped meanwhile still learns what there is to end.
        self._making = asyncio.create_task(self._make(agent_id, conversation_id))
        sandbox = await asyncio.shield(self._making)
        if sandbox.resumed:
            raise SessionError(SessionReason.RESUMED, sandbox.sandbox_id)
        ttl = await self._refresh(sandbox)
        self._on_progress(f"sandbox {sandbox.sandbox_id}, waiting for it")
        connection_id = await self._cloud.online(sandbox)
        self._on_progress("the sandbox is online")
        transport = await self._connect(sandbox, connection_id, agent_id, conversation_id)
        session = Session(transport, self._recorder, self._deadlines)
        self._session = session
        self._refreshing = asyncio.create_task(self._keep(sandbox, session, ttl))
        await session.start(agent_id, conversation_id, None, profile)
        return session

    async def before_turn(self) -> None:
        """As `Host.before_turn`: the sandbox gets its whole time to live again."""
        if self._making is not None:
            await self._refresh(await self._making)

    async def end(self, *, history: bool) -> None:
        """As `Host.end`. Reading goes on until the termination is acknowledged."""
        if self._refreshing is not None:
            self._refreshing.cancel()
            await asyncio.wait({self._refreshing})
        try:
            await self._terminate()
            if self._session is not None:
                await self._session.close()
            # Only now, so that it holds all that was ever done in the sandbox.
            if history and self._conversation_id is not None:
                with _recorded(self._recorder):
                    await self._cloud.read_history(self._conversation_id)
        finally:
            await self._cloud.close()

    async def _make(self, agent_id: str, conversation_id: str) -> Sandbox:
        sandbox = await self._cloud.create_sandbox(agent_id, conversation_id)
        self._recorder.note(
            "sandbox",
            sandbox_id=sandbox.sandbox_id,
            device_id=sandbox.device_id,
            resumed=sandbox.resumed,
        )
        return sandbox

    async def _terminate(self) -> None:
        if self._making is None:
            return
        try:
            sandbox = await self._making
        except SessionError:
            self._on_progress("a sandbox that was made all the same ends when its time is over")
            return
        if not sandbox.ours:
            return
        self._on_progress(f"ending the sandbox {sandbox.sandbox_id}")
        acknowledged = False
        with _recorded(self._recorder):
            await self._cloud.terminate(sandbox)
            acknowledged = True
        self._recorder.note("terminated", acknowledged=acknowledged)

    async def _connect(
        self, sandbox: Sandbox, connection_id: str, agent_id: str, conversation_id: str
    ) -> relay.RelaySockets:
        # A second attempt, since the connection of a sandbox that just came online may change.
        with contextlib.suppress(SessionError):
            return await self._open(connection_id, agent_id, conversation_id)
        await self._refresh(sandbox)
        connection_id = await self._cloud.online(sandbox)
        return await self._open(connection_id, agent_id, conversation_id)

    async def _open(
        self, connection_id: str, agent_id: str, conversation_id: str
    ) -> relay.RelaySockets:
        addresses = urls.relay(self._base, connection_id, agent_id, conversation_id)
        return await relay.connect(addresses, self._key, self._deadlines)

    async def _refresh(self, sandbox: Sandbox) -> float:
        try:
            return await self._cloud.refresh(sandbox)
        except SessionError as error:
            self._recorder.note("refresh_failed", status=error.status)
            raise

    async def _keep(self, sandbox: Sandbox, session: Session, ttl: float) -> None:
        """Refreshes the sandbox until it is cancelled; one that has expired ends the session."""
        pause = ttl * _BEFORE_ITS_END
        while True:
            await asyncio.sleep(pause)
            try:
                pause = await self._refresh(sandbox) * _BEFORE_ITS_END
            except SessionError as error:
                if error.reason is SessionReason.EXPIRED:
                    session.fail(error)
                    return
                pause = _AFTER_A_FAILURE


@contextlib.contextmanager
def _recorded(recorder: Recorder) -> Iterator[None]:
    """What fails at the end of a run is written down and changes nothing else."""
    try:
        yield
    except SessionError as error:
        recorder.note("error", message=str(error))
