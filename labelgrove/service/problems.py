"""Answer errors as problem documents (RFC 9457): one table from kinds of errors to HTTP."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from labelgrove.documents.readings import describe_reading
from labelgrove.ontology.errors import (
    ConflictError,
    DefectsError,
    GroveError,
    InputError,
    JobFailedError,
    MissingExtraError,
    NotFoundError,
    QueryFailedError,
    QueryTimeoutError,
    ServiceError,
    ShrinkError,
    UnknownLabelError,
)
from labelgrove.ontology.settings import masked
from labelgrove.service.temporary import no_room

_RETRY_S = 5
"""Seconds after which a server that could not be reached may be there again."""

__all__ = ["PROBLEMS", "Problem", "busy", "problem_for", "problem_of", "problem_response"]

MEDIA_TYPE = "application/problem+json"

PROBLEMS: tuple[tuple[type[GroveError], str, HTTPStatus, int], ...] = (
    (DefectsError, "defects", HTTPStatus.UNPROCESSABLE_ENTITY, 3),
    (UnknownLabelError, "unknown-label", HTTPStatus.NOT_FOUND, 4),
    (NotFoundError, "not-found", HTTPStatus.NOT_FOUND, 4),
    (ServiceError, "unavailable", HTTPStatus.SERVICE_UNAVAILABLE, 5),
    (MissingExtraError, "missing-extra", HTTPStatus.NOT_IMPLEMENTED, 1),
    (ShrinkError, "shrinks", HTTPStatus.CONFLICT, 2),
    (InputError, "input", HTTPStatus.BAD_REQUEST, 2),
    (ConflictError, "conflict", HTTPStatus.CONFLICT, 1),
    (JobFailedError, "job-failed", HTTPStatus.CONFLICT, 1),
    (QueryTimeoutError, "query-timeout", HTTPStatus.UNPROCESSABLE_ENTITY, 1),
    (QueryFailedError, "query-failed", HTTPStatus.UNPROCESSABLE_ENTITY, 1),
    (GroveError, "failure", HTTPStatus.INTERNAL_SERVER_ERROR, 1),
)
"""For each kind of error its name in ``type``, its status, and the exit code that `grove` gives for it.

The first row that matches an error decides.
"""


class Problem(HTTPException):
    """An answer that refuses a request; its attributes are those of the problem document.

    What only some types of problems have, such as the report of defects, is in `further`.

    It is an `HTTPException` because FastAPI lets only those through while it reads a body.
    """

    headers: dict[str, str]
    further: dict[str, Any]

    def __init__(self, status: HTTPStatus, type_: str, detail: str, *, exit_code: int = 2) -> None:
        super().__init__(status, detail, headers={})
        self.status, self.type, self.exit_code = status, type_, exit_code
        self.further = {}


def busy(detail: str, retry_s: int) -> Problem:
    """Return the problem of a client that has to come again after some seconds, because others are served."""
    problem = Problem(HTTPStatus.SERVICE_UNAVAILABLE, "busy", detail, exit_code=5)
    problem.headers["Retry-After"] = str(retry_s)
    return problem


def problem_for(kind: type[GroveError], message: str, *, report: dict[str, Any] | None = None) -> Problem:
    """Return the problem that tells a client of an error of a kind; `report` lists the defects of a file."""
    _, name, status, code = next(row for row in PROBLEMS if issubclass(kind, row[0]))
    problem = Problem(status, name, masked(message), exit_code=code)
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        problem.headers["Retry-After"] = str(_RETRY_S)
    if report is not None:
        problem.further["report"] = report
    return problem


def problem_of(error: Exception) -> Problem:
    """Return the problem that tells a client of `error`."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, GroveError):
        report = error.report if isinstance(error, DefectsError) else None
        described = None if report is None else describe_reading(report, None)
        return problem_for(type(error), str(error), report=described)
    if isinstance(error, RequestValidationError):
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"][1:]) or "request"
        return Problem(HTTPStatus.BAD_REQUEST, "input", f"{where}: {first['msg']}; see /openapi.json")
    if isinstance(error, HTTPException):
        if isinstance(error.__cause__, OSError):  # a form was sound, but had no room
            return problem_of(no_room(error.__cause__))
        status = HTTPStatus(error.status_code)
        # What a body or form could not be parsed for is what a parameter is refused for.
        name = "input" if status == HTTPStatus.BAD_REQUEST else status.phrase.lower().replace(" ", "-")
        problem = Problem(status, name, f"{error.detail}; see /reference")
        problem.headers = dict(error.headers or {})
        return problem
    return Problem(
        HTTPStatus.INTERNAL_SERVER_ERROR,
        "bug",
        "the service failed; its log has the details, please report them",
        exit_code=1,
    )


def problem_document(problem: Problem, path: str = "") -> dict[str, Any]:
    """Return the document of a problem; ``next_step`` is what its detail says last.

    Clients of the Open Inference Protocol, whose paths begin with ``/v2``, read ``error`` instead.
    """
    detail = problem.detail.encode(errors="backslashreplace").decode()  # JSON may name half a character
    _, _, advice = detail.rpartition("; ")
    document = {
        "type": f"/reference#problem-{problem.type}",
        "title": problem.status.phrase,
        "status": int(problem.status),
        "detail": detail,
        "exit_code": problem.exit_code,
        "next_step": advice,
        **problem.further,
    }
    return document | {"error": detail} if path.startswith("/v2") else document


def problem_response(request: Request, error: Exception) -> JSONResponse:
    """Return the answer for an error that a route raised."""
    problem = problem_of(error)
    document = problem_document(problem, request.url.path)
    return JSONResponse(document, status_code=problem.status, media_type=MEDIA_TYPE, headers=problem.headers)
