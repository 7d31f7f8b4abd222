"""Routes about the service itself: health, limits, and the link that signs its owner in."""

from __future__ import annotations

from dataclasses import asdict
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import JSONResponse, RedirectResponse, Response

import labelgrove
from labelgrove.service import schemas
from labelgrove.service.access.audit import SIGNING_IN
from labelgrove.service.access.identity import Identity
from labelgrove.service.access.sessions import keep
from labelgrove.service.problems import Problem
from labelgrove.service.state import Shared, readiness_of

__all__ = ["router"]

router = APIRouter(tags=["service"])

_NOT_KEPT = {"Cache-Control": "no-store"}


@router.get("/healthz", responses=schemas.ok(schemas.Health))
async def health() -> schemas.Health:
    """Tell that the event loop of the process answers; it asks no other part, and waits for no thread."""
    return schemas.Health(status="ok")


@router.get("/readyz", responses=schemas.ok(schemas.Readiness))
async def ready(request: Request) -> Response:
    """Tell whether the service can answer; 503 and what is missing otherwise, within two seconds.

    `missing` may name the `database`, its `schema` (of another release) and the store of `artifacts`, or say
    that the process is `draining`: it ends soon and wants no further requests.
    """
    missing = await readiness_of(request).missing()
    status = "unavailable" if missing else "ok"
    return JSONResponse({"status": status, "missing": missing}, 503 if missing else 200, _NOT_KEPT)


@router.get("/about", responses=schemas.ok(schemas.About))
def about(shared: Shared) -> dict[str, Any]:
    """Return the release of the service and its limits."""
    return {"name": "labelgrove", "release": labelgrove.__version__, "limits": asdict(shared.limits)}


@router.get("/enter", include_in_schema=False)
def enter(request: Request, code: Annotated[str, Query(max_length=100)]) -> Response:
    """Sign in with a link that works once."""
    identity: Identity = request.app.state.identity
    request.state.needed = SIGNING_IN
    entered = identity.enter(code)
    if entered is None:
        problem = Problem(
            HTTPStatus.GONE,
            "link",
            "this link was used before, or is too old; print a new one: grove serve --link",
        )
        problem.headers |= _NOT_KEPT
        raise problem
    session, request.state.actor = entered
    answer = RedirectResponse("/", status_code=303, headers=_NOT_KEPT)
    keep(request, answer, session)
    return answer
