"""Routes that show jobs and their results."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query
from starlette.responses import JSONResponse, Response

from labelgrove.documents.jobs import (
    describe_costs,
    describe_jobs,
    describe_result,
    describe_strip,
    describe_units,
    matching_jobs,
)
from labelgrove.service import schemas
from labelgrove.service.access.identity import needs
from labelgrove.service.state import After, Limit, Shared

__all__ = ["router"]

router = APIRouter(prefix="/v1/jobs", tags=["jobs"], dependencies=[needs("read")])

JobId = Annotated[str, Path(description="Id of a job, or its beginning.", min_length=4, max_length=64)]


@router.get("", responses=schemas.ok(schemas.JobList))
def list_jobs(
    shared: Shared,
    state: Annotated[str | None, Query(description="Only jobs in this state.")] = None,
    kind: Annotated[str | None, Query(description="Only jobs of this kind.")] = None,
    stale: Annotated[bool, Query(description="Only done jobs about versions no longer current.")] = False,
    ontology: Annotated[
        str | None, Query(description="Only jobs about versions of this ontology.", max_length=64)
    ] = None,
    asked_by: Annotated[
        str | None, Query(description="Only jobs that this actor requested first.", max_length=300)
    ] = None,
    limit: Limit = 50,
) -> schemas.JobList:
    """Return jobs, the newest first; `total` counts all that match, also those beyond `limit`."""
    found, total = matching_jobs(
        shared.workspace,
        state=state,
        kind=kind,
        stale=stale,
        limit=limit,
        ontology=ontology,
        asked_by=asked_by,
    )
    items = describe_jobs(shared.workspace, found)
    return schemas.JobList.model_validate({"items": items, "total": total})


@router.get("/{job}", responses=schemas.ok(schemas.JobDocument))
def show_job(shared: Shared, job: JobId) -> schemas.JobDocument:
    """Return one job, with the number of its units in each state."""
    from labelgrove.workers import client

    (document,) = describe_jobs(shared.workspace, [client.status(shared.workspace, job)])
    return schemas.JobDocument.model_validate(document)


@router.get("/{job}/units", responses=schemas.ok(schemas.UnitList))
def list_units(
    shared: Shared,
    job: JobId,
    errors: Annotated[
        bool, Query(description="Only units whose last attempt left an error, the newest first.")
    ] = False,
    limit: Limit = 100,
    after: After = None,
) -> schemas.UnitList:
    """Return units of a job: attempts, and the time and error of the last attempt."""
    from labelgrove.workers.progress import units_page

    units, total, next_ = units_page(shared.workspace, job, limit=limit, errors=errors, after=after)
    return schemas.UnitList(items=describe_units(units), total=total, next=next_)


@router.get("/{job}/strip", responses=schemas.ok(schemas.Strip))
def show_strip(
    shared: Shared, job: JobId, cells: Annotated[int, Query(description="Most cells.", ge=1, le=1_000)] = 200
) -> schemas.Strip:
    """Return all units of a job in a bounded number of cells, with the worst state in each."""
    return schemas.Strip.model_validate(describe_strip(shared.workspace, job, most=cells))


@router.get("/{job}/costs", responses=schemas.ok(schemas.Costs))
def show_costs(shared: Shared, job: JobId) -> schemas.Costs:
    """Return what was estimated for a job, next to what it used so far."""
    return schemas.Costs.model_validate(describe_costs(shared.workspace, job))


@router.get(
    "/{job}/result",
    responses=schemas.ok(None) | {200: {"description": "The result; its entries depend on the kind."}},
)
def show_result(shared: Shared, job: JobId) -> Response:
    """Return the result of a done job, as ``grove jobs result --json`` prints it."""
    return JSONResponse(describe_result(shared.workspace, job)[0])
