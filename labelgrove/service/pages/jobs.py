"""Pages about jobs: the list, one job with its units, and its result."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from labelgrove.documents.jobs import describe_jobs, describe_result, describe_units
from labelgrove.documents.spreadsheet import as_csv
from labelgrove.service.access.identity import needs
from labelgrove.service.kept.marking import CONTAINING
from labelgrove.service.pages.rendering import PageRoute, command, render, url
from labelgrove.service.pages.reports import REPORTED
from labelgrove.service.routes import jobs as routes
from labelgrove.service.state import CSV, Shared, SpreadsheetSafe, State

__all__ = ["router"]

router = APIRouter(
    prefix="/jobs", route_class=PageRoute, include_in_schema=False, dependencies=[needs("read")]
)

_MOST_JOBS = 100
_MOST_UNITS = 500
_MOST_ROWS = 1_000


@router.get("")
def list_jobs(
    request: Request,
    shared: Shared,
    state: str | None = None,
    kind: str | None = None,
    stale: Annotated[bool, Query()] = False,
) -> Response:
    """Show jobs, the newest first."""
    from labelgrove.workers.kinds import known_kinds
    from labelgrove.workers.ledger.states import State

    asked = {"state": state or None, "kind": kind or None}
    found = routes.list_jobs(shared, stale=stale, limit=_MOST_JOBS, **asked)
    typed = [f"--{name}={value}" for name, value in asked.items() if value] + ["--stale"] * stale
    return render(
        request,
        "jobs.html",
        title="Jobs",
        section="jobs",
        twin=url("v1", "jobs", **asked, stale="true" if stale else None),
        cli=command("jobs", "list", *typed),
        jobs=[one.model_dump() for one in found.items],
        n_jobs=found.total,
        states=[one.value for one in State],
        kinds=[one.name for one in known_kinds()],
        chosen={"state": state, "kind": kind, "stale": stale},
    )


@router.get("/{job}")
def show_job(request: Request, shared: Shared, job: routes.JobId) -> Response:
    """Show one job and its units."""
    from labelgrove.workers import client

    found = client.status(shared.workspace, job)
    units = describe_units(client.list_units(shared.workspace, found.id, limit=_MOST_UNITS))
    (document,) = describe_jobs(shared.workspace, [found])
    return render(
        request,
        "job.html",
        title=f"Job {found.id[:12]}",
        section="jobs",
        twin=url("v1", "jobs", found.id),
        cli=command("jobs", "show", found.id[:12]),
        job=document,
        units=units,
        n_units=sum(document["units"].values()),
    )


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
