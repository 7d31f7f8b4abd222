"""Routes about all ontologies together: what there is, and a search of every one."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request

from labelgrove.ontology.browse.names.search import LONGEST_QUERY
from labelgrove.service import schemas
from labelgrove.service.access.identity import actor_of, needs
from labelgrove.service.state import Limit, Shared, State

__all__ = ["find_everywhere", "router"]

router = APIRouter(prefix="/v1", tags=["everything"], dependencies=[needs("read")])

_MATCHES = ("key", "exact", "prefix", "words", "part")  # the best one first


@router.get("/overview", responses=schemas.ok(schemas.OverviewDocument))
def overview(request: Request, shared: Shared) -> dict[str, Any]:
    """Return all ontologies with their depth, stale jobs and newest verdict, and the jobs not finished.

    `notes` are what `grove doctor` said last that is wrong or could be better: null for clients
    without the scope admin, because they name folders and servers, and before its first answer.
    """
    notes = shared.checkup.notes() if actor_of(request).manages else None
    return shared.overview.describe() | {"notes": notes}


@router.get("/search", responses=schemas.ok(schemas.Everywhere))
def search(
    shared: Shared,
    q: Annotated[str, Query(description="Text to find.", max_length=LONGEST_QUERY)],
    limit: Limit = 5,
) -> dict[str, Any]:
    """Find labels in the current version of every ontology; the ontology with the best match first.

    `limit` is the most labels of one ontology. Each ontology has the `total` number that it has.
    """
    return find_everywhere(shared, q, limit)


def find_everywhere(shared: State, text: str, limit: int) -> dict[str, Any]:
    """Return the document of a search of every ontology."""
    items: list[dict[str, Any]] = []
    if text.strip():
        currents = shared.workspace.catalog.currents()
        for name in sorted(name for name, digest in currents.items() if digest is not None):
            found = shared.versions.open(name, keep=False).answers.search(text, limit=limit)
            if found["total"]:
                items.append({"ontology": name} | {key: found[key] for key in ("version", "items", "total")})
    items.sort(key=lambda one: _MATCHES.index(one["items"][0]["match"]))
    return {"items": items, "total": sum(one["total"] for one in items)}
