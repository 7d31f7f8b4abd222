"""Pages that request a job, at once or at set times, from a form with the parameters of its kind."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from starlette.datastructures import UploadFile
from starlette.responses import RedirectResponse, Response

from labelgrove.documents.kinds import describe_parameter
from labelgrove.documents.schedules import describe_schedules
from labelgrove.ontology.errors import GroveError, InputError
from labelgrove.service.access.identity import needs
from labelgrove.service.pages.rendering import PageRoute, body_of, command, document_of, render, url
from labelgrove.service.problems import Problem, problem_document, problem_of
from labelgrove.service.routes import schedules, submitting
from labelgrove.service.state import Shared, State
from labelgrove.workers.kinds import JobKind, kind_named, known_kinds
from labelgrove.workers.kinds.parameters import Parameter, is_digest, value_of

__all__ = ["router"]

router = APIRouter(
    prefix="/jobs", route_class=PageRoute, include_in_schema=False, dependencies=[needs("read")]
)

_MOST_FIELDS = 100
_PURPOSES = {
    "bundle": "what a model server needs to answer with all labels",
    "cover": "the fewest classes from which all labels can be answers",
    "distances": "how far labels are from each other",
    "locus": "the labels that a model with these classes can answer with",
    "selection": "which classes to collect next, and how many labels each adds",
    "summary": "a huge graph as a small one",
}
_PARAMETER = "p."


async def _form(request: Request) -> dict[str, str]:
    form = await request.form(max_files=0, max_fields=_MOST_FIELDS)
    return {name: value for name, value in form.items() if not isinstance(value, UploadFile)}


Given = Annotated[dict[str, str], Depends(_form)]


@router.get("/new")
def show(request: Request, shared: Shared, kind: str | None = None, ontology: str = "") -> Response:
    """Show the form of a kind."""
    chosen = kind_named(kind) if kind else _offered()[0]
    return _page(request, shared, chosen, {_PARAMETER + "ontology": ontology})


@router.post("/new", dependencies=[needs("work")])
def send(request: Request, shared: Shared, given: Given) -> Response:
    """Estimate a job, submit it, or add a schedule of it; what is refused is told below the form."""
    chosen = kind_named(given.get("kind", ""))
    said: dict[str, Any] = {}
    try:
        asked = {"kind": chosen.name, "parameters": _parameters(chosen, given), "target": _target(given)}
        job = body_of(submitting.JobRequest, **asked)
        match given.get("action"):
            case "submit":
                made = document_of(submitting.submit(shared, job))["id"]
                request.state.job = made  # for the audit
                return RedirectResponse(url("jobs", made), status_code=HTTPStatus.SEE_OTHER)
            case "schedule":
                times = {name: given.get(name, "").strip() for name in ("name", "cron")}
                schedules.add(shared, body_of(schedules.ScheduleRequest, **asked, **times))
                return RedirectResponse("/jobs/schedules", status_code=HTTPStatus.SEE_OTHER)
        if chosen.estimate is None:
            said = {"without_estimate": True}
        else:
            said = {"estimated": submitting.estimate(shared, job)}
    except (GroveError, Problem) as error:
        said = {"problem": problem_document(problem_of(error))}
    return _page(request, shared, chosen, given, **said)


@router.get("/schedules")
def show_schedules(request: Request, shared: Shared) -> Response:
    """Show the schedules."""
    return render(
        request,
        "schedules.html",
        title="Schedules",
        section="jobs",
        twin="/v1/schedules",
        cli=command("jobs", "schedule", "list"),
        schedules=describe_schedules(shared.workspace),
    )


@router.post("/schedules/{schedule}/remove", dependencies=[needs("work")])
def remove_schedule(shared: Shared, schedule: schedules.ScheduleName) -> Response:
    """Remove a schedule, and show the others."""
    schedules.remove(shared, schedule)
    return RedirectResponse("/jobs/schedules", status_code=HTTPStatus.SEE_OTHER)


def _offered() -> list[JobKind]:
    """Return the kinds of jobs that can be submitted here: about an ontology, and without files."""
    return [kind for kind in known_kinds() if _is_offered(kind)]


def _is_offered(kind: JobKind) -> bool:
    named = {parameter["name"]: parameter for parameter in map(describe_parameter, kind.parameters)}
    needs_file = any(named[one.name]["required"] for one in kind.parameters if one.file)
    return "ontology" in named and kind.name != "ingest" and not needs_file


def _asked_of_people(kind: JobKind) -> list[Parameter]:
    return [parameter for parameter in kind.parameters if not (parameter.file or parameter.filled)]


def _parameters(kind: JobKind, given: dict[str, str]) -> dict[str, Any]:
    """Return the parameters in the fields of a form; fields left empty are left out."""
    fields = {one.name: given.get(_PARAMETER + one.name, "").strip() for one in _asked_of_people(kind)}
    declared = {one.name: one for one in kind.parameters}
    return {name: _value(declared[name], text) for name, text in fields.items() if text}


def _value(declared: Parameter, text: str) -> Any:
    if declared.name == "ontology" or declared.text:
        return text
    if not declared.keys:
        return value_of(text)
    if is_digest(text) or text in declared.words:
        return text
    if text.startswith("["):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            raise InputError(
                f"{declared.name}: is not a JSON list; give one label key on each line"
            ) from None
    return _lines(text)


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _target(given: dict[str, str]) -> dict[str, str] | None:
    parts = [part.partition("=") for part in given.get("target", "").split()]
    if not all(name and equals and value for name, equals, value in parts):
        raise InputError(f"target: {given['target']!r:.80} given; write NAME=VALUE, such as bundle=mine")
    return {name: value for name, _, value in parts} or None


def _page(
    request: Request,
    shared: State,
    kind: JobKind,
    given: dict[str, str],
    *,
    problem: Any = None,
    estimated: dict[str, Any] | None = None,
    without_estimate: bool = False,
) -> Response:
    texts = {one.name: given.get(_PARAMETER + one.name, "") for one in _asked_of_people(kind)}
    asked = [f"--param={name}={','.join(_lines(text))}" for name, text in texts.items() if _lines(text)]
    return render(
        request,
        "job-new.html",
        title="New job",
        section="jobs",
        twin="/v1/kinds",
        cli=command("jobs", "submit", kind.name, *asked),
        kind=kind.name,
        purpose=_PURPOSES.get(kind.name),
        kinds=[one.name for one in _offered()],
        parameters=[
            describe_parameter(one) | {"listed": one.keys, "long": one.keys or one.amounts}
            for one in _asked_of_people(kind)
        ],
        named=kind.publish is not None,
        ontologies=shared.workspace.catalog.names(),
        given=given,
        problem=problem,
        estimated=estimated,
        without_estimate=without_estimate,
    )
