"""Pages about the labels of a version: browse them, see one of them, and search."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from labelgrove.ontology.browse.names.search import LONGEST_QUERY
from labelgrove.service.access.identity import needs
from labelgrove.service.kept.openversions import Opened
from labelgrove.service.pages.nested import nested_rows
from labelgrove.service.pages.rendering import PageRoute, command, render, url
from labelgrove.service.state import After, Key, Shared, State, VersionOpened

__all__ = ["router"]

router = APIRouter(
    prefix="/o/{ontology}", route_class=PageRoute, include_in_schema=False, dependencies=[needs("read")]
)

_CHILDREN = 100
_HITS = 50
_RELATIONS = {"OBSERVES": "observed", "INCLUDES": "in the cover", "CONTAINS": "contained"}
_MARKS = {"OBSERVES": "obs", "REACHES": "reach", "INCLUDES": "plan", "PICKS": "plan"}
_LACKS = {"locus": "not reached", "cover": "not in the cover", "selection": "not picked"}
_CYPHER = """MATCH (l:Label {version: $version, key: $key})
OPTIONAL MATCH (l)-[e:IS_A]->(p:Label)
RETURN l.key, l.name, p.key AS parent, e.rank AS rank ORDER BY rank"""


@router.get("")
def browse(
    request: Request,
    shared: Shared,
    opened: VersionOpened,
    key: Annotated[str | None, Query(max_length=LONGEST_QUERY)] = None,
    marks: Annotated[str | None, Query(max_length=64)] = None,
) -> Response:
    """Show the tree, the map, and the label in hand: by default the first root."""
    name, graph = opened.version.ontology, opened.answers.index.graph
    roots = opened.answers.index.walk.roots if graph.directed else range(min(1, graph.n_labels))
    label = opened.label(key) if key is not None else int(roots[0])
    return render(
        request,
        "browse.html",
        title=f"{graph.names[label]} · {name}" if key is not None else name,
        section="explore",
        twin=url("v1", "ontologies", name, "context", key=graph.keys[label]),
        rows=nested_rows(opened.answers, label) if graph.directed else [],
        directed=graph.directed,
        chosen=key is not None,
        marked=None if marks is None else _marked(shared, opened, marks),
        heading="h2",
        **_about(opened),
        **_one(shared, opened, label, None),
    )


@router.get("/label")
def label(
    request: Request,
    shared: Shared,
    opened: VersionOpened,
    key: Key,
    after: After = None,
    panel: Annotated[bool, Query(description="Answer only the part that BROWSE shows.")] = False,
) -> Response:
    """Show everything about one label."""
    name, found = opened.version.ontology, opened.label(key)
    return render(
        request,
        "panel.html" if panel else "label.html",
        heading="h2" if panel else "h1",
        title=f"{opened.answers.index.graph.names[found]} · {name}",
        section="explore",
        twin=url("v1", "ontologies", name, "label", key=key),
        **_about(opened),
        **_one(shared, opened, found, after),
    )


@router.get("/search")
def search(
    request: Request,
    opened: VersionOpened,
    q: Annotated[str, Query(max_length=LONGEST_QUERY)] = "",
    under: Annotated[str | None, Query(max_length=LONGEST_QUERY)] = None,
    after: After = None,
) -> Response:
    """Show the labels that a text finds, with the branches in which they are."""
    name, index = opened.version.ontology, opened.answers.index
    found: dict[str, Any] = {"items": [], "total": 0, "next": None, "facets": None}
    if q.strip():
        found = opened.answers.search(
            q,
            under=None if under is None else opened.label(under),
            facets=index.graph.directed,
            limit=_HITS,
            after=after,
        )
    typed = ["labels", "search", name, q, *(["--under", under] if under else [])]
    return render(
        request,
        "search.html",
        title=f"{q} · {name}" if q.strip() else f"Search {name}",
        section="explore",
        twin=url("v1", "ontologies", name, "labels", q=q, under=under),
        cli=command(*typed),
        found=found,
        under=None if under is None else opened.answers.item(opened.label(under)),
        close=[] if found["total"] or not q.strip() else opened.answers.close_to(q),
        **_about(opened),
    )


def _about(opened: Opened) -> dict[str, Any]:
    """Return what pages say about a version, also to scripts."""
    version = opened.version
    return {
        "ontology": version.ontology,
        "digest": version.digest,
        "tag": opened.tag,
        "current": version.current,
        "n_labels": version.n_labels,
        "n_edges": version.n_edges,
    }


def _marked(shared: State, opened: Opened, job: str) -> dict[str, str]:
    """Return the job whose result marks labels on the map, and its kind."""
    found = shared.results.open(job, opened.version.digest, opened.answers.index.order)
    return {"job": found.job, "kind": found.kind}


def _said(about: dict[str, Any]) -> dict[str, Any]:
    """Return what a result says of a label, for people."""
    relation = about["relation"]
    if relation is None:
        says = _LACKS[about["kind"]]
    elif relation == "REACHES":
        says = "reached, as the only answer" if about["unique"] else "reached, but tied with others"
    elif relation == "PICKS":
        says = f"picked in round {about['round']:,}, gain {about['gain']:,.6g}"
    else:
        says = _RELATIONS.get(relation, relation.lower())
    return {
        "job": about["job"],
        "kind": about["kind"],
        "mark": _MARKS.get(relation, "none"),
        "says": says,
        "witness": about.get("witness", ()),
    }


def _one(shared: State, opened: Opened, label: int, after: str | None) -> dict[str, Any]:
    """Return what pages say about one label."""
    answers, graph = opened.answers, opened.answers.index.graph
    key, name = graph.keys[label], opened.version.ontology
    shown: dict[str, Any] = {"parents": [], "path": [], "n_children": 0, "n_siblings": 0, "n_below": 0}
    shown |= answers.show(label)
    nothing: dict[str, Any] = {"items": [], "total": 0, "next": None}
    children = answers.children(label, limit=_CHILDREN, after=after) if graph.directed else nothing
    for item in (*shown["path"], *children["items"]):
        item.update(answers.row(item["idx"]))
    return {
        "label": shown,
        "children": children,
        "results": [*map(_said, shared.results.about(label, opened.version.digest, answers))],
        "history": shared.histories.of(name, key),
        "cli": command("labels", "show", name, key),
        "cypher": _CYPHER,
        "label_json": url("v1", "ontologies", name, "label", key=key),
    }
