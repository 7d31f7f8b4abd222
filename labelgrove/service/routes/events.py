"""Streams of server-sent events that tell how jobs go on."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Annotated, Any

from fastapi import APIRouter, Header, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from labelgrove.ontology.errors import GroveError
from labelgrove.service import schemas
from labelgrove.service.access.identity import Identity, actor_of, needs
from labelgrove.service.kept.streams import Event, as_text
from labelgrove.service.routes.jobs import JobId
from labelgrove.service.state import Shared

__all__ = ["router"]

router = APIRouter(prefix="/v1", tags=["jobs"], dependencies=[needs("read")])

Known = Annotated[
    str | None,
    Header(
        alias="Last-Event-ID",
        description="Id of the last event; it is not told again if nothing changed since.",
        max_length=100,
    ),
]

_STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Events `jobs`, whose data are documents of jobs, and comments between them.",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    }
}


@router.get("/events", responses=schemas.ok(None) | _STREAM, response_class=StreamingResponse)
async def events(request: Request, shared: Shared, known: Known = None) -> Response:
    """Tell the newest 200 jobs at once, and again whenever one of them changes."""
    return _stream(request, shared.watcher.watch(shared.workspace, None, known or ""))


@router.get("/jobs/{job}/events", responses=schemas.ok(None) | _STREAM, response_class=StreamingResponse)
async def job_events(request: Request, shared: Shared, job: JobId, known: Known = None) -> Response:
    """Tell a job at once, and again whenever it changes, such as when one of its units is done."""
    from labelgrove.workers import client

    found = await run_in_threadpool(client.status, shared.workspace, job)
    return _stream(request, shared.watcher.watch(shared.workspace, found.id, known or ""))


def _stream(request: Request, events: AsyncGenerator[Event | None]) -> Response:
    """Return a stream, which ends before it tells anything to somebody who may no longer read."""

    async def text() -> AsyncIterator[bytes]:
        async with aclosing(events):
            yield b"retry: 1000\n\n"
            async for event in events:
                if not await _still_may_read(request):
                    return
                yield as_text(event)

    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(text(), media_type="text/event-stream", headers=headers)


async def _still_may_read(request: Request) -> bool:
    """Return whether the token or session of a request, which began long ago, is as good as it was then."""
    identity: Identity = request.app.state.identity
    if identity.asks_nothing(request.headers):
        return True
    peer = request.client.host if request.client else "unknown"
    try:
        return await run_in_threadpool(identity.who, request.headers, peer) == actor_of(request)
    except GroveError:  # the database was away for too long to trust it
        return False
