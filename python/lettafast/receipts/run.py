"""A whole run: what was expected, the two turns, and the verdict that its own log gives."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from lettafast.errors import SessionError, SessionReason, SourceError, SourceReason

from . import urls
from .deadlines import Deadlines
from .expected import ExpectedState
from .frames import FRAMES, FrameLog
from .gate import Gate
from .hosts import CloudHost, DirectHost, Host
from .judgement import Profile
from .plan import Plan, challenge_message, make_plan, opening_message
from .recorder import Recorder
from .secret import Secret
from .stopping import Stopping
from .verify import Expectation, Judgement, judge

_NONCE_BYTES = 16


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What to run, and where.

    `app_server` is the address of one App Server, which is used instead of Letta Cloud; then no
    `api_key` is needed. `out` is the folder that the log is written to.
    """

    state: ExpectedState
    url: str
    kind: str
    agent_id: str
    out: str
    pipeline_id: str | None = None
    model: str | None = None
    api_key: Secret | None = None
    base_url: str = urls.LETTA_CLOUD
    app_server: str | None = None
    profile: Profile = "strict"
    deadlines: Deadlines = field(default_factory=Deadlines)


@dataclass(frozen=True, slots=True)
class RunResult:
    """The verdict, and the log that it follows from; `stopped_by` is the signal that ended it."""

    judgement: Judgement
    frames_path: str
    head: str
    frames_sha256: str
    stopped_by: signal.Signals | None


async def run_receipt(
    options: RunOptions, on_progress: Callable[[str], None] = lambda _: None
) -> RunResult:
    """Runs the plan and judges its log.

    What fails once the run has begun is in the log, and the verdict says it. Raises `SessionError`
    where it cannot begin (`no_key`, `insecure_url`), `PlanError` where there is nothing to run, and
    `SourceError` where the log is there already or cannot be written. Being cancelled, it ends its
    sandbox first. Variables that are the key are taken out of `os.environ`, since `letta-client`
    starts a program that would inherit them.
    """

    def tell(text: str) -> None:
        # A sandbox is to be ended, whether or not anyone can be told.
        with contextlib.suppress(Exception):
            on_progress(text)

    if options.app_server is not None:
        urls.app_server(options.app_server)
    else:
        urls.cloud_base(options.base_url)
        _key(options).out_of_environment(os.environ)
    plan = make_plan(options.state, options.url, secrets.token_hex(_NONCE_BYTES), options.kind)
    path = os.path.join(options.out, FRAMES)
    try:
        os.makedirs(options.out, exist_ok=True)
        log = FrameLog(path)
    except OSError as error:
        raise SourceError(SourceReason.IO, path, error.errno or 0) from None
    try:
        recorder = Recorder(log, options.api_key)
        host = _host(options, recorder, tell)
        stopped_by = await _Run(options, plan, host, recorder, tell).run()
    finally:
        log.close()
    if recorder.failure is not None:
        raise SourceError(SourceReason.IO, path, recorder.failure.errno or 0)
    expectation = Expectation(
        options.state,
        options.url,
        options.agent_id,
        options.kind,
        options.profile,
        _session_of(options),
    )
    judgement = judge(expectation, log.frames)
    return RunResult(judgement, path, log.head, log.sha256, stopped_by)


def _session_of(options: RunOptions) -> str:
    return "cloud" if options.app_server is None else "app-server"


def _host(options: RunOptions, recorder: Recorder, on_progress: Callable[[str], None]) -> Host:
    if options.app_server is not None:
        return DirectHost(options.app_server, recorder, options.deadlines, on_progress)
    base = urls.cloud_base(options.base_url)
    return CloudHost(base, _key(options), recorder, options.deadlines, on_progress)


def _key(options: RunOptions) -> Secret:
    if options.api_key is None:
        raise SessionError(SessionReason.NO_KEY, "LETTA_API_KEY")
    return options.api_key


class _Run:
    """What is done between the first and the last line of the log."""

    def __init__(
        self,
        options: RunOptions,
        plan: Plan,
        host: Host,
        recorder: Recorder,
        on_progress: Callable[[str], None],
    ) -> None:
        self._options = options
        self._host = host
        self._recorder = recorder
        self._on_progress = on_progress
        self._plan = plan

    async def run(self) -> signal.Signals | None:
        """The signal that ended it, or None. Whatever happens, the host is ended."""
        begun = time.monotonic()
        self._begin()
        with Stopping(self._told) as stopping:
            work = asyncio.create_task(self._turns())
            cancelled = await self._live(work, stopping)
            history = not cancelled and stopping.signal is None
            ending = asyncio.create_task(self._host.end(history=history))
            cancelled |= await _to_its_end(ending)
        self._recorder.note("end", duration_ms=round((time.monotonic() - begun) * 1000))
        for task in (work, ending):
            error = None if task.cancelled() else task.exception()
            if error is not None and not isinstance(error, SessionError):
                raise error
        if cancelled:
            raise asyncio.CancelledError
        return stopping.signal

    def _begin(self) -> None:
        options = self._options
        self._recorder.note(
            "begin",
            version=1,
            profile=options.profile,
            agent_id=options.agent_id,
            model=options.model,
            url=options.url,
            commit=options.state.commit,
            tree=options.state.tree,
            names=list(options.state.names),
            kind=options.kind,
            nonce=self._plan.nonce,
            session=_session_of(self._options),
            pipeline_id=options.pipeline_id,
        )

    async def _live(self, work: asyncio.Task[None], stopping: Stopping) -> bool:
        """Awaits the work, a signal or the deadline; whether the caller cancelled it meanwhile."""
        deadlines = self._options.deadlines
        asked = asyncio.create_task(stopping.asked.wait())
        cancelled = False
        try:
            await asyncio.wait(
                {work, asked},
                timeout=deadlines.total - deadlines.ending,
                return_when=asyncio.FIRST_COMPLETED,
            )
        except asyncio.CancelledError:
            cancelled = True
        asked.cancel()
        if stopping.signal is not None:
            self._failed(SessionError(SessionReason.STOPPED, stopping.signal.name))
        elif cancelled:
            self._failed(SessionError(SessionReason.STOPPED, "cancelled"))
        elif not work.done():
            self._recorder.note("deadline", waiting_for="the whole run")
            self._failed(SessionError(SessionReason.DEADLINE, "the whole run"))
        cancelled |= await _cancelled(work)
        error = None if work.cancelled() else work.exception()
        if isinstance(error, SessionError):
            self._failed(error)
        elif error is not None:
            self._recorder.note("error", message=type(error).__name__)
        return cancelled

    async def _turns(self) -> None:
        options = self._options
        session = await self._host.begin(options.agent_id, options.model, options.profile)
        plan = self._plan
        gate = Gate(plan)
        await self._host.before_turn()
        self._on_progress("first turn: the commit is fetched and looked at")
        await session.turn(opening_message(plan), gate, options.deadlines.first_turn)
        # Profile seed does not ask which call did what.
        if options.profile == "strict" and not session.has_final(plan.steps[-1].command):
            self._on_progress("the first turn ended before the last step: nothing more is asked")
            return
        await self._host.before_turn()
        challenge = secrets.token_hex(_NONCE_BYTES)
        plan = plan.challenged(challenge)
        gate.challenged(plan)
        self._recorder.note("challenge", challenge=challenge)
        self._on_progress("second turn: the challenge")
        await session.turn(challenge_message(plan), gate, options.deadlines.second_turn)
        await session.sync()

    def _failed(self, error: SessionError) -> None:
        self._recorder.note("error", message=str(error))
        self._on_progress(str(error))

    def _told(self, name: str, first: bool) -> None:
        self._on_progress(
            f"{name}: ending the session" if first else f"{name}: the session is being ended"
        )


async def _cancelled(task: asyncio.Task[None]) -> bool:
    """Ends a task that has not ended; whether the caller was cancelled meanwhile.

    Asked more than once, since `asyncio.wait_for` can lose a cancellation before Python 3.12.
    """
    cancelled = False
    while not task.done():
        task.cancel()
        cancelled |= await _wait(task, 1.0)
    return cancelled


async def _to_its_end(task: asyncio.Task[None]) -> bool:
    """Awaits a task whose own waits are bounded; whether the caller was cancelled meanwhile."""
    cancelled = False
    while not task.done():
        cancelled |= await _wait(task, None)
    return cancelled


async def _wait(task: asyncio.Task[None], seconds: float | None) -> bool:
    try:
        await asyncio.wait({task}, timeout=seconds)
    except asyncio.CancelledError:
        return True
    return False
