"""The first page: the ontologies, and the jobs of late."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from labelgrove.documents.jobs import describe_jobs
from labelgrove.documents.ontologies import current_versions
from labelgrove.service.identity import actor_of, needs
from labelgrove.service.pages.rendering import PageRoute, render
from labelgrove.service.state import Shared

__all__ = ["router"]

router = APIRouter(route_class=PageRoute, include_in_schema=False, dependencies=[needs("read")])

_MOST_JOBS = 8


@router.get("/")
def home(request: Request, shared: Shared) -> Response:
    """Show all ontologies and the newest jobs."""
    from labelgrove.workers import client

    return render(
        request,
        "home.html",
        title="Ontologies",
        section="explore",
        twin="/v1/ontologies",
        ontologies=current_versions(shared.workspace),
        jobs=describe_jobs(shared.workspace, client.list_jobs(shared.workspace, limit=_MOST_JOBS)),
        may_ingest="admin" in actor_of(request).scopes,
    )
