"""Problems: every error has its row, the exit code of `grove`, and one shape of document."""

import inspect
from http import HTTPStatus

import pytest
from starlette.exceptions import HTTPException

from labelgrove.cli import EXIT_CODES
from labelgrove.ontology import errors
from labelgrove.service.pages.reference import PROBLEM_TYPES
from labelgrove.service.problems import PROBLEMS, Problem, problem_document, problem_of
from labelgrove.service.schemas import ProblemDocument
from tests.unit.service.service_cases import client_of

ERRORS = [
    found for _, found in inspect.getmembers(errors, inspect.isclass) if issubclass(found, errors.GroveError)
]


@pytest.mark.parametrize("kind", ERRORS)
def test_each_error_has_the_exit_code_of_the_command_line(kind):
    assert problem_of(kind("wrong")).exit_code == next(
        code for row, code in EXIT_CODES if issubclass(kind, row)
    )


@pytest.mark.parametrize("kind", ERRORS)
def test_only_an_error_without_a_row_of_its_own_kind_is_a_failure_of_the_service(kind):
    unexpected = {
        errors.GroveError,
        errors.ArtifactError,
        errors.BundleError,
        errors.GraphDamagedError,
        errors.MigrationError,
        errors.PlatformError,
    }
    assert (problem_of(kind("wrong")).type == "failure") == (kind in unexpected)


def test_each_row_can_decide():
    kinds = [kind for kind, *_ in PROBLEMS]
    for i, kind in enumerate(kinds):
        assert not [before for before in kinds[:i] if issubclass(kind, before)], kind
    names = [name for _, name, _, _ in PROBLEMS]
    assert len(names) == len({*names})


@pytest.mark.parametrize(
    "error",
    [kind("oak: wrong; do this; then that") for kind in ERRORS]
    + [HTTPException(405, "Method"), RuntimeError("secret"), Problem(HTTPStatus.FORBIDDEN, "origin", "a; b")],
)
def test_a_document_has_the_shape_that_is_declared(error):
    document = problem_document(problem_of(error))
    assert {*document} == {
        name for name, field in ProblemDocument.model_fields.items() if field.is_required()
    }
    ProblemDocument.model_validate(document)
    assert document["detail"].endswith(document["next_step"])
    assert "secret" not in str(document)


def test_a_message_keeps_no_password():
    url = "postgresql://grove:hunter2@localhost/grove"
    assert "hunter2" not in problem_of(errors.ServiceError(f"{url} cannot be reached; start it")).detail


@pytest.mark.parametrize(
    ("url", "status", "name"),
    [
        ("/v1/ontologies/nothing", 404, "not-found"),
        ("/v1/ontologies/UPPER%00", 400, "input"),
        ("/v1/ontologies/garden/label?key=nothing", 404, "unknown-label"),
        ("/v1/ontologies/garden/label", 400, "input"),
        ("/v1/ontologies/garden?version=%25%25%25%25", 400, "input"),
        ("/v1/ontologies/garden?version=ffffffff", 404, "not-found"),
        ("/v1/ontologies/grid/children?key=0,0", 400, "input"),
        ("/v1/ontologies/grid/window", 400, "input"),
        ("/v1/ontologies/grid/map", 400, "input"),
        ("/v1/jobs/____", 404, "not-found"),
        ("/v1/jobs?state=tired", 400, "input"),
        ("/nowhere", 404, "not-found"),
        ("/static/../app.py", 404, "not-found"),
    ],
)
def test_a_refusal_is_a_problem_document(reader, url, status, name):
    answer = reader.get(url)
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
    assert answer.json()["type"] == f"/reference#problem-{name}"
    assert answer.json()["status"] == status


def test_a_fault_is_a_problem_document_without_its_cause(filled):
    with client_of(filled, raising=False) as client:
        client.app.state.shared = None  # a fault of the program: routes find no workspace
        answer = client.get("/v1/ontologies")
    assert (answer.status_code, answer.json()["type"]) == (500, "/reference#problem-bug")
    assert "NoneType" not in answer.text
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_each_type_of_problem_is_told_once():
    names = [name for name, _, _ in PROBLEM_TYPES]
    assert sorted(names) == sorted({*names})
