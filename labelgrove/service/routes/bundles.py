"""Routes that list bundles, and answer, explain and bind outputs of a model with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice
from types import MappingProxyType
from typing import Annotated, Any, Literal

import msgspec
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
from labelgrove.adapter.outputs.rows import OutputRows
from labelgrove.documents.answers import answers, candidates_of, explanation, header, one_row
from labelgrove.documents.bundles import describe_bundles
from labelgrove.ontology.errors import GroveError, InputError
from labelgrove.service import schemas
from labelgrove.service.access.identity import needs
from labelgrove.service.limits import MOST_ANSWERS, too_many_answers
from labelgrove.service.scoring.jsonrows import check_amount, read_rows
from labelgrove.service.state import OntologyName, Shared, State
from labelgrove.service.temporary import SCORE, temporary_file

__all__ = ["BODY", "ENDINGS", "BundleName", "Scoring", "answer_body", "given_row", "router", "scored"]

router = APIRouter(prefix="/v1/bundles", tags=["scoring"])

_READ, _SCORE = [needs("read")], [needs("score")]

BundleName = Annotated[str, InPath(description="Name of a bundle.", max_length=64, examples=["model"])]

ENDINGS = {
    "application/x-npy": ".npy",
    "application/x-safetensors": ".safetensors",
    "application/vnd.apache.parquet": ".parquet",
    "application/vnd.apache.arrow.file": ".arrow",
    "application/vnd.apache.arrow.stream": ".arrow",
    "text/csv": ".csv",
}
"""Types of bodies that are read as files with these endings."""

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


BODY = {
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
            **{kind: {"schema": {"type": "string", "format": "binary"}} for kind in ENDINGS},
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
    openapi_extra=BODY,
    dependencies=_SCORE,
)
async def score(
    request: Request,
    shared: Shared,
    ontology: OntologyName,
    bundle: BundleName,
    scoring: Annotated[Scoring, Depends()],
    top: Annotated[int, Query(description="Answers for each row.", ge=1, le=MOST_ANSWERS)] = 1,
) -> Response:
    """Answer each row of outputs, as ``grove score --json`` does.

    The columns are in the order of the bundle, unless the body names them: as ``columns`` of a JSON document,
    or in the header of a CSV, Parquet or Arrow file.
    """

    def answered(adapter: Adapter, values: Any) -> dict[str, Any]:
        columns = header(values)
        most = shared.limits.score_answers
        found = islice(answers(adapter, values, top, scoring.among), most + 1)
        rows: list[dict[str, Any]] = [dict(zip(columns, row, strict=True)) for row in found]
        if len(rows) > most:
            raise InputError(too_many_answers(most))
        shared.scorers.count(rows[-1]["row"] + 1 if rows else 0)
        return {"bundle": f"{ontology}/{bundle}", "digest": adapter.digest, "items": rows}

    return await scored(request, shared, ontology, bundle, scoring, answered)


@router.post(
    "/{ontology}/{bundle}/explain",
    responses=schemas.ok(schemas.Explained, 408, 415),
    openapi_extra=BODY,
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
        return explanation(adapter, given_row(adapter, values, row), scoring.among)

    return await scored(request, shared, ontology, bundle, scoring, explained)


def given_row(adapter: Adapter, values: Any, row: int) -> OutputRows:
    """Return one of the rows of a body."""
    return one_row(adapter, values, row, f"row: {row} given, and the body")


class Columns(BaseModel):
    """Names of the columns of a model."""

    columns: Annotated[list[str], Field(min_length=1, max_length=100_000)]
    by: Literal["auto", "key", "name"] = "auto"


@router.post("/{ontology}/{bundle}/bind", responses=schemas.ok(schemas.Bound), dependencies=_SCORE)
def bind(shared: Shared, ontology: OntologyName, bundle: BundleName, given: Columns) -> schemas.Bound:
    """Tell which observed label each column of a model means; one that means none, or several, says why."""
    found = shared.models.open(ontology, bundle).bundle
    by: By = given.by
    keys, names = found.observed_keys, found.observed_names  # which take them from all labels each time
    known = LabelNames(keys, names, by)
    items = []
    for column in given.columns:
        labels = known.meant(column)
        candidates = [{"key": keys[i], "name": names[i]} for i in labels]
        one = candidates[0] if len(candidates) == 1 else None
        items.append(
            {
                "column": column,
                "key": one["key"] if one else None,
                "candidates": candidates,
                "problem": None if one else known.fault(column),
            }
        )
    missing = sorted({*keys} - {item["key"] for item in items})
    return schemas.Bound.model_validate({"items": items, "total": len(items), "missing": missing})


async def scored(
    request: Request,
    shared: State,
    ontology: str,
    bundle: str,
    scoring: Scoring,
    answer: Callable[[Adapter, Any], dict[str, Any]],
    further: Mapping[str, Callable[[bytes, Adapter], Any]] = MappingProxyType({}),
) -> Response:
    """Read the body, and answer it with the adapter of the bundle on a thread that scores.

    `further` are types of bodies that only this route takes, with what reads rows from them.
    """
    with shared.scorers.place():
        body = await shared.scorers.body(request)
        kind = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()

        def work() -> Response:
            adapter = shared.models.open(ontology, bundle)
            document = answer_body(shared, adapter, kind, body, scoring, answer, further)
            return Response(msgspec.json.encode(document), media_type="application/json")

        return await shared.scorers.run(work)


def answer_body(
    shared: State,
    adapter: Adapter,
    kind: str,
    body: bytes,
    scoring: Scoring,
    answer: Callable[[Adapter, Any], dict[str, Any]],
    further: Mapping[str, Callable[[bytes, Adapter], Any]] = MappingProxyType({}),
) -> dict[str, Any]:
    """Return what `answer` says of the rows of a body; `kind` is its type, one of `further` or of all."""
    most = shared.limits.score_values
    if kind == "application/json":
        rows, columns = read_rows(body, adapter.n_observed, most, max(adapter.n_observed, _MOST_FAULTS))
        return answer(_bound(adapter, columns, scoring), rows)
    if kind in ENDINGS:
        return _of_file(body, ENDINGS[kind], adapter, scoring, answer, most)
    if kind in further:
        return answer(_bound(adapter, None, scoring), further[kind](body, adapter))
    known = ", ".join(("application/json", *ENDINGS, *further))
    raise InputError(f"content-type: {kind!r:.80} given; send one of {known}")


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
    with temporary_file(SCORE, f"body{ending}", lambda file: file.write(body)) as path:
        try:
            labels = {*bundle.observed_keys, *bundle.observed_names}
            found = open_outputs(path, labels=labels, keys=bundle.observed_keys)
            if isinstance(found, OutputFile):  # Parquet and Arrow can have far more numbers than bytes
                check_amount((found.n_rows or 0) * found.n_columns, most)
            named = found.columns if isinstance(found, OutputFile) else None
            columns = None if named is None else list(named)
            document: dict[str, Any] = answer(_bound(adapter, columns, scoring), found)
        except GroveError as error:  # its message may name the path on this machine
            error.args = tuple(str(part).replace(f"{path.parent}/", "") for part in error.args)
            raise
    return document
