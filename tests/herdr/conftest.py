"""A herdr double, and the blocking and the asyncio client behind one face."""

from __future__ import annotations

import asyncio
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest

from double import HerdrDouble
from lettafast.herdr import watch
from lettafast.herdr.aio import AsyncHerdr, AsyncSubscription
from lettafast.herdr.client import Herdr, Subscription
from lettafast.herdr.records import Event


class BlockingFace:
    """`call`, `subscribe` and `changes` of the blocking client."""

    def __init__(self, path: str, deadline: float) -> None:
        self.herdr = Herdr(path, deadline)

    def call(self, name: str, *arguments: Any) -> Any:
        return getattr(self.herdr, name)(*arguments)

    def subscribe(self, *arguments: Any) -> Subscription:
        return self.herdr.subscribe(*arguments)

    def changes(self, poll: float) -> Iterator[Any]:
        return watch.changes(self.herdr, poll)

    def end(self) -> None:
        pass


class AsyncFace:
    """The same of the asyncio client, in a loop of its own."""

    def __init__(self, path: str, deadline: float) -> None:
        self.loop = asyncio.new_event_loop()
        self.herdr = AsyncHerdr(path, deadline)

    def call(self, name: str, *arguments: Any) -> Any:
        return self.loop.run_until_complete(getattr(self.herdr, name)(*arguments))

    def subscribe(self, *arguments: Any) -> AwaitedSubscription:
        return AwaitedSubscription(self.loop, self.call("subscribe", *arguments))

    def changes(self, poll: float) -> Iterator[Any]:
        found = watch.changes_async(self.herdr, poll)
        try:
            while True:
                yield self.loop.run_until_complete(found.__anext__())
        finally:
            self.loop.run_until_complete(found.aclose())

    def end(self) -> None:
        assert not asyncio.all_tasks(self.loop)
        self.loop.close()


class AwaitedSubscription:
    def __init__(self, loop: asyncio.AbstractEventLoop, subscription: AsyncSubscription) -> None:
        self.loop = loop
        self.subscription = subscription

    def wait(self, seconds: float | None = None) -> Event | None:
        return self.loop.run_until_complete(self.subscription.wait(seconds))

    def close(self) -> None:
        self.loop.run_until_complete(self.subscription.close())

    def __enter__(self) -> AwaitedSubscription:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@pytest.fixture
def socket_file(tmp_path: pathlib.Path) -> str:
    return str(tmp_path / "herdr.sock")


@pytest.fixture
def double(socket_file: str) -> Iterator[HerdrDouble]:
    with HerdrDouble(socket_file) as double:
        yield double


@pytest.fixture(params=[BlockingFace, AsyncFace], ids=["blocking", "asyncio"])
def connect(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Makes a client of a path, of each sort in turn."""
    made = []

    def connect(path: str, deadline: float = 5.0) -> Any:
        made.append(request.param(path, deadline))
        return made[-1]

    yield connect
    for face in made:
        face.end()


@pytest.fixture
def herdr(connect: Any, double: HerdrDouble) -> Any:
    """A client of `double`."""
    return connect(double.path)
