"""Routes for drawing a version: rows of its tree, and cells of its map."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from labelgrove.ontology.browse.structure.window import LARGEST_WINDOW, DrawnTree
from labelgrove.ontology.errors import InputError
from labelgrove.service import schemas
from labelgrove.service.access.identity import needs
from labelgrove.service.caching import answer
from labelgrove.service.kept.marking import MarkedLabels
from labelgrove.service.kept.openversions import Opened
from labelgrove.service.state import Shared, VersionOpened

__all__ = ["Levels", "Width", "map_of", "router"]

router = APIRouter(prefix="/v1/ontologies/{ontology}", tags=["drawing"], dependencies=[needs("read")])

Width = Annotated[int, Query(description="Width in pixels.", ge=16, le=8_192)]

Levels = Annotated[int, Query(description="Most levels below.", ge=1, le=64)]

_MOST_OPENED = 2_000
_NAMED_FROM = 18.0  # pixels: narrower cells have no room for a letter


def _drawn_tree(opened: Opened, open_: str, closed: str | None) -> DrawnTree:
    if closed is not None:
        return opened.tree(_indices("closed", closed), True)
    return opened.tree(_indices("open", open_), False)


def _indices(name: str, text: str) -> frozenset[int]:
    parts = [part for part in text.split(",") if part]
    if len(parts) > _MOST_OPENED:
        raise InputError(f"{name}: {len(parts):,} labels given; give at most {_MOST_OPENED:,}")
    if not all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts):
        raise InputError(f"{name}: {text!r:.80} given; give indices of labels (`idx`), separated by commas")
    return frozenset(int(part) for part in parts)


@router.get("/window", responses=schemas.ok(schemas.Window))
def window(
    request: Request,
    opened: VersionOpened,
    at: Annotated[int, Query(description="Position of the first row.", ge=0)] = 0,
    rows: Annotated[int, Query(description="Number of rows.", ge=1, le=LARGEST_WINDOW)] = 60,
    open_: Annotated[
        str, Query(alias="open", description="`idx` of the opened labels, separated by commas.")
    ] = "",
    closed: Annotated[
        str | None, Query(description="`idx` of the closed labels; given, all others are opened.")
    ] = None,
    to: Annotated[
        str | None, Query(description="Key of a label: open all labels above it, and tell its position.")
    ] = None,
) -> Response:
    """Return rows of the tree in which some labels are opened, from any position.

    A label with several parents is a row below each of them; below all but the primary one it is a reference.
    With `to`, `opened` lists the labels to keep open from now on, and `position` is the row of the label.
    """
    answers = opened.answers
    document: dict[str, Any] = {**opened.head}
    if to is not None:
        label = opened.label(to)
        above = answers.index.order.chain(label)[1:]
        if closed is not None:
            kept = sorted(_indices("closed", closed) - set(above))
            closed = ",".join(map(str, kept))
        else:
            kept = sorted(_indices("open", open_) | set(above))
            open_ = ",".join(map(str, kept))
        document |= {"opened" if closed is None else "closed": kept}
    tree = _drawn_tree(opened, open_, closed)
    if to is not None:
        document["position"] = tree.position(label)
        at = max(0, document["position"] - rows // 3)
    items = [
        answers.row(row.label, level=row.level, reference=row.reference, opened=row.opened)
        for row in tree.rows(at, rows)
    ]
    return answer(request, document | {"at": at, "items": items, "total": len(tree)}, opened.tag)


@router.get("/map", responses=schemas.ok(schemas.MapDocument))
def map_(
    request: Request,
    shared: Shared,
    opened: VersionOpened,
    focus: Annotated[str | None, Query(description="Key of the label at the top.")] = None,
    width: Width = 1_200,
    levels: Levels = 12,
    marks: Annotated[
        str | None, Query(description="Id of a done job: count the labels of its result in each branch.")
    ] = None,
) -> Response:
    """Return a part of the map: an icicle in which each branch is as wide as its number of labels.

    Each row has cells `[idx, left, width]` in pixels, and `crowded`, ranges of pixels in which branches are
    narrower than a pixel. `names` has the names of the cells that are wide enough to be read. Without
    `focus`, the map shows the branch of the root, or of all roots side by side; `first` is the label at its
    left. With `marks`, each row has in `marked`, for each relation of the result such as `OBSERVES`, how many
    labels in the branch of each cell it marks. `points` has the observed, included and picked labels
    themselves, like cells and however narrow, but only one in three pixels.
    """
    order = opened.answers.index.order
    marked = None if marks is None else shared.results.open(marks, opened.version.digest, order)
    document = {"marks": None if marked is None else {"job": marked.job, "kind": marked.kind}}
    return answer(request, map_of(opened, focus, width, levels, marked) | document, opened.tag)


def map_of(
    opened: Opened, focus: str | None, width: int, levels: int, marked: MarkedLabels | None
) -> dict[str, Any]:
    """Return the document of a map, without ``marks``."""
    answers = opened.answers
    document: dict[str, Any] = {**opened.head, "width": width}
    tops = opened.tops(focus)
    document["focus"] = answers.item(tops[0]) if len(tops) == 1 else None
    document["above"] = (
        [] if focus is None else [answers.item(i) for i in answers.index.order.chain(tops[0])[:0:-1]]
    )
    return document | _cells(opened, tops, width, levels, marked)


def _cells(
    opened: Opened, tops: list[int], width: int, n_levels: int, marked: MarkedLabels | None
) -> dict[str, Any]:
    graph, end = opened.answers.index.graph, opened.answers.index.order.end
    total = sum(int(end[top]) - top for top in tops)
    rows: dict[int, dict[str, Any]] = {}
    names: dict[str, str] = {}
    begin = tops[0]
    last = int(end[tops[-1]])
    for row in opened.levels.rows_between(begin, last, width=width, n_levels=n_levels):
        rows[row.depth] = {
            "depth": row.depth,
            "cells": [
                [label, round(left, 1), round(wide, 1)]
                for label, left, wide in zip(
                    row.labels.tolist(), row.left.tolist(), row.width.tolist(), strict=True
                )
            ],
            "crowded": _runs(row.crowded),
        }
        if marked is not None:
            rows[row.depth]["marked"] = marked.counts(row.labels)
            rows[row.depth]["points"] = marked.points(row.depth, begin, last, width=width)
        named = row.labels[row.width >= _NAMED_FROM]
        names |= {str(label): graph.names[label] for label in named.tolist()}
    return {"n_labels": total, "first": begin, "rows": list(rows.values()), "names": names}


def _runs(pixels: Any) -> list[list[int]]:
    """Return ascending whole numbers as ranges ``[first, length]``."""
    if not len(pixels):
        return []
    breaks = np.flatnonzero(np.diff(pixels) != 1)
    first = pixels[np.concatenate([[0], breaks + 1])]
    last = pixels[np.concatenate([breaks, [len(pixels) - 1]])]
    return [[int(a), int(b - a + 1)] for a, b in zip(first, last, strict=True)]
