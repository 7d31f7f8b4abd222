"""Routes that search labels and walk the hierarchy; each has a twin in ``grove labels``."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from labelgrove.ontology.browse.names.search import LONGEST_QUERY
from labelgrove.ontology.errors import NotFoundError
from labelgrove.service import schemas
from labelgrove.service.access.identity import needs
from labelgrove.service.caching import answer
from labelgrove.service.kept.openversions import Opened
from labelgrove.service.state import After, Key, Limit, Shared, VersionOpened

__all__ = ["router"]

router = APIRouter(prefix="/v1/ontologies/{ontology}", tags=["labels"], dependencies=[needs("read")])

Text = Annotated[str, Query(description="Text to find.", max_length=LONGEST_QUERY)]


def _told(request: Request, opened: Opened, document: dict[str, Any]) -> Response:
    return answer(request, {"ontology": opened.version.ontology} | document, opened.tag)


@router.get("/labels", responses=schemas.ok(schemas.SearchPage))
def search(
    request: Request,
    opened: VersionOpened,
    q: Text,
    under: Annotated[str | None, Query(description="Find only this label and those below it.")] = None,
    leaf: Annotated[bool | None, Query(description="Find only leaves, or only others.")] = None,
    depth: Annotated[int | None, Query(description="Find only labels this far below a root.", ge=0)] = None,
    deprecated: Annotated[bool | None, Query(description="Find only deprecated labels, or others.")] = None,
    language: Annotated[str | None, Query(description="Find only names in this language.")] = None,
    facets: Annotated[bool, Query(description="Count what is found by leaf, depth, branch...")] = False,
    limit: Limit = 20,
    after: After = None,
) -> Response:
    """Find labels by key and name, ignoring case and accents; the best match first.

    If nothing is found, `close` lists names that are spelled like the text.
    """
    found = opened.answers.search(
        q,
        under=None if under is None else opened.label(under),
        leaf=leaf,
        depth=depth,
        deprecated=deprecated,
        language=language,
        facets=facets,
        limit=limit,
        after=after,
    )
    if not found["total"]:
        found["close"] = opened.answers.close_to(q)
    return _told(request, opened, found)


@router.get("/suggest", responses=schemas.ok(schemas.SearchPage))
def suggest(request: Request, opened: VersionOpened, q: Text, limit: Limit = 10) -> Response:
    """Return the labels that the beginning of a text may mean, while it is typed."""
    return _told(request, opened, opened.answers.search(q, limit=limit) if q.strip() else _nothing(opened))


@router.get("/lookup", responses=schemas.ok(schemas.LabelPage))
def lookup(request: Request, opened: VersionOpened, name: Text) -> Response:
    """Return every label that has exactly this key or name."""
    answers = opened.answers
    items = [answers.item(label) for label in answers.index.search.named(name)]
    return _told(
        request, opened, {"version": opened.version.digest, "items": items, "total": len(items), "next": None}
    )


@router.get("/label", responses=schemas.ok(schemas.LabelDocument))
def label(request: Request, opened: VersionOpened, key: Key) -> Response:
    """Return everything about one label: names, definition, parents, path and counts."""
    return _told(request, opened, opened.answers.show(opened.label(key)))


@router.get("/item", responses=schemas.ok(schemas.LabelItem))
def item(
    request: Request,
    opened: VersionOpened,
    idx: Annotated[int, Query(description="Index of a label, as maps have it.", ge=0)],
    depth: Annotated[
        int | None,
        Query(description="Instead, the label this far below a root in whose branch it is.", ge=0),
    ] = None,
) -> Response:
    """Return key and name of the label with an index.

    With `depth`, return the label of that depth whose branch contains it, or else the next label of that
    depth: it is at the same place on a map.
    """
    n_labels = opened.version.n_labels
    if idx >= n_labels:
        raise NotFoundError(f"idx: {idx} given; the labels of this version have 0 to {n_labels - 1}")
    if depth is not None:
        found = opened.levels.at(idx, depth)
        if found is None:
            raise NotFoundError(f"depth: {depth} given; no label at or after index {idx} is so deep")
        idx = found
    return _told(request, opened, {"version": opened.version.digest} | opened.answers.item(idx))


@router.get("/label/results", responses=schemas.ok(schemas.LabelResults))
def label_results(shared: Shared, opened: VersionOpened, key: Key) -> dict[str, Any]:
    """Return what the newest results say of a label: whether it is reached, in a cover, or picked.

    `relation` is null if the result is one of these and does not contain the label. A label that is reached
    has a `witness`: weights of observed labels that make it the answer.
    """
    items = shared.results.about(opened.label(key), opened.version.digest, opened.answers)
    return {**opened.head, "items": items, "total": len(items)}


@router.get("/label/versions", responses=schemas.ok(schemas.LabelVersions))
def label_versions(shared: Shared, opened: VersionOpened, key: Key) -> dict[str, Any]:
    """Return which of the newest versions of the ontology have a label of this key, the newest first."""
    opened.label(key)
    return opened.head | shared.histories.of(opened.version.ontology, key)


@router.get("/children", responses=schemas.ok(schemas.LabelPage))
def children(
    request: Request, opened: VersionOpened, key: Key, limit: Limit = 100, after: After = None
) -> Response:
    """Return the children of a label."""
    return _told(request, opened, opened.answers.children(opened.label(key), limit=limit, after=after))


@router.get("/siblings", responses=schemas.ok(schemas.LabelPage))
def siblings(
    request: Request, opened: VersionOpened, key: Key, limit: Limit = 100, after: After = None
) -> Response:
    """Return the other children of the parents of a label."""
    return _told(request, opened, opened.answers.siblings(opened.label(key), limit=limit, after=after))


@router.get("/descendants", responses=schemas.ok(schemas.LabelPage))
def descendants(
    request: Request, opened: VersionOpened, key: Key, limit: Limit = 100, after: After = None
) -> Response:
    """Return all labels below a label."""
    return _told(request, opened, opened.answers.descendants(opened.label(key), limit=limit, after=after))


@router.get("/ancestors", responses=schemas.ok(schemas.LabelPage))
def ancestors(request: Request, opened: VersionOpened, key: Key) -> Response:
    """Return all labels above a label, each with the fewest edges up to it."""
    return _told(request, opened, opened.answers.ancestors(opened.label(key)))


@router.get("/context", responses=schemas.ok(schemas.Context))
def context(request: Request, opened: VersionOpened, key: Key, limit: Limit = 100) -> Response:
    """Return one label with its path, siblings and children, in one answer."""
    answers, found = opened.answers, opened.label(key)
    document = {
        "version": opened.version.digest,
        "label": answers.show(found),
        "siblings": answers.siblings(found, limit=limit),
        "children": answers.children(found, limit=limit),
    }
    return _told(request, opened, document)


From = Annotated[str, Query(alias="from", description="Key of a label.", max_length=LONGEST_QUERY)]
To = Annotated[str, Query(description="Key of a label.", max_length=LONGEST_QUERY)]


@router.get("/path", responses=schemas.ok(schemas.LabelPage))
def path(request: Request, opened: VersionOpened, from_: From, to: To) -> Response:
    """Return the labels on a shortest path between two labels."""
    return _told(request, opened, opened.answers.path(opened.label(from_), opened.label(to)))


@router.get("/lca", responses=schemas.ok(schemas.LabelPage))
def lca(request: Request, opened: VersionOpened, from_: From, to: To) -> Response:
    """Return the lowest common ancestors of two labels."""
    found = opened.answers.lowest_common_ancestors(opened.label(from_), opened.label(to))
    return _told(request, opened, found)


def _nothing(opened: Opened) -> dict[str, Any]:
    return {"version": opened.version.digest, "items": [], "total": 0, "next": None}
