"""The records that pages are made of."""

from __future__ import annotations

import dataclasses
import inspect

import pytest

import lettafast
from lettafast.transcript import _OpenPart, _part


def test_a_part_is_filled_as_it_would_be_made() -> None:
    """The class that is filled in its place takes the same members, with the same defaults."""
    own = {
        name: parameter.default
        for name, parameter in inspect.signature(lettafast.Part).parameters.items()
    }
    filled = dict(inspect.signature(_OpenPart).parameters)
    assert {name: parameter.default for name, parameter in filled.items()} == own
    raw = {name: f"its {name}" for name in own}
    part = _part(raw)
    assert part == lettafast.Part(**raw)
    assert type(part) is lettafast.Part
    assert hash(part) == hash(lettafast.Part(**raw))
    with pytest.raises(dataclasses.FrozenInstanceError):
        part.text = "another"  # type: ignore[misc]
