"""The description holds of the server, and no query makes it fail."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Iterator
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from lettafast.web.openapi import DESCRIPTION
from support import NIGHTLY, RECORDINGS, error, reasoning, tool, user
from webserver import AGENT, Site, serving

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
)
EXAMPLES = 500 if NIGHTLY else 40


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """One conversation that is fine, one that is refused, and one that is not written yet."""
    root = tmp_path_factory.mktemp("root")
    with serving(root) as site:
        site.write("c", RECORDINGS[0].read_bytes() + user() + tool() + reasoning() + error())
        site.write("refused", b"{}\n")
        (root / AGENT / "unwritten").mkdir()
        yield site


def operation_of(site: Site, path: str) -> Any:
    """What schemathesis makes of one path of the description."""
    schemathesis = pytest.importorskip("schemathesis")
    schema = schemathesis.openapi.from_dict(DESCRIPTION)
    schema.config.update(base_url=site.base)
    found = (one.ok() for one in schema.get_all_operations())
    return next(one for one in found if one.path == path)


def checks() -> list[Any]:
    from schemathesis import checks as known

    return known.CHECKS.get_by_names(list(CHECKS))


PATHS = sorted(set(DESCRIPTION["paths"]) - {"/api/events"})


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.filterwarnings("ignore")  # of schemathesis's own
def test_every_answer_is_as_described(described: Site, path: str) -> None:
    operation, wanted = operation_of(described, path), checks()
    names = {"agent": [AGENT], "conversation": ["c", "refused", "unwritten", "none"]}

    @hypothesis.settings(
        max_examples=EXAMPLES, deadline=None, suppress_health_check=list(hypothesis.HealthCheck)
    )
    @hypothesis.given(case=operation.as_strategy(), data=st.data())
    def answers(case: Any, data: st.DataObject) -> None:
        for name, known in names.items():
            if name in case.path_parameters and data.draw(st.booleans(), name):
                case.path_parameters[name] = data.draw(st.sampled_from(known), name)
        case.call_and_validate(headers=described.headers, checks=wanted)

    answers()


def test_the_description_is_served_and_whole(described: Site) -> None:
    assert described.json("/api/openapi.json") == DESCRIPTION
    routes = {route.path for route in described.app.routes if route.path.startswith("/api/")}
    assert routes == set(DESCRIPTION["paths"])
    used = set(re.findall(r"#/components/schemas/(\w+)", str(DESCRIPTION)))
    assert used == set(DESCRIPTION["components"]["schemas"])
    for path, item in DESCRIPTION["paths"].items():
        named = {one["name"] for one in item["get"]["parameters"] if one["in"] == "path"}
        assert named == set(re.findall(r"{(\w+)}", path))


def test_the_conversation_is_really_reached(described: Site) -> None:
    """Else the test above would hold of anything."""
    assert len(described.json(f"/api/conversations/{AGENT}/c")["turns"]) > 2
    described.json(f"/api/conversations/{AGENT}/refused", 422)


NASTY = st.text(
    st.characters(codec="utf-8", exclude_characters="\r\n")
    | st.sampled_from(list("/%?#&=.:\\\0\ufffd\u202e\U0010ffff")),
    max_size=40,
)


@hypothesis.settings(max_examples=EXAMPLES * 4, deadline=None)
@hypothesis.given(
    route=st.sampled_from([*PATHS, "/api/events", "/", "/static/{name}", "/panes/{a}/{b}"]),
    names=st.lists(NASTY, min_size=4, max_size=4),
    query=st.lists(
        st.tuples(
            st.sampled_from("before after limit mode ref part start length watch x".split()),
            NASTY | st.integers().map(str),
        ),
        max_size=4,
    ),
)
def test_nothing_in_an_address_makes_it_fail(
    described: Site, route: str, names: list[str], query: list[tuple[str, str]]
) -> None:
    from urllib.parse import quote

    given = iter(names)
    path = re.sub(r"{\w+}", lambda _: quote(next(given), safe="/%"), route)
    params = [(name, value) for name, value in query if name != "watch" or "/" not in value]
    with described.client.stream("GET", path, params=params) as answer:
        assert answer.status_code < 500
        # The redirect that `/?start=` answers has no body and so no type.
        content_type = answer.headers.get("content-type", "")
        if content_type == "application/problem+json":
            answer.read()
            assert answer.json()["status"] == answer.status_code
        elif answer.status_code >= 400:
            assert content_type.startswith("text/html")


def test_recordings_are_read(tmp_path: pathlib.Path) -> None:
    """Every recording of the real Letta Code has a page, and every part its whole text."""
    root = pathlib.Path(RECORDINGS[0]).parents[2]
    with serving(root) as site:
        for item in site.json("/api/conversations")["conversations"]:
            assert site.get(item["href"]).status_code == 200
            page = site.json(f"/api{item['href']}")
            assert page["turns"]
