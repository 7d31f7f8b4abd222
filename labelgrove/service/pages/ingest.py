"""The page that takes a file: it shows every defect, and submits the job that ingests the file."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Form, Request
from starlette.responses import Response

from labelgrove.ontology.errors import GroveError
from labelgrove.service.access.identity import actor_of, needs
from labelgrove.service.pages.rendering import PageRoute, command, document_of, render
from labelgrove.service.problems import Problem, problem_document, problem_of
from labelgrove.service.routes import uploads
from labelgrove.service.state import Shared

__all__ = ["router"]

router = APIRouter(
    prefix="/ingest", route_class=PageRoute, include_in_schema=False, dependencies=[needs("read")]
)

_EMPTY: dict[str, Any] = {"ontology": "", "root": "root", "shrink": False, "policies": {}}
_EMPTY |= dict.fromkeys(("format", "direction", "delimiter", "relation", "language"), "")


@router.get("")
def show(request: Request) -> Response:
    """Show the form."""
    return _page(request, _EMPTY, None)


@router.post("", dependencies=[needs("admin")])
def send(
    request: Request,
    shared: Shared,
    ontology: Annotated[str, Form(max_length=64)],
    file: uploads.Upload,
    reading: Annotated[uploads.Reading, Depends()],
    action: Annotated[Literal["validate", "ingest"], Form()] = "validate",
    shrink: Annotated[bool, Form()] = False,
) -> Response:
    """Validate or ingest an upload as the routes do, and show the report below the form."""
    given = _EMPTY | {"ontology": ontology, "shrink": shrink} | reading.options
    outcome: dict[str, Any] = {"action": action, "file": file.filename or "FILE"}
    try:
        if action == "validate":
            outcome["report"] = document_of(uploads.validate(shared, ontology, file, reading))
        else:
            answered = document_of(uploads.ingest(shared, ontology, file, reading, shrink))
            outcome |= answered
            request.state.job = answered["job"]  # for the audit
    except (GroveError, Problem) as error:
        problem = problem_document(problem_of(error))
        outcome |= {"report": problem["report"]} if "report" in problem else {"problem": problem}
    return _page(request, given, outcome)


def _page(request: Request, given: dict[str, Any], outcome: dict[str, Any] | None) -> Response:
    # Not at the top: a service starts without the readers, which read in processes of their own.
    from labelgrove.ontology.readers.asking import FORMATS
    from labelgrove.ontology.readers.defectrules import RULES

    name = given["ontology"] or "NAME"
    typed = ["ingest", name, (outcome or {}).get("file", "FILE")]
    typed += [f"--{option}={given[option]}" for option in ("format", "direction") if given[option]]
    typed += [f"--policy={code}={word}" for code, word in given["policies"].items()]
    return render(
        request,
        "ingest.html",
        title="Ingest",
        section="ingest",
        twin=f"/v1/ontologies/{name}/{(outcome or {}).get('action', 'validate')}" if outcome else None,
        cli=command(*typed),
        formats=sorted(FORMATS),
        rules=RULES,
        given=given,
        outcome=outcome,
        may_ingest="admin" in actor_of(request).scopes,
    )
