"""The OpenAPI document: whatever it allows is answered as it declares, and everything in it is documented."""

from __future__ import annotations

import re
import shutil
from dataclasses import fields
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import schemathesis
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.service.app import make_app
from labelgrove.service.limits import Limits
from labelgrove.service.problems import PROBLEMS
from tests.unit.service.service_cases import GARDEN, MANUAL, URL, client_of, settings_of, sign_in

pytestmark = pytest.mark.long

EXAMPLES = 6
"""Requests for each route, beside those that name what exists; 28 routes answer them in seconds."""

CHECKS = (
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
)

KEYS = ("key", "from", "to", "focus", "under", "name", "q")


def _document() -> dict[str, Any]:
    with Workspace.open(settings_of(Path("/nowhere"))) as workspace:
        return make_app(workspace).openapi()


DOCUMENT = _document()

OPERATIONS = [(path, method) for path, methods in DOCUMENT["paths"].items() for method in methods]


@pytest.fixture(scope="module")
def asked(filled, tmp_path_factory):
    """Return the schema of an application over a copy of the filled home, and headers of its owner."""
    home = tmp_path_factory.mktemp("openapi") / "home"
    shutil.copytree(filled, home)
    with client_of(home, Limits(requests_per_second=0, cypher_s=5.0), raising=False) as client:
        session = sign_in(client)
        yield (
            schemathesis.openapi.from_asgi("/openapi.json", client.app, headers={"Host": "localhost"}),
            session,
        )


@st.composite
def requests(draw: st.DrawFn, operation: Any) -> Any:
    """Return a request that the document allows; most ask about labels that exist."""
    case = draw(operation.as_strategy())
    if "{ontology}" in operation.path and draw(st.integers(0, 3)):
        case.path_parameters["ontology"] = "garden"
        for name in {*KEYS} & {*(case.query or {})}:
            case.query[name] = draw(st.sampled_from([*GARDEN.keys, "no such label"]))
        case.query.pop("version", None)
    return case


ENDING = [(path, method) for path, method in OPERATIONS if not path.endswith("/events")]
"""All but streams, which never end; `tests/integration/test_serve_streams.py` reads them."""


@pytest.mark.parametrize(("path", "method"), ENDING, ids=[f"{m} {p}" for p, m in ENDING])
def test_whatever_is_allowed_is_answered_as_declared(asked, path, method):
    schema, session = asked
    operation = schema[path][method.upper()]

    @hypothesis.settings(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=[*hypothesis.HealthCheck],
    )
    @hypothesis.given(requests(operation))
    def check(case: Any) -> None:
        headers = {"Authorization": f"Bearer {session}", "Host": "localhost"}
        answer = case.call(base_url=URL, headers=headers)
        case.validate_response(answer, checks=CHECKS)

    check()


@pytest.mark.parametrize(("path", "method"), OPERATIONS, ids=[f"{m} {p}" for p, m in OPERATIONS])
def test_a_route_says_what_it_does_and_what_each_parameter_means(path, method):
    operation = DOCUMENT["paths"][path][method]
    assert operation["summary"]
    assert operation["description"].endswith((".", "`."))
    assert operation["tags"]
    assert [one["name"] for one in operation.get("parameters", []) if not one.get("description")] == []


def test_every_route_is_documented_and_every_documented_route_exists():
    named = set(re.findall(r"^\| `((?:GET|POST|DELETE) /[^`?]*)", MANUAL, re.M))
    assert named == {f"{method.upper()} {path}" for path, method in OPERATIONS} | {
        "GET /openapi.json",
        "GET /enter",
        "POST /sign-in",
        "POST /sign-out",
    }


def test_every_limit_and_every_problem_is_documented():
    named = {
        name for row in re.findall(r"^\| (`.*?) \|", MANUAL, re.M) for name in re.findall(r"`([^`]+)`", row)
    }
    assert {field.name for field in fields(Limits)} <= named
    assert {name for _, name, _, _ in PROBLEMS} <= named
    assert {"host", "origin", "body", "rate", "link", "not-signed-in", "scope", "proxy", "bug"} <= named


def test_the_limits_that_the_page_states_are_those_of_the_service():
    table = MANUAL.partition("## Limits")[2].partition("\n## ")[0]
    for name, value in re.findall(r"^\| `(\w+)` \| ([\d,]+)", table, re.M):
        assert getattr(Limits(), name) == int(value.replace(",", "")), name
