"""Facts from the files of `fixtures/binding`: a base, what is changed in it, and the verdict."""

from __future__ import annotations

import copy
import json
import pathlib
import types
import typing
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from lettafast.binding.facts import Facts, Problem
from lettafast.binding.verdict import Reason
from support import ROOT

FOLDER = ROOT / "fixtures" / "binding"
FILES = {path.stem: path for path in sorted(FOLDER.glob("*.json"))}


def base(name: str) -> dict[str, Any]:
    return json.loads((FOLDER / "bases" / f"{name}.json").read_text("utf-8"))


def case(path: pathlib.Path) -> tuple[Facts, dict[str, str]]:
    """The facts of a file, and the verdict that it states."""
    said = json.loads(path.read_text("utf-8"))
    found = base(said["base"])
    for name, value in said["change"].items():
        holder, last = _place(found, name)
        holder[last] = copy.deepcopy(value)
    for name in said.get("remove", ()):
        holder, last = _place(found, name)
        del holder[last]
    return facts(found), said["verdict"]


def facts(said: Mapping[str, Any]) -> Facts:
    """Facts from their members as JSON has them."""
    found = _read(Facts, said)
    assert isinstance(found, Facts)
    return found


def _place(found: Any, name: str) -> tuple[Any, Any]:
    """What holds the member that is named by a path such as `lettas.0.environ.PWD`."""
    *way, last = name.split(".")
    for step in way:
        found = found[int(step) if isinstance(found, list) else step]
    return found, int(last) if isinstance(found, list) else last


def _read(kind: Any, said: Any) -> Any:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        return _read_one_of(arguments, said)
    if origin is tuple:
        return tuple(_read(arguments[0], one) for one in said)
    if origin is frozenset:
        return frozenset(_read(arguments[0], one) for one in said)
    if origin is not None and issubclass(origin, Mapping):
        return {name: _read(arguments[1], one) for name, one in said.items()}
    if is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        assert said.keys() <= hints.keys(), said.keys() - hints.keys()
        return kind(**{name: _read(hints[name], one) for name, one in said.items()})
    if kind is Reason:
        return Reason(said)
    assert isinstance(said, (int, float) if kind is float else kind), (kind, said)
    return said


def _read_one_of(kinds: tuple[Any, ...], said: Any) -> Any:
    if said is None:
        assert type(None) in kinds
        return None
    if isinstance(said, dict) and said.keys() == {one.name for one in fields(Problem)}:
        return _read(Problem, said)
    (kind,) = (one for one in kinds if one not in (type(None), Problem))
    return _read(kind, said)
