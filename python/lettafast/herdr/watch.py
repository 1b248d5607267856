"""What a herdr session shows, as it changes.

Events only say when to look: a changed report makes none, and some are lost. So
herdr is asked every `poll` seconds too, and sooner after an event. Events are
subscribed to before the first look, so that nothing happens in between unseen.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Generator
from typing import TYPE_CHECKING, TypeAlias

from lettafast.errors import HerdrError, HerdrRefused

from .client import Herdr, Subscription
from .records import Snapshot, Unavailable

if TYPE_CHECKING:  # asyncio is loaded only by who uses it
    from .aio import AsyncHerdr, AsyncSubscription

Change: TypeAlias = Snapshot | Unavailable

SHORTEST_GAP = 0.2
"""Seconds between two looks at least, however many events come."""
LONGEST_PAUSE = 10.0
"""Seconds between two tries at most, while herdr is away."""
REFUSED_PAUSE = 30.0
"""Seconds until events are asked for again that herdr refused."""


def changes(herdr: Herdr, poll: float = 1.0) -> Generator[Change, None, None]:
    """A `Snapshot` at first and whenever it differs from the one before; never ends.

    An `Unavailable` when herdr cannot be asked, once for each reason; it is then
    tried again, less and less often. A herdr that refuses the subscription is only
    polled. Closing the iterator closes its connection.
    """
    pace = _Pace(poll)
    subscription: Subscription | None = None
    try:
        while True:
            try:
                if subscription is None and pace.subscribes():
                    subscription = herdr.subscribe()
            except HerdrError as error:
                pace.no_events(error)
            if (change := pace.news(_look(herdr))) is not None:
                yield change
            try:
                _wait(subscription, pace)
            except HerdrError as error:
                pace.no_events(error)
                if subscription is not None:
                    subscription.close()
                subscription = None
    finally:
        if subscription is not None:
            subscription.close()


async def changes_async(herdr: AsyncHerdr, poll: float = 1.0) -> AsyncGenerator[Change, None]:
    """`changes` for asyncio; close it with `aclose` (`contextlib.aclosing`)."""
    pace = _Pace(poll)
    subscription: AsyncSubscription | None = None
    try:
        while True:
            try:
                if subscription is None and pace.subscribes():
                    subscription = await herdr.subscribe()
            except HerdrError as error:
                pace.no_events(error)
            if (change := pace.news(await _look_async(herdr))) is not None:
                yield change
            try:
                await _wait_async(subscription, pace)
            except HerdrError as error:
                pace.no_events(error)
                if subscription is not None:
                    await subscription.close()
                subscription = None
    finally:
        if subscription is not None:
            await subscription.close()


class _Pace:
    """When to look, when to subscribe, and whether what was seen is new."""

    def __init__(self, poll: float) -> None:
        self._poll = poll
        self._gap = min(poll, SHORTEST_GAP)
        self._seen: Change | None = None
        self._looked = 0.0
        self._pause = 0.0
        self._subscribe_at = 0.0

    def subscribes(self) -> bool:
        """Whether it is time to ask for events."""
        return time.monotonic() >= self._subscribe_at

    def no_events(self, error: HerdrError) -> None:
        """The subscription was refused or ended."""
        refused = isinstance(error, HerdrRefused) and error.reason == "invalid_request"
        self._subscribe_at = time.monotonic() + (REFUSED_PAUSE if refused else self._poll)

    def news(self, found: Change) -> Change | None:
        """What was found, if it is another than before."""
        self._looked = time.monotonic()
        if isinstance(found, Unavailable):
            self._pause = min(max(self._pause * 2, self._gap), LONGEST_PAUSE)
            if isinstance(self._seen, Unavailable) and self._seen.reason == found.reason:
                return None
        else:
            self._pause = 0.0
        if found == self._seen:
            return None
        self._seen = found
        return found

    def until_next(self) -> float:
        """Seconds to the next look where no event comes."""
        away = isinstance(self._seen, Unavailable)
        return max(0.0, self._looked + (self._pause if away else self._poll) - time.monotonic())

    def until_soonest(self) -> float:
        """Seconds to the next look after an event."""
        return max(0.0, self._looked + self._gap - time.monotonic())


def _look(herdr: Herdr) -> Change:
    try:
        return herdr.snapshot()
    except HerdrError as error:
        return Unavailable(str(error.reason), str(error))


async def _look_async(herdr: AsyncHerdr) -> Change:
    try:
        return await herdr.snapshot()
    except HerdrError as error:
        return Unavailable(str(error.reason), str(error))


def _wait(subscription: Subscription | None, pace: _Pace) -> None:
    if subscription is None:
        time.sleep(pace.until_next())
    elif subscription.wait(pace.until_next()) is not None:
        # What follows at once is seen by the same look.
        while (left := pace.until_soonest()) and subscription.wait(left) is not None:
            pass


async def _wait_async(subscription: AsyncSubscription | None, pace: _Pace) -> None:
    if subscription is None:
        import asyncio

        await asyncio.sleep(pace.until_next())
    elif await subscription.wait(pace.until_next()) is not None:
        while (left := pace.until_soonest()) and await subscription.wait(left) is not None:
            pass
