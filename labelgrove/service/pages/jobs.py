"""Pages about jobs: the list, one job with its units, and its result."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import RedirectResponse, Response

from labelgrove.documents.jobs import describe_result
from labelgrove.documents.spreadsheet import as_csv
from labelgrove.ontology.errors import ConflictError
from labelgrove.service.access.identity import actor_of, needs
from labelgrove.service.kept.marking import CONTAINING
from labelgrove.service.pages.rendering import PageRoute, command, document_of, render, url
from labelgrove.service.pages.reports import REPORTED
from labelgrove.service.routes import jobs as routes
from labelgrove.service.routes import submitting
from labelgrove.service.state import CSV, After, Shared, SpreadsheetSafe, State

__all__ = ["names_of_versions", "router"]

router = APIRouter(
    prefix="/jobs", route_class=PageRoute, include_in_schema=False, dependencies=[needs("read")]
)

_MOST_JOBS = 100
_MOST_CELLS = 200
_MOST_UNITS = 100
_MOST_ERRORS = 20
_MOST_ROWS = 1_000


@router.get("")
def list_jobs(
    request: Request,
    shared: Shared,
    state: str | None = None,
    kind: str | None = None,
    ontology: str | None = None,
    asked_by: str | None = None,
    stale: Annotated[bool, Query()] = False,
) -> Response:
    """Show jobs, the newest first."""
    from labelgrove.workers.kinds import known_kinds
    from labelgrove.workers.ledger.states import State

    asked: dict[str, Any] = {"state": state, "kind": kind, "ontology": ontology, "asked_by": asked_by}
    asked = {name: value or None for name, value in asked.items()}
    found = routes.list_jobs(shared, stale=stale, limit=_MOST_JOBS, **asked)
    typed = [f"--{name.replace('_', '-')}={value}" for name, value in asked.items() if value]
    actor = actor_of(request)
    askers = {job.asked_by for job in found.items if job.asked_by} | ({asked_by} if asked_by else set())
    return render(
        request,
        "jobs.html",
        title="Jobs",
        section="jobs",
        twin=url("v1", "jobs", **asked, stale="true" if stale else None),
        cli=command("jobs", "list", *typed, *["--stale"] * stale),
        cypher="MATCH (j:Job) RETURN j.id, j.kind LIMIT 100",
        jobs=[one.model_dump() for one in found.items],
        n_jobs=found.total,
        names=names_of_versions(shared),
        states=[one.value for one in State],
        kinds=[one.name for one in known_kinds()],
        ontologies=shared.workspace.catalog.names(),
        askers=[actor.name] * actor.known + sorted(askers - {actor.name}),
        chosen=asked | {"stale": stale},
    )


def names_of_versions(shared: State) -> dict[str, list[str]]:
    """Return the ontologies that have each version."""
    names: dict[str, list[str]] = {}
    for version in shared.workspace.catalog.versions():
        names.setdefault(version.digest, []).append(version.ontology)
    return names


@router.get("/{job}")
def show_job(
    request: Request,
    shared: Shared,
    job: routes.JobId,
    after: After = None,
    errors_after: After = None,
) -> Response:
    """Show one job, how far it is, what it costs, and its units."""
    document = routes.show_job(shared, job).model_dump()
    job = document["id"]
    units = routes.list_units(shared, job, limit=_MOST_UNITS, after=after)
    errors = routes.list_units(shared, job, errors=True, limit=_MOST_ERRORS, after=errors_after)
    strip = routes.show_strip(shared, job, cells=_MOST_CELLS)
    of_name, of_version = _version_of(shared, {}, document["parameters"])
    said = [f"{number:,} {name}" for name, number in sorted(document["units"].items())]
    return render(
        request,
        "job.html",
        title=f"Job {job[:12]}",
        section="jobs",
        twin=url("v1", "jobs", job),
        cli="\n".join(command("jobs", word, job[:12]) for word in ("show", "costs", "logs")),
        cypher=f"MATCH (j:Job {{id: '{job}'}}) RETURN j",
        job=document,
        cells=[cell.model_dump() for cell in strip.items],
        said_units=", ".join(said),
        costs=routes.show_costs(shared, job).model_dump(),
        units=units.model_dump(),
        errors=errors.model_dump(),
        n_units=strip.total,
        of_name=of_name,
        of_version=of_version,
    )


@router.get("/{job}/cancel", dependencies=[needs("work")])
def ask_cancel(request: Request, shared: Shared, job: routes.JobId) -> Response:
    """Ask whether a job is to be cancelled, because that is for everybody who requested it."""
    return _cancel_page(request, shared, job)


@router.post("/{job}/cancel", dependencies=[needs("work")])
def cancel(request: Request, shared: Shared, job: routes.JobId) -> Response:
    """Cancel a job, and show it; one that ended while somebody was asked cannot be cancelled any more."""
    try:
        return _to_job(request, document_of(submitting.cancel(shared, job)))
    except ConflictError:
        return _cancel_page(request, shared, job, HTTPStatus.CONFLICT)


def _cancel_page(request: Request, shared: State, job: str, status: int = HTTPStatus.OK) -> Response:
    document = routes.show_job(shared, job).model_dump()
    short = document["id"][:12]
    cli = command("jobs", "cancel", short)
    title = f"Cancel {short}"
    return render(
        request, "job-cancel.html", title=title, section="jobs", status=status, cli=cli, job=document
    )


@router.post("/{job}/retry", dependencies=[needs("work")])
def retry(request: Request, shared: Shared, job: routes.JobId) -> Response:
    """Try a job again, and show it."""
    return _to_job(request, document_of(submitting.retry(shared, job)))


def _to_job(request: Request, document: dict[str, Any]) -> Response:
    request.state.job = document["id"]  # for the audit
    return RedirectResponse(url("jobs", document["id"]), status_code=HTTPStatus.SEE_OTHER)


@router.get("/{job}/result")
def show_result(request: Request, shared: Shared, job: routes.JobId) -> Response:
    """Show the result of a done job."""
    document, read, shown = describe_result(shared.workspace, job)
    name, digest = _version_of(shared, document, read.parameters)
    return render(
        request,
        "result.html",
        title=f"Result of {read.kind} {read.job_id[:12]}",
        section="jobs",
        twin=url("v1", "jobs", read.job_id, "result"),
        cli=command("jobs", "result", read.job_id[:12]),
        cypher=f"MATCH (:Job {{id: '{read.job_id}'}})-[:PRODUCED]->(r) RETURN r",
        job=read.job_id,
        kind=read.kind,
        line=shown.line,
        columns=shown.columns,
        rows=shown.rows[:_MOST_ROWS],
        n_rows=len(shown.rows),
        has_table=bool((shown.file or (shown.columns,))[0]),
        has_report=read.kind in REPORTED,
        has_marks=read.kind in CONTAINING,
        of_name=name,
        of_version=digest,
    )


@router.get("/{job}/result.csv")
def result_csv(shared: Shared, job: routes.JobId, spreadsheet_safe: SpreadsheetSafe = False) -> Response:
    """Return the table of a result as CSV."""
    _, read, shown = describe_result(shared.workspace, job)
    columns, rows = shown.file or (shown.columns, shown.rows)
    text = as_csv(columns, rows, safe=spreadsheet_safe) + "\n"
    name = f"{read.kind}-{read.job_id[:12]}{'-spreadsheet' if spreadsheet_safe else ''}.csv"
    return Response(text, media_type=CSV, headers={"Content-Disposition": f'attachment; filename="{name}"'})


def _version_of(shared: State, document: dict[str, Any], parameters: Any) -> tuple[str | None, str | None]:
    """Return the name and digest of the version that a result is about, if it is known by a name."""
    digest = document.get("digest", parameters.get("ontology"))
    versions = shared.workspace.catalog.versions()
    names = [one.ontology for one in versions if one.digest == digest]
    name = document.get("ontology")
    if isinstance(name, str) and name in names:
        return name, digest
    return (names[0], digest) if names else (None, None)
