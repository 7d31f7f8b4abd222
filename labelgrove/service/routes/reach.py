"""Routes of the live locus: what classes reach, which labels, and what lists of names mean."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import JSONResponse, Response

from labelgrove.documents.reach import (
    Question,
    Reach,
    describe_reach,
    is_at_once,
    members_of,
    reach_at_once,
    reach_by_jobs,
)
from labelgrove.ontology.browse.names.search import LONGEST_QUERY
from labelgrove.ontology.browse.pages import Page, cut
from labelgrove.ontology.errors import ConflictError
from labelgrove.service import schemas
from labelgrove.service.access.identity import actor_of, needs, require
from labelgrove.service.kept.marking import MarkedLabels
from labelgrove.service.kept.openversions import Opened
from labelgrove.service.routes.drawing import Levels, map_of
from labelgrove.service.state import After, Limit, Shared, State, VersionOpened

__all__ = ["MOST_OBSERVED", "MOST_PICKS", "Asked", "Texts", "bind_texts", "reach_now", "router"]

router = APIRouter(prefix="/v1/ontologies/{ontology}", tags=["reach"], dependencies=[needs("read")])

MOST_OBSERVED = 10_000
MOST_PICKS = 1_000
_MOST_CLOSE = 20
"""Unknown texts for which names spelled like them are looked up."""

_MOST_CANDIDATES = 20

Label = Annotated[str, Field(max_length=LONGEST_QUERY)]


class Asked(BaseModel):
    """Which classes a model has, and what to tell about them."""

    observed: Annotated[
        list[Label],
        Field(
            max_length=MOST_OBSERVED,
            examples=[["oak"]],
            description="Keys of the labels that the model knows; the route `bind` finds them for names.",
        ),
    ] = []
    metric: Annotated[
        Literal["auto", "tree", "graph"],
        Field(
            description="`tree`: lengths of paths over primary parents; `graph`: lengths of shortest paths "
            "over all edges; `auto`: `tree` if the hierarchy is a tree, else `graph`."
        ),
    ] = "auto"
    labels: Annotated[
        Literal["all", "leaves"], Field(description="Labels that may be answers: all of them, or leaves.")
    ] = "all"
    picks: Annotated[int, Field(ge=0, le=MOST_PICKS, description="Labels to pick next.")] = 10
    taken: Annotated[
        int, Field(ge=0, le=MOST_PICKS, description="Picks that are counted as observed in `after`.")
    ] = 0

    @property
    def question(self) -> Question:
        """The question that this asks."""
        return Question(tuple(self.observed), self.metric, self.labels, self.picks, self.taken)


class Texts(BaseModel):
    """Keys or names of labels."""

    texts: Annotated[list[Label], Field(min_length=1, max_length=MOST_OBSERVED, examples=[["oak"]])]


@router.get("/reach", responses=schemas.ok(schemas.Reach))
def reach_of_query(opened: VersionOpened, asked: Annotated[Asked, Query()]) -> Response:
    """Tell what a few observed classes reach, if that is known at once; 409 if jobs have to compute it."""
    return JSONResponse(_document(opened, asked, reach_now(opened, asked)))


@router.post("/reach", responses=schemas.ok(schemas.Reach, status=200) | {202: {"model": schemas.Reach}})
def reach(
    request: Request,
    shared: Shared,
    opened: VersionOpened,
    asked: Asked,
    focus: Annotated[str | None, Query(description="Key of the label at the top of the map.")] = None,
    width: Annotated[
        int | None, Query(description="Width of a map in pixels; without, there is none.", ge=16, le=8_192)
    ] = None,
    levels: Levels = 12,
) -> Response:
    """Tell what observed classes reach, and which to collect next; with `width`, also show it on the map.

    The figures are those of `grove locus` and `grove select`. On trees and complete graphs they are computed
    at once; for other metrics, and if only leaves may be answers, jobs compute them: the answer has status
    202 until they are done, and submitting them takes the scope `work`.

    In `map`, which is like the answer of the route of that name, `REACHES` counts what is reached before any
    pick, `ADDS` what the `taken` picks add, and `OBSERVES` and `PICKS` the classes themselves.
    """
    found = reach_of(request, shared, opened, asked)
    document = _document(opened, asked, found)
    if width is not None:
        marks = {"kind": "reach", "job": None}
        document["map"] = map_of(opened, focus, width, levels, _marked(opened, found)) | {"marks": marks}
    waits = any(job["state"] != "done" for job in document["jobs"])
    return JSONResponse(document, HTTPStatus.ACCEPTED if waits else HTTPStatus.OK)


@router.post("/reach/labels", responses=schemas.ok(schemas.LabelPage))
def reached_labels(
    request: Request,
    shared: Shared,
    opened: VersionOpened,
    asked: Asked,
    which: Annotated[
        Literal["reached", "unique", "tied", "unreached"],
        Query(description="Labels that are reached, reached uniquely, only in ties, or not at all."),
    ] = "reached",
    limit: Limit = 100,
    after: After = None,
) -> Response:
    """List the labels that observed classes and the `taken` picks reach, or do not reach."""
    found = reach_of(request, shared, opened, asked).after
    if found is None:
        raise ConflictError("reach: a job computes it; ask again once it is done, see the route /reach")
    graph = opened.answers.index.graph
    reached, unique = members_of(found), members_of(found, unique=True)
    if which == "unreached":
        allowed = found.space.allowed
        everything = np.arange(graph.n_labels) if allowed is None else allowed
        labels = np.setdiff1d(everything, reached, assume_unique=True)
    else:
        labels = {"reached": reached, "unique": unique, "tied": np.setdiff1d(reached, unique)}[which]
    page: Page[Any] = cut(
        labels.tolist(), [graph.digest, "reach", which, asked.model_dump()], limit=limit, after=after
    )
    items = [opened.answers.item(label) for label in page.items]
    return JSONResponse(opened.head | {"items": items, "total": page.total, "next": page.next})


@router.post("/bind", responses=schemas.ok(schemas.BoundTexts))
def bind(opened: VersionOpened, given: Texts) -> Response:
    """Tell which label each text means: the one with this key, or else the only one with this name."""
    items = bind_texts(opened, given)
    return JSONResponse(opened.head | {"items": items, "total": len(items)})


def bind_texts(opened: Opened, given: Texts) -> list[dict[str, Any]]:
    """Return, for each text, the key of the label that it means, or what is wrong and which it may mean."""
    answers, keys = opened.answers, opened.answers.index.graph.keys
    items: list[dict[str, Any]] = []
    n_close = 0
    for text in given.texts:
        label = keys.find(text)
        labels = [label] if label >= 0 else answers.index.search.named(text)
        problem, close = None, []
        if not labels:
            problem = "no label has this key or name"
            if n_close < _MOST_CLOSE:
                n_close, close = n_close + 1, answers.close_to(text)
        elif len(labels) > 1:
            problem = f"{len(labels):,} labels have this name; give a key"
        items.append(
            {
                "text": text,
                "key": keys[labels[0]] if len(labels) == 1 else None,
                "candidates": [answers.item(one) for one in labels[:_MOST_CANDIDATES]],
                "problem": problem,
                "close": close,
            }
        )
    return items


def reach_of(request: Request, shared: State, opened: Opened, asked: Asked) -> Reach:
    """Answer what a client asked; who lacks the scope `work` cannot have it computed by jobs."""
    graph, question = opened.answers.index.graph, asked.question
    if is_at_once(graph, question):
        return reach_now(opened, asked)
    require(actor_of(request), "work")
    return reach_by_jobs(shared.workspace, graph, question)


def reach_now(opened: Opened, asked: Asked) -> Reach:
    """Answer what a client asked, and submit no job for it."""
    question = asked.question
    if not is_at_once(opened.answers.index.graph, question):
        raise ConflictError(
            "reach: jobs compute this, because loci have a closed form only on trees and complete graphs, "
            "with all labels as answers; ask for it by POST"
        )
    return reach_at_once(opened.space(question.metric), question)


def _document(opened: Opened, asked: Asked, found: Reach) -> dict[str, Any]:
    head = opened.head | {"metric": asked.metric, "labels": asked.labels}
    return head | describe_reach(found, opened.answers)


def _marked(opened: Opened, reach: Reach) -> MarkedLabels:
    from labelgrove.ontology.graph.results import Links  # not at the top: it brings all of the graph

    links = [Links("OBSERVES", reach.observed, {}), Links("PICKS", reach.picked, {})]
    if reach.before is not None:
        before = members_of(reach.before)
        links.append(Links("REACHES", before, {}))
        if reach.after is not None and reach.taken:
            links.append(Links("ADDS", np.setdiff1d(members_of(reach.after), before, assume_unique=True), {}))
    return MarkedLabels(opened.answers.index.order, tuple(links))
