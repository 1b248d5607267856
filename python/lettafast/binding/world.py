"""Every pane of every provider, and the lettas in front of each."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import TypeAlias

from lettafast.errors import ProviderError
from lettafast.herdr.records import DescribedProcess

from .facts import Problem, ProcessFacts
from .pane import Pane
from .process import RunningLetta, lettas_in, running_lettas
from .providers import Provider, is_gone, problem_of


@dataclass(frozen=True, slots=True)
class SeenPane:
    """A pane, what its provider says runs in front, and which of that are lettas here."""

    provider: Provider
    pane: Pane
    foreground: tuple[DescribedProcess, ...]
    in_our_pid_namespace: bool
    lettas: tuple[ProcessFacts, ...]

    @property
    def runs_letta(self) -> bool:
        """Whether a letta runs in front: by its processes or, where those are hidden, by label."""
        if self.in_our_pid_namespace and self.foreground:
            return bool(self.lettas)
        return self.pane.agent == "letta"

    @property
    def letta_folders(self) -> tuple[str, ...]:
        """The real path of each letta's folder; what is said where processes are hidden."""
        if self.lettas or not self.runs_letta:
            return tuple(letta.folder.path for letta in self.lettas if letta.folder is not None)
        return () if self.pane.cwd is None else (os.path.realpath(self.pane.cwd),)


_Found: TypeAlias = list[SeenPane] | Problem | None


@dataclass(frozen=True, slots=True)
class World:
    """All providers as they were seen, each for itself."""

    panes: tuple[SeenPane, ...]
    answered: frozenset[Provider]
    """Those that told of their panes."""
    unseen: Mapping[Provider, Problem]
    """Why one that is there could not be seen."""
    running: tuple[RunningLetta, ...]
    """Every letta that runs here, in a pane or not."""


def look_around(providers: Iterable[Provider]) -> World:
    """Asks all providers at once for their panes, and looks at the processes in front of them.

    So one that does not answer holds up the others no longer than its own deadline.
    """
    panes: list[SeenPane] = []
    answered, unseen = set(), {}
    asked = [(provider, _in_a_thread(provider)) for provider in providers]
    for provider, answer in asked:
        found = answer.result()
        if isinstance(found, Problem):
            unseen[provider] = found
        elif found is not None:
            answered.add(provider)
            panes.extend(found)
    running = running_lettas() if any(pane.lettas for pane in panes) else ()
    return World(tuple(panes), frozenset(answered), unseen, running)


def labelled(provider: Provider, pane: Pane, lettas: tuple[ProcessFacts, ...]) -> Pane:
    """The pane with the agent that lettafast sees in front, where its provider looks for none."""
    return pane if provider.reports else replace(pane, agent="letta" if lettas else None)


def _in_a_thread(provider: Provider) -> Future[_Found]:
    """What `_panes` gives; the thread is a daemon, since nobody waits for it after Ctrl-C."""
    answer: Future[_Found] = Future()

    def ask() -> None:
        try:
            answer.set_result(_panes(provider))
        except BaseException as error:  # noqa: BLE001 - raised where the answer is taken
            answer.set_exception(error)

    threading.Thread(target=ask, name="lettafast-look", daemon=True).start()
    return answer


def _panes(provider: Provider) -> _Found:
    """All panes of a provider; None where it is gone."""
    try:
        panes = provider.panes()
        here = provider.shares_pids()
        return [
            _seen(provider, pane, foreground, here=here)
            for pane, foreground in zip(panes, provider.foregrounds(panes), strict=True)
        ]
    except ProviderError as error:
        return None if is_gone(error) else problem_of(error)


def _seen(
    provider: Provider, pane: Pane, foreground: tuple[DescribedProcess, ...], *, here: bool
) -> SeenPane:
    """What runs in front of a pane; asked once more where provider and kernel do not agree."""
    found = _looked_at(provider, pane, foreground, here=here)
    if _agrees(found):
        return found
    (foreground,) = provider.foregrounds([pane])
    return _looked_at(provider, pane, foreground, here=here)


def _looked_at(
    provider: Provider, pane: Pane, foreground: tuple[DescribedProcess, ...], *, here: bool
) -> SeenPane:
    lettas = lettas_in(process.pid for process in foreground) if here else ()
    return SeenPane(provider, labelled(provider, pane, lettas), foreground, here, lettas)


def _agrees(found: SeenPane) -> bool:
    """Whether no letta moved, or executed something else, since it was described."""
    described = {process.pid: process for process in found.foreground}
    return all(
        described[letta.identity.pid].argv in (None, letta.argv)
        and letta.folder is not None
        and described[letta.identity.pid].cwd in (None, letta.folder.path)
        for letta in found.lettas
    )
