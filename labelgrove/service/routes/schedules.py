"""Routes about schedules: requests for jobs that are made at set times."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Path
from pydantic import Field
from starlette.responses import JSONResponse, Response

from labelgrove.documents.schedules import describe_schedules
from labelgrove.service import schemas
from labelgrove.service.access.identity import needs
from labelgrove.service.routes.submitting import JobRequest, check_asked
from labelgrove.service.state import Shared
from labelgrove.workers.schedules.schedule import add_schedule, remove_schedule

__all__ = ["ScheduleRequest", "router"]

router = APIRouter(prefix="/v1/schedules", tags=["jobs"])

_READ, _WORK = [needs("read")], [needs("work")]

ScheduleName = Annotated[str, Path(description="Name of a schedule.", max_length=64)]


class ScheduleRequest(JobRequest):
    """A job that is requested at set times."""

    name: Annotated[str, Field(max_length=64, examples=["nightly"])]
    cron: Annotated[
        str,
        Field(
            max_length=200,
            description="Due times in UTC: minute, hour, day of month, month and day of week.",
            examples=["30 2 * * MON-FRI"],
        ),
    ]


@router.get("", responses=schemas.ok(schemas.ScheduleList), dependencies=_READ)
def list_schedules(shared: Shared) -> dict[str, Any]:
    """Return the schedules: when each is due next, and what happened when it was last due."""
    items = describe_schedules(shared.workspace)
    return {"items": items, "total": len(items)}


@router.post(
    "", status_code=201, responses=schemas.ok(schemas.ScheduleDocument, status=201), dependencies=_WORK
)
def add(shared: Shared, asked: ScheduleRequest) -> Response:
    """Add a schedule, which requests a job about an ontology once for each due time.

    The name of an ontology means the version that is current at the due time. As for jobs, no files or
    addresses may be named. A name that is taken is answered with 409.
    """
    check_asked(asked)
    add_schedule(shared.workspace, asked.name, asked.cron, asked.kind, asked.parameters, target=asked.target)
    (added,) = (one for one in describe_schedules(shared.workspace) if one["name"] == asked.name)
    return JSONResponse(added, status_code=HTTPStatus.CREATED)


@router.delete("/{schedule}", status_code=204, responses=schemas.ok(None), dependencies=_WORK)
def remove(shared: Shared, schedule: ScheduleName) -> Response:
    """Remove a schedule; the jobs that it requested stay."""
    remove_schedule(shared.workspace, schedule)
    return Response(status_code=HTTPStatus.NO_CONTENT)
