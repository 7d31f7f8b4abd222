"""Routes that list bundles, and answer, explain and bind outputs of a model with them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from fastapi import APIRouter, Depends, Query, Request
from fastapi import Path as InPath
from pydantic import BaseModel, Field
from starlette.responses import Response

from labelgrove.adapter import Adapter
from labelgrove.adapter.columns.binding import By
from labelgrove.adapter.columns.labelnames import LabelNames
from labelgrove.adapter.outputs.opening import open_outputs
from labelgrove.adapter.outputs.outputfiles import OutputFile
from labelgrove.adapter.outputs.outputkinds import OutputKind
from labelgrove.documents.answers import answers, candidates_of, header
from labelgrove.documents.bundles import describe_bundles
from labelgrove.ontology.errors import GroveError, InputError
from labelgrove.service import schemas
from labelgrove.service.access.identity import needs
from labelgrove.service.limits import too_many_answers
from labelgrove.service.state import OntologyName, Shared, State

__all__ = ["router"]

router = APIRouter(prefix="/v1/bundles", tags=["scoring"])

_READ, _SCORE = [needs("read")], [needs("score")]

BundleName = Annotated[str, InPath(description="Name of a bundle.", max_length=64, examples=["model"])]

_ENDINGS = {
    "application/x-npy": ".npy",
    "application/x-safetensors": ".safetensors",
    "application/vnd.apache.parquet": ".parquet",
    "text/csv": ".csv",
}
"""Types of bodies that are read as files with these endings."""

_MOST_ANSWERS = 1_000

_MOST_FAULTS = 1_000
"""Most columns that are looked for one by one in a bundle with fewer labels."""


class Scoring:
    """What requests about rows of outputs have in common."""

    def __init__(
        self,
        outputs: Annotated[OutputKind, Query(description="Kind of the outputs.")] = "probabilities",
        temperature: Annotated[float, Query(description="Divides logits and log-probabilities.")] = 1.0,
        candidates: Annotated[
            str | None,
            Query(
                description="`leaves`, `observed`, `locus`, `subtree:KEY`, or keys separated by commas.",
                max_length=100_000,
            ),
        ] = None,
    ) -> None:
        self.outputs: OutputKind = outputs
        self.temperature = temperature
        self.among = candidates_of(candidates, lambda text: text.split(","))


_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {
                    "type": "object",
                    "required": ["rows"],
                    "properties": {
                        "rows": {"type": "array", "items": {"type": "array", "items": {"type": "number"}}},
                        "columns": {"type": "array", "items": {"type": "string"}},
                    },
                }
            },
            **{kind: {"schema": {"type": "string", "format": "binary"}} for kind in _ENDINGS},
        },
    }
}
"""The body of a request for scores, which pydantic does not read, because it may be large."""


@router.get("", responses=schemas.ok(schemas.BundleList), dependencies=_READ)
def list_bundles(
    shared: Shared, ontology: Annotated[str | None, Query(description="Only of this ontology.")] = None
) -> schemas.BundleList:
    """Return the named bundles; those made from a version that is no longer current are stale."""
    items = describe_bundles(shared.workspace, ontology)
    return schemas.BundleList.model_validate({"items": items, "total": len(items)})


@router.get("/{ontology}/{bundle}", responses=schemas.ok(schemas.BundleDocument), dependencies=_READ)
def show_bundle(shared: Shared, ontology: OntologyName, bundle: BundleName) -> dict[str, Any]:
    """Return the properties of a bundle, and its observed labels in the order of the columns of a model."""
    found = shared.models.open(ontology, bundle).bundle
    return found.inspect() | {"observed": list(found.observed_keys)}


@router.post(
    "/{ontology}/{bundle}/score",
    responses=schemas.ok(schemas.Scores, 408, 415),
    openapi_extra=_BODY,
    dependencies=_SCORE,
)
async def score(
    request: Request,
    shared: Shared,
    ontology: OntologyName,
    bundle: BundleName,
    scoring: Annotated[Scoring, Depends()],
    top: Annotated[int, Query(description="Answers for each row.", ge=1, le=_MOST_ANSWERS)] = 1,
) -> Response:
    """Answer each row of outputs, as ``grove score --json`` does.

    The columns are in the order of the bundle, unless the body names them: as ``columns`` of a JSON document,
    or in the header of a CSV or Parquet file.
    """

    def answered(adapter: Adapter, values: Any) -> dict[str, Any]:
        columns = header(values)
        most = shared.limits.score_answers
        found = islice(answers(adapter, values, top, scoring.among), most + 1)
        rows = [dict(zip(columns, row, strict=True)) for row in found]
        if len(rows) > most:
            raise InputError(too_many_answers(most))
        return {"bundle": f"{ontology}/{bundle}", "digest": adapter.digest, "items": rows}

    return await _scored(request, shared, ontology, bundle, scoring, answered)


@router.post(
    "/{ontology}/{bundle}/explain",
    responses=schemas.ok(schemas.Explained, 408, 415),
    openapi_extra=_BODY,
    dependencies=_SCORE,
)
async def explain(
    request: Request,
    shared: Shared,
    ontology: OntologyName,
    bundle: BundleName,
    scoring: Annotated[Scoring, Depends()],
    row: Annotated[int, Query(description="The row to explain, counted from 0.", ge=0)] = 0,
) -> Response:
    """Explain the answer to one row, as ``grove score --explain ROW --json`` does."""

    def explained(adapter: Adapter, values: Any) -> dict[str, Any]:
        rows = adapter.rows(values.read() if isinstance(values, OutputFile) else values)
        if row >= len(rows):
            raise InputError(f"row: {row} given, and the body has {len(rows)} rows, counted from 0")
        return asdict(adapter.explain(rows.only(slice(row, row + 1)), candidates=scoring.among))

    return await _scored(request, shared, ontology, bundle, scoring, explained)


class Columns(BaseModel):
    """Names of the columns of a model."""

    columns: Annotated[list[str], Field(min_length=1, max_length=100_000)]
    by: Literal["auto", "key", "name"] = "auto"


@router.post("/{ontology}/{bundle}/bind", responses=schemas.ok(schemas.Bound), dependencies=_SCORE)
def bind(shared: Shared, ontology: OntologyName, bundle: BundleName, given: Columns) -> schemas.Bound:
    """Tell which observed label each column of a model means; one that means none, or several, says why."""
    found = shared.models.open(ontology, bundle).bundle
    by: By = given.by
    known = LabelNames(found.observed_keys, found.observed_names, by)
    items = []
    for column in given.columns:
        labels = known.meant(column)
        candidates = [{"key": found.observed_keys[i], "name": found.observed_names[i]} for i in labels]
        one = candidates[0] if len(candidates) == 1 else None
        items.append(
            {
                "column": column,
                "key": one["key"] if one else None,
                "candidates": candidates,
                "problem": None if one else known.fault(column),
            }
        )
    missing = sorted({*found.observed_keys} - {item["key"] for item in items})
    return schemas.Bound.model_validate({"items": items, "total": len(items), "missing": missing})


async def _scored(
    request: Request,
    shared: State,
    ontology: str,
    bundle: str,
    scoring: Scoring,
    answer: Callable[[Adapter, Any], dict[str, Any]],
) -> Response:
    """Read the body, and answer it with the adapter of the bundle on a thread that scores."""
    with shared.scorers.place():
        body = await shared.scorers.body(request)
        kind = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()

        def work() -> Response:
            adapter = shared.models.open(ontology, bundle)
            if kind == "application/json":
                rows, columns = _of_document(body, adapter.n_observed, shared.limits.score_values)
                document = answer(_bound(adapter, columns, scoring), rows)
            elif kind in _ENDINGS:
                most = shared.limits.score_values
                document = _of_file(body, _ENDINGS[kind], adapter, scoring, answer, most)
            else:
                known = ", ".join(("application/json", *_ENDINGS))
                raise InputError(f"content-type: {kind!r:.80} given; send one of {known}")
            return Response(msgspec.json.encode(document), media_type="application/json")

        return await shared.scorers.run(work)


def _bound(adapter: Adapter, columns: list[str] | None, scoring: Scoring) -> Adapter:
    if columns is None:
        return adapter.with_outputs(scoring.outputs, scoring.temperature)
    n_observed = len(adapter.bundle.observed_keys)
    if len(columns) > max(n_observed, _MOST_FAULTS):  # each of them would be looked for, and named
        raise InputError(
            f"columns: {len(columns):,} given, and the bundle has {n_observed:,} observed labels; "
            "give one for each of them, see the route /bind"
        )
    return Adapter(adapter.bundle, columns, outputs=scoring.outputs, temperature=scoring.temperature)


class _Rows(msgspec.Struct):
    rows: list[list[float]]
    columns: list[str] | None = None


def _of_document(body: bytes, n_observed: int, most: int) -> tuple[Any, list[str] | None]:
    try:
        found = msgspec.json.decode(body, type=_Rows)
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        raise InputError(
            f'body: {error}; send a document such as {{"rows": [[0.5, 0.5]]}}, see /reference'
        ) from None
    widths = {len(row) for row in found.rows}
    if 0 in widths:  # millions of them are a small body
        raise InputError("rows: a row without numbers given; give each row a number for each observed label")
    if len(widths) > 1:
        raise InputError(f"rows: of {min(widths)} to {max(widths)} numbers; give each row the same number")
    _check_amount(sum(map(len, found.rows)), most)
    n_columns = n_observed if found.columns is None else len(found.columns)
    width = widths.pop() if widths else n_columns  # no rows do not say how many columns they have
    return np.array(found.rows, dtype=np.float64).reshape(len(found.rows), width), found.columns


def _check_amount(n_values: int, most: int) -> None:
    if n_values > most:
        raise InputError(f"rows: {n_values:,} numbers given; send at most {most:,} at once")


def _of_file(
    body: bytes,
    ending: str,
    adapter: Adapter,
    scoring: Scoring,
    answer: Callable[[Adapter, Any], Any],
    most: int,
) -> dict[str, Any]:
    """Answer a body that is a file; it is written to a folder of its own, where the readers map it."""
    bundle = adapter.bundle
    with tempfile.TemporaryDirectory(prefix="grove-score-") as folder:
        path = Path(folder) / f"body{ending}"
        path.write_bytes(body)
        try:
            labels = {*bundle.observed_keys, *bundle.observed_names}
            found = open_outputs(path, labels=labels, keys=bundle.observed_keys)
            if isinstance(found, OutputFile):  # a Parquet file can have far more numbers than bytes
                _check_amount((found.n_rows or 0) * found.n_columns, most)
            named = found.columns if isinstance(found, OutputFile) else None
            columns = None if named is None else list(named)
            document: dict[str, Any] = answer(_bound(adapter, columns, scoring), found)
        except GroveError as error:  # its message may name the path on this machine
            error.args = tuple(str(part).replace(f"{folder}/", "") for part in error.args)
            raise
    return document
