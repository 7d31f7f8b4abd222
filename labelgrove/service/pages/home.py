"""The pages about all ontologies: what there is, and a search of every one."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from labelgrove.documents.jobs import describe_jobs
from labelgrove.ontology.browse.names.search import LONGEST_QUERY
from labelgrove.service.access.identity import actor_of, needs
from labelgrove.service.pages.jobs import names_of_versions
from labelgrove.service.pages.rendering import PageRoute, render, url
from labelgrove.service.routes.everywhere import find_everywhere
from labelgrove.service.state import Shared

__all__ = ["router"]

router = APIRouter(route_class=PageRoute, include_in_schema=False, dependencies=[needs("read")])

_MOST_JOBS = 8
_HITS = 10


@router.get("/")
def home(request: Request, shared: Shared) -> Response:
    """Show all ontologies, what `grove doctor` noted, and the jobs that run and were submitted last."""
    from labelgrove.workers import client

    manages = actor_of(request).manages
    found = shared.overview.describe()
    unfinished = {job["id"] for job in found["unfinished"]}
    newest = client.list_jobs(shared.workspace, limit=_MOST_JOBS)
    return render(
        request,
        "home.html",
        title="Ontologies",
        section="explore",
        twin="/v1/overview",
        ontologies=found["ontologies"],
        unfinished=found["unfinished"],
        names=names_of_versions(shared),
        jobs=describe_jobs(shared.workspace, [job for job in newest if job.id not in unfinished]),
        may_ingest="admin" in actor_of(request).scopes,
        notes=shared.checkup.notes() if manages else [],
    )


@router.get("/search")
def search(
    request: Request, shared: Shared, q: Annotated[str, Query(max_length=LONGEST_QUERY)] = ""
) -> Response:
    """Show the labels that a text finds in each ontology."""
    return render(
        request,
        "everywhere.html",
        title=q if q.strip() else "Search",
        section="explore",
        twin=url("v1", "search", q=q, limit=_HITS),
        found=find_everywhere(shared, q, _HITS),
    )
