"""Routes for asking what a bundle would answer: one row as numbers, its explanation, and heat on the map."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Depends, Query, Request
from numpy.typing import NDArray
from starlette.responses import Response

from labelgrove.adapter import Adapter
from labelgrove.adapter.outputs.outputfiles import OutputFile
from labelgrove.adapter.outputs.outputkinds import absent_value
from labelgrove.documents.answers import explanation
from labelgrove.ontology.errors import InputError
from labelgrove.service import schemas
from labelgrove.service.access.identity import needs
from labelgrove.service.kept.marking import places
from labelgrove.service.kept.openversions import Opened
from labelgrove.service.routes.bundles import BODY, BundleName, Scoring, given_row, scored
from labelgrove.service.routes.drawing import Levels, Width
from labelgrove.service.scoring.heat import Heat, labels_of
from labelgrove.service.scoring.pasted import FINITE_ABSENT, pasted_row
from labelgrove.service.state import OntologyName, Shared

__all__ = ["TEXT", "pasted", "router"]

router = APIRouter(prefix="/v1/bundles/{ontology}/{bundle}", tags=["scoring"], dependencies=[needs("score")])

TEXT = "text/plain"

_PASTED = {"schema": {"type": "string"}}
_ROW_BODY = {
    "requestBody": {
        "required": True,
        "content": {**BODY["requestBody"]["content"], TEXT: _PASTED},  # type: ignore[dict-item]
    }
}

WhichRow = Annotated[int, Query(description="The row of the body, counted from 0.", ge=0)]


@router.post("/row", responses=schemas.ok(schemas.OneRow, 408, 415), openapi_extra=_ROW_BODY)
async def row_(
    request: Request,
    shared: Shared,
    ontology: OntologyName,
    bundle: BundleName,
    scoring: Annotated[Scoring, Depends()],
    row: WhichRow = 0,
) -> Response:
    """Return one row of a body as numbers in the order of the bundle, without scoring it.

    Beside the bodies that `score` takes, `text/plain` is one row that somebody pasted: numbers, lines of a
    class and a number, a JSON list or object, or a header and a line of numbers. Classes that it does not
    name have probability 0. Minus infinity is given as -1e30, which has the same weight: 0.
    """

    def read(adapter: Adapter, values: Any) -> dict[str, Any]:
        n_rows = values.n_rows if isinstance(values, OutputFile) else len(adapter.rows(values))
        absent = max(absent_value(scoring.outputs), FINITE_ABSENT)
        one = given_row(adapter, values, row).part(slice(0, 1), adapter.order, absent)[0]
        numbers = one.astype(np.float64)
        if np.isnan(numbers).any() or (numbers == np.inf).any():
            raise InputError(f"row: {row} has numbers that are not finite; give finite ones")
        return {"row": np.maximum(numbers, FINITE_ABSENT).tolist(), "n_rows": n_rows}

    return await scored(request, shared, ontology, bundle, scoring, read, pasted(scoring))


def pasted(scoring: Scoring) -> dict[str, Callable[[bytes, Adapter], Any]]:
    """Return what reads a row that somebody pasted, by the type of its body."""

    def read(body: bytes, adapter: Adapter) -> Any:
        try:
            text = body.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise InputError(f"row: not UTF-8 ({error.reason} at byte {error.start}); paste text") from None
        return pasted_row(text, adapter, scoring.outputs)[None]

    return {TEXT: read}


@router.post("/heat", responses=schemas.ok(schemas.HeatDocument, 408, 415), openapi_extra=BODY)
async def heat(
    request: Request,
    shared: Shared,
    ontology: OntologyName,
    bundle: BundleName,
    scoring: Annotated[Scoring, Depends()],
    row: WhichRow = 0,
    focus: Annotated[str | None, Query(description="Key of the label at the top of the map.")] = None,
    width: Width = 1_200,
    levels: Levels = 12,
) -> Response:
    """Explain the answer to one row, with the variances of all candidates as heat for the map.

    `explained` is the answer of `explain`. The rows and cells are those of the route `map` of the version of
    the bundle, for the same `focus`, `width` and `levels`: `lowest` and `mean` have one number for each cell,
    the smallest and the mean variance of the candidates in its branch, or null if there are none. `edges` are
    the variances between which colors change, and `crowded` has a digit for each pixel of narrower branches:
    the color of the lowest variance in it, from 1, or 0. `observed` and `answer` of a row have the places of
    these labels, like `points` of the map.
    """

    def heated(adapter: Adapter, values: Any) -> dict[str, Any]:
        one = given_row(adapter, values, row)
        opened = shared.versions.open(ontology, adapter.bundle.ontology_digest)
        document: dict[str, Any] = {"bundle": f"{ontology}/{bundle}", "digest": adapter.digest, **opened.head}
        document["explained"] = explanation(adapter, one, scoring.among)
        labels = labels_of(adapter, opened.version.digest, opened.answers.index.graph.keys)
        variances = adapter.variances(one, candidates=scoring.among)
        found = Heat(opened.answers.index.order, labels[adapter.bundle.allowed], variances)
        observed = np.unique(labels[adapter.bundle.observed])
        return document | _on_map(
            opened, document["explained"]["answer"], found, observed, focus, width, levels
        )

    return await scored(request, shared, ontology, bundle, scoring, heated)


def _on_map(
    opened: Opened,
    answer: str,
    heat: Heat,
    observed: NDArray[np.int64],
    focus: str | None,
    width: int,
    n_levels: int,
) -> dict[str, Any]:
    order, tops = opened.answers.index.order, opened.tops(focus)
    first, end = tops[0], int(order.end[tops[-1]])
    label = opened.label(answer)
    rows = [
        {
            "depth": row.depth,
            **heat.cells(row.labels),
            "crowded": heat.pixels(row.crowded, first, end, width=width),
            "observed": places(order, observed, row.depth, first, end, width=width),
            "answer": places(order, np.array([label]), row.depth, first, end, width=width),
        }
        for row in opened.levels.rows_between(first, end, width=width, n_levels=n_levels)
    ]
    chain = [opened.answers.item(one) for one in order.chain(label)[::-1]]
    return {"answer": chain[-1] | {"path": chain}, "edges": heat.edges(), "rows": rows}
