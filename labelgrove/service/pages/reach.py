"""The live locus: choose classes, and see at once what they reach and which to collect next."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from labelgrove.documents.reach import Question, describe_reach, is_at_once
from labelgrove.ontology.errors import ConflictError
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.service.access.identity import actor_of, needs
from labelgrove.service.kept.openversions import Opened
from labelgrove.service.pages.rendering import PageRoute, body_of, command, render, url
from labelgrove.service.routes.reach import (
    MOST_OBSERVED,
    MOST_PICKS,
    Asked,
    Texts,
    bind_texts,
    reach_now,
)
from labelgrove.service.state import VersionOpened

__all__ = ["router"]

router = APIRouter(
    prefix="/o/{ontology}", route_class=PageRoute, include_in_schema=False, dependencies=[needs("read")]
)

Metric = Literal["auto", "tree", "graph"]

_MOST_LISTED = 50
"""Classes that a command line lists; more are read from a file."""

_CYPHER = """MATCH (:Locus)-[:OBSERVES]->(l:Label {version: $version})
RETURN l.key, l.name ORDER BY l.idx"""


@router.get("/reach")
def reach(
    request: Request,
    opened: VersionOpened,
    observed: Annotated[list[str] | None, Query(max_length=MOST_OBSERVED)] = None,
    text: Annotated[str, Query(max_length=100_000)] = "",
    metric: Metric = "auto",
    labels: Literal["all", "leaves"] = "all",
    picks: Annotated[int, Query(ge=1, le=MOST_PICKS)] = 10,
    taken: Annotated[int, Query(ge=0, le=MOST_PICKS)] = 0,
) -> Response:
    """Show what observed classes reach; `text` has further ones by key or name, one on each line."""
    name, graph = opened.version.ontology, opened.answers.index.graph
    metrics: list[Metric] = ["tree", "graph"] if graph.directed else ["auto"]  # which then takes all edges
    metric = metric if metric in metrics else metrics[0]
    keys = dict.fromkeys(observed or ())
    unbound: list[dict[str, Any]] = []
    if lines := [line.strip() for line in text.splitlines() if line.strip()]:
        for one in bind_texts(opened, body_of(Texts, texts=lines)):
            if one["key"] is None:
                unbound.append(one)
            else:
                keys[one["key"]] = None
    choices = {"metric": metric, "labels": labels, "picks": picks, "taken": min(taken, picks)}
    asked = body_of(Asked, observed=[*keys], **choices)
    found, problem = _found(opened, asked)
    listed = ",".join(keys) if 0 < len(keys) <= _MOST_LISTED else "FILE"
    options = [f"--metric={metric}", *([f"--labels={labels}"] if labels != "all" else [])]
    return render(
        request,
        "reach.html",
        title=f"What classes reach in {name}",
        section="explore",
        twin=None if found is None else _twin(name, asked),
        ontology=name,
        digest=opened.version.digest,
        tag=opened.tag,
        current=opened.version.current,
        directed=graph.directed,
        classes=[opened.answers.item(opened.label(key)) for key in keys],
        unbound=unbound,
        asked=asked,
        found=found,
        problem=problem,
        metrics=metrics,
        at_once=_at_once(graph, metrics),
        may_work="work" in actor_of(request).scopes,
        here=url("o", name, "reach"),
        cli=command("locus", name, "--observed", listed, *options),
        cli_next=command("select", name, "--observed", listed, "-n", str(picks), *options),
        cypher=_CYPHER,
    )


def _at_once(graph: LabelGraph, metrics: list[Metric]) -> list[str]:
    """Return the choices of a metric and labels, as ``metric,labels``, for which no job is needed."""
    return [
        f"{metric},{labels}"
        for metric in metrics
        for labels in ("all", "leaves")
        if is_at_once(graph, Question((), metric, labels))
    ]


def _twin(name: str, asked: Asked) -> str:
    query = urlencode(asked.model_dump(), doseq=True, quote_via=quote)
    return f"{url('v1', 'ontologies', name, 'reach')}?{query}"


def _found(opened: Opened, asked: Asked) -> tuple[dict[str, Any] | None, str | None]:
    """Return what is reached; or why that is not told: a page never asks jobs to compute it."""
    try:
        return describe_reach(reach_now(opened, asked), opened.answers), None
    except ConflictError as error:
        return None, str(error)
