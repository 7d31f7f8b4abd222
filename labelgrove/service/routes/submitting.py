"""Routes that submit, estimate, cancel and retry jobs, and list their kinds."""

from __future__ import annotations

import threading
import time
from typing import Annotated, Any

from fastapi import APIRouter, Header
from pydantic import BaseModel, Field
from starlette.responses import JSONResponse, Response

from labelgrove.documents.jobs import describe_jobs
from labelgrove.documents.kinds import describe_estimate, describe_kinds
from labelgrove.ontology.errors import InputError
from labelgrove.service import schemas
from labelgrove.service.access.identity import needs
from labelgrove.service.routes.jobs import JobId
from labelgrove.service.state import Shared, State
from labelgrove.workers import client
from labelgrove.workers.kinds import kind_named
from labelgrove.workers.ledger.states import Job

__all__ = ["JobRequest", "check_asked", "router"]

router = APIRouter(prefix="/v1", tags=["jobs"])

_READ, _WORK = [needs("read")], [needs("work")]

_LONGEST_WAIT_S = 30
_LOOK_S = 0.1
_MOST_WAITING = 8
"""Requests that wait at once: each keeps a thread, and all routes share 40 of them."""

_waiting = threading.BoundedSemaphore(_MOST_WAITING)


class JobRequest(BaseModel):
    """What a job is to compute; equal requests are one job."""

    kind: Annotated[str, Field(max_length=64, examples=["cover"])]
    parameters: dict[str, Any] = {}
    target: Annotated[
        dict[str, str] | None, Field(description="The name that the result gets, if the kind gives names.")
    ] = None


Prefer = Annotated[
    str | None,
    Header(
        description=f"`wait=SECONDS`, at most {_LONGEST_WAIT_S}: answer once the job ended, if it does, "
        "unless too many others wait."
    ),
]


@router.get("/kinds", responses=schemas.ok(schemas.KindList), dependencies=_READ)
def list_kinds() -> dict[str, Any]:
    """Return the kinds of jobs with their parameters."""
    items = describe_kinds()
    return {"items": items, "total": len(items)}


@router.post(
    "/jobs", status_code=202, responses=schemas.ok(schemas.JobDocument, status=202), dependencies=_WORK
)
def submit(shared: Shared, asked: JobRequest, prefer: Prefer = None) -> Response:
    """Submit a job about an ontology; the same request gives the same job, with status 200 once it ended.

    The service reads no files and addresses that a client names: kinds that need them are submitted with
    `grove`, and hierarchies are uploaded.
    """
    check_asked(asked)
    wait_s = _seconds(prefer)
    job = client.submit(shared.workspace, asked.kind, asked.parameters, target=asked.target, wait=False)
    return _answered(shared, job, wait_s)


@router.post("/estimate", responses=schemas.ok(schemas.Estimated), dependencies=_WORK)
def estimate(shared: Shared, asked: JobRequest) -> dict[str, Any]:
    """Return the units, bytes and seconds that a job would need, and submit nothing."""
    check_asked(asked)
    found = describe_estimate(shared.workspace, asked.kind, asked.parameters)
    if found is None:
        raise InputError(f"kind: {asked.kind!r} makes no estimate; submit the job")
    return found


@router.post("/jobs/{job}/cancel", responses=schemas.ok(schemas.JobDocument), dependencies=_WORK)
def cancel(shared: Shared, job: JobId) -> Response:
    """Cancel a job for everybody who submitted it; 409 if it has ended."""
    return _document(shared, client.cancel(shared.workspace, job), 200)


@router.post(
    "/jobs/{job}/retry",
    status_code=202,
    responses=schemas.ok(schemas.JobDocument, status=202),
    dependencies=_WORK,
)
def retry(shared: Shared, job: JobId, prefer: Prefer = None) -> Response:
    """Try a failed or cancelled job again; units that are done are kept, and 409 if it is neither."""
    wait_s = _seconds(prefer)
    return _answered(shared, client.retry(shared.workspace, job, wait=False), wait_s)


def check_asked(asked: JobRequest) -> None:
    """Refuse what a client may not name: files, addresses, artifacts, and work on the whole home."""
    declared = {parameter.name: parameter for parameter in kind_named(asked.kind).parameters}
    if "ontology" not in declared or asked.kind == "ingest":
        raise InputError(
            f"kind: {asked.kind!r} is not about one version of an ontology; submit it with grove jobs "
            "submit, and upload hierarchies to /v1/ontologies/NAME/ingest"
        )
    for name, value in asked.parameters.items():
        parameter = declared.get(name)
        if parameter is not None and parameter.file and value is not None:
            raise InputError(
                f"{name}: names a file, and the service reads none that a client names; submit the job with "
                f"grove jobs submit {asked.kind}, on a machine that has the file"
            )
        if parameter is not None and parameter.filled:
            raise InputError(f"{name}: is computed from the other parameters; leave it out")


def _seconds(prefer: str | None) -> float:
    """Return how long a client wants to wait."""
    for part in (prefer or "").split(","):
        name, _, value = part.strip().partition("=")
        if name.lower() == "wait":
            if not (value.isascii() and value.isdigit() and len(value) < 4):
                raise InputError(
                    f"Prefer: {part.strip()!r:.40} given; give wait and a number of seconds: wait=10"
                )
            return min(int(value), _LONGEST_WAIT_S)
    return 0


def _answered(shared: State, job: Job, wait_s: float) -> Response:
    """Wait for a job, whose units other processes run, and answer with what it is then.

    While too many others wait, answer at once: waiting is what a client prefers, and nothing that it gets.
    """
    if wait_s and not job.finished and _waiting.acquire(blocking=False):
        try:
            end = time.monotonic() + wait_s
            while not job.finished and time.monotonic() < end:
                time.sleep(_LOOK_S)
                job = client.status(shared.workspace, job.id)
        finally:
            _waiting.release()
    return _document(shared, job, 200 if job.finished else 202)


def _document(shared: State, job: Job, status: int) -> Response:
    (document,) = describe_jobs(shared.workspace, [job])
    return JSONResponse(document, status_code=status, headers={"Location": f"/v1/jobs/{job.id}"})
