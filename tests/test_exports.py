"""What `lettafast` offers is `__all__`, and all of it is described."""

from __future__ import annotations

import dataclasses
import enum
import inspect
import types

import pytest

import lettafast


def test_public_names_are_exactly_all() -> None:
    there = {
        name
        for name, value in vars(lettafast).items()
        if not name.startswith("_") and not isinstance(value, types.ModuleType)
    }
    made = {"backend"}  # when it is first asked for
    assert (there - {"annotations"}) | made == set(lettafast.__all__) - {"__version__"}
    assert lettafast.__all__ == sorted(lettafast.__all__)
    for name in lettafast.__all__:
        assert getattr(lettafast, name) is not None
    with pytest.raises(AttributeError):
        lettafast.no_such_name  # noqa: B018 - looking is the test


def test_every_error_and_reason_is_public() -> None:
    from lettafast import errors

    for name, value in vars(errors).items():
        if not name.startswith("_") and getattr(value, "__module__", "") == errors.__name__:
            assert getattr(lettafast, name) is value


def test_every_record_is_public() -> None:
    from lettafast import records

    for name, value in vars(records).items():
        if dataclasses.is_dataclass(value):
            assert getattr(lettafast, name) is value
            assert value.__dataclass_params__.frozen
            assert hasattr(value, "__slots__")


@pytest.mark.parametrize("name", [name for name in lettafast.__all__ if name[0].isupper()])
def test_each_class_has_a_docstring(name: str) -> None:
    value = getattr(lettafast, name)
    assert (value.__doc__ or "").strip()
    # A dataclass without a docstring gets its signature as one.
    assert not value.__doc__.startswith(f"{name}(")
    if issubclass(value, enum.Enum):
        assert value.__doc__ != enum.Enum.__doc__
    for inner, method in inspect.getmembers(value):
        own = inner in vars(value) and not inner.startswith("_")
        if own and (inspect.isfunction(method) or isinstance(method, property)):
            assert inspect.getdoc(method), f"{name}.{inner}"


def test_what_receipts_offers_is_described() -> None:
    from lettafast import receipts

    for name in receipts.__all__:
        value = getattr(receipts, name)
        if callable(value):
            assert (value.__doc__ or "").strip(), name
            assert not value.__doc__.startswith(f"{name}("), name
        if dataclasses.is_dataclass(value):
            assert value.__dataclass_params__.frozen, name
            assert hasattr(value, "__slots__"), name


def test_functions_have_docstrings() -> None:
    assert lettafast.open_transcript.__doc__
    assert lettafast.__doc__


def test_the_signatures_of_the_reading_api() -> None:
    def parameters(call) -> list[tuple[str, object]]:
        return [
            (one.name, one.default)
            for one in inspect.signature(call).parameters.values()
            if one.name != "self"
        ]

    none = inspect.Parameter.empty
    transcript = lettafast.Transcript
    assert parameters(lettafast.open_transcript) == [
        ("path", none),
        ("mode", "strict"),
        ("limits", None),
    ]
    assert parameters(lettafast.Store.transcript) == [
        ("agent", none),
        ("conversation", none),
        ("mode", "strict"),
        ("limits", None),
    ]
    assert parameters(transcript.page) == [("before", None), ("limit", 50)]
    assert parameters(transcript.page_json) == [("before", None), ("limit", 50)]
    assert parameters(transcript.entries) == [("start", 0)]
    assert parameters(transcript.content) == [
        ("ref", none),
        ("part", none),
        ("start", 0),
        ("length", 1 << 20),
    ]
    assert parameters(transcript.tool_output) == [
        ("ref_or_id", none),
        ("start", 0),
        ("length", 1 << 20),
    ]
    assert parameters(transcript.refresh) == [("verify", False)]
    assert parameters(transcript.follow) == [("poll", 0.25)]
    assert parameters(transcript.follow_json) == [("poll", 0.25)]
    assert parameters(transcript.reopen) == []
    assert parameters(transcript.close) == []


def test_exit_codes_and_hints() -> None:
    codes = {
        "SourceError": 3,
        "TranscriptRefused": 1,
        "HistoryChanged": 1,
        "CursorError": 2,
        "RefError": 2,
        "BackendError": 2,
        "ReceiptError": 2,
        "ExpectedStateError": 2,
        "MetadataError": 2,
        "SigningKeyError": 2,
        "EnvelopeError": 10,
        "InternalError": 70,
    }
    for name, code in codes.items():
        error = getattr(lettafast, name)
        assert issubclass(error, lettafast.LettafastError)
        assert error.exit_code == code
    assert issubclass(lettafast.TranscriptRefused, ValueError)
    assert issubclass(lettafast.CursorError, ValueError)
    assert issubclass(lettafast.RefError, ValueError)
    assert issubclass(lettafast.BackendError, ImportError)


def test_backend_and_version() -> None:
    assert lettafast.backend in ("native", "pure")
    assert lettafast.__version__.count(".") == 2
