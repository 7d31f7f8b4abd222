"""The Open Inference Protocol, version 2: every bundle is a model, called ``ontology~bundle``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Header, Path, Request
from numpy.typing import NDArray
from starlette.responses import JSONResponse, Response

import labelgrove
from labelgrove.adapter import Adapter
from labelgrove.adapter.outputs.outputkinds import KINDS
from labelgrove.ontology.errors import InputError, NotFoundError
from labelgrove.service import schemas
from labelgrove.service.access.identity import needs
from labelgrove.service.limits import MOST_ANSWERS, too_many_answers
from labelgrove.service.scoring.tensors import InferRequest, Tensor, Wanted, read_request, write_answer
from labelgrove.service.state import Shared, State, readiness_of

__all__ = ["router"]

router = APIRouter(prefix="/v2", tags=["inference"])

_SCORE = [needs("score")]

ModelName = Annotated[str, Path(description="`ontology~bundle`.", max_length=129, examples=["animals~model"])]
ModelVersion = Annotated[
    str, Path(description="Digest of the bundle, or its first 8 digits or more.", pattern="^[0-9a-f]{8,64}$")
]

Length = Annotated[
    str | None,
    Header(
        alias="Inference-Header-Content-Length",
        description="Length of the JSON document, if contents of tensors follow it.",
        max_length=40,
    ),
]

_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": {"type": "object"}},
            "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
        },
    }
}

_OUTPUTS = {"label": "BYTES", "name": "BYTES", "index": "INT64", "variance": "FP64", "n_tied": "INT64"}
_UNASKED = ("label", "index", "variance")


@router.get("", responses=schemas.ok(None))
def server() -> dict[str, Any]:
    """Return the name and the release of the service, and the extensions of the protocol that it knows."""
    extensions = ["binary_tensor_data", "classification", "model_repository"]
    return {"name": "labelgrove", "version": labelgrove.__version__, "extensions": extensions}


@router.get("/health/live", responses=schemas.ok(None))
async def live() -> dict[str, bool]:
    """Tell that the process answers."""
    return {"live": True}


@router.get("/health/ready", responses=schemas.ok(None))
async def ready(request: Request) -> Response:
    """Tell whether the service can answer; 503 otherwise."""
    found = not await readiness_of(request).missing()
    return JSONResponse({"ready": found}, status_code=200 if found else 503)


@router.post("/repository/index", responses=schemas.ok(None), dependencies=_SCORE)
def repository(shared: Shared) -> list[dict[str, str]]:
    """Return the models that can be asked."""
    found = shared.workspace.catalog.bundles()
    return [
        {"name": f"{one.ontology}~{one.name}", "version": one.sha256, "state": "READY", "reason": ""}
        for one in found
    ]


@router.get("/models/{model}", responses=schemas.ok(None), dependencies=_SCORE)
def metadata(shared: Shared, model: ModelName) -> dict[str, Any]:
    """Return the tensors that a model takes and answers."""
    return _described(shared, model, None)


@router.get("/models/{model}/versions/{version}", responses=schemas.ok(None), dependencies=_SCORE)
def metadata_of_version(shared: Shared, model: ModelName, version: ModelVersion) -> dict[str, Any]:
    """Return the tensors that a model takes and answers, if the version is the current one."""
    return _described(shared, model, version)


@router.get("/models/{model}/ready", responses=schemas.ok(None), dependencies=_SCORE)
def model_ready(shared: Shared, model: ModelName) -> dict[str, Any]:
    """Tell whether a model can answer."""
    return {"name": model, "version": _open(shared, model, None).digest, "ready": True}


@router.get("/models/{model}/versions/{version}/ready", responses=schemas.ok(None), dependencies=_SCORE)
def version_ready(shared: Shared, model: ModelName, version: ModelVersion) -> dict[str, Any]:
    """Tell whether a version of a model can answer, because it is the current one."""
    return {"name": model, "version": _open(shared, model, version).digest, "ready": True}


@router.post(
    "/models/{model}/infer", responses=schemas.ok(None, 408, 415), openapi_extra=_BODY, dependencies=_SCORE
)
async def infer(request: Request, shared: Shared, model: ModelName, length: Length = None) -> Response:
    """Answer rows of a model's outputs with labels.

    The tensor has a row for each sample and a column for each observed label, in the order that the metadata
    of the model give. Its name, or the parameter `outputs`, says what it has: probabilities,
    log_probabilities or logits; `temperature`, `k` (number of answers) and `candidates` (leaves, observed,
    locus or a list of keys) are parameters too.
    """
    return await _inferred(request, shared, model, None, length)


@router.post(
    "/models/{model}/versions/{version}/infer",
    responses=schemas.ok(None, 408, 415),
    openapi_extra=_BODY,
    dependencies=_SCORE,
)
async def infer_by_version(
    request: Request, shared: Shared, model: ModelName, version: ModelVersion, length: Length = None
) -> Response:
    """Answer rows of a model's outputs with labels, if the version of the model is the current one."""
    return await _inferred(request, shared, model, version, length)


async def _inferred(
    request: Request, shared: State, model: str, version: str | None, length: str | None
) -> Response:
    with shared.scorers.place():
        body = await shared.scorers.body(request)

        def work() -> Response:
            adapter = _open(shared, model, version)
            asked = read_request(body, length, shared.limits.score_values)
            return _answered(shared, adapter, model, asked)

        return await shared.scorers.run(work)


def _described(shared: State, model: str, version: str | None) -> dict[str, Any]:
    adapter = _open(shared, model, version)
    return {
        "name": model,
        "versions": [adapter.digest],
        "platform": "labelgrove",
        "inputs": [{"name": KINDS[0], "datatype": "FP32", "shape": [-1, adapter.n_observed]}],
        "outputs": [{"name": name, "datatype": kind, "shape": [-1, 1]} for name, kind in _OUTPUTS.items()],
        "parameters": {"observed": list(adapter.observed), "n_labels": adapter.n_labels},
    }


def _open(shared: State, model: str, version: str | None) -> Adapter:
    ontology, between, bundle = model.partition("~")
    if not between:
        raise NotFoundError(f"model: {model!r:.80} given; models are called ontology~bundle, see /v1/bundles")
    return shared.models.open(ontology, bundle, version)


def _answered(shared: State, adapter: Adapter, model: str, asked: InferRequest) -> Response:
    tensor = _chosen(adapter, asked.tensors)
    given = asked.parameters
    kind = given.get("outputs", tensor.name if tensor.name in KINDS else "probabilities")
    adapter = adapter.with_outputs(kind, given.get("temperature", 1.0))
    rows = tensor.values if tensor.values.ndim == 2 else tensor.values.reshape(1, -1)
    wanted = asked.wanted or [Wanted(name, asked.binary) for name in _UNASKED]
    if unknown := [one.name for one in wanted if one.name not in _OUTPUTS]:
        raise InputError(f"outputs: {unknown[0]!r:.80} is not known; name some of {', '.join(_OUTPUTS)}")
    k = given.get("k", 1)
    if type(k) is not int or not 1 <= k <= MOST_ANSWERS:
        raise InputError(f"k: {k!r:.40} given; give a number of answers between 1 and {MOST_ANSWERS:,}")
    most = max(k, *(one.classification for one in wanted))
    if most > MOST_ANSWERS:
        raise InputError(f"classification: {most} given; ask for at most {MOST_ANSWERS:,} classes")
    if len(rows) * min(most, adapter.n_labels) > shared.limits.score_answers:
        raise InputError(too_many_answers(shared.limits.score_answers))
    ranked = any(one.classification or one.name in ("variance", "n_tied") for one in wanted)
    found = _Answers(adapter, rows, min(most, adapter.n_labels), given.get("candidates"), ranked=ranked)
    tensors = [(found.tensor(one, k), one.binary) for one in wanted]
    head = {"model_name": model, "model_version": adapter.digest}
    if asked.id is not None:
        head["id"] = asked.id
    content, length = write_answer(head, tensors)
    shared.scorers.count(len(rows))
    if length is None:
        return Response(content, media_type="application/json")
    headers = {"Inference-Header-Content-Length": str(length)}
    return Response(content, media_type="application/octet-stream", headers=headers)


def _chosen(adapter: Adapter, tensors: list[Tensor]) -> Tensor:
    """Return the tensor with the outputs of the model: the only one, by its name, or by its columns."""
    if len(tensors) == 1:
        return tensors[0]
    for fits in (
        [one for one in tensors if one.name in KINDS],
        [one for one in tensors if one.values.ndim == 2 and one.values.shape[1] == adapter.n_observed],
    ):
        if len(fits) == 1:
            return fits[0]
    names = ", ".join(repr(one.name)[:40] for one in tensors)
    raise InputError(
        f"inputs: {names} given; call the tensor with {adapter.n_observed} columns probabilities or logits"
    )


class _Answers:
    """The best labels of each row as arrays of shape (n_rows, k); what nobody wants is not computed."""

    def __init__(
        self, adapter: Adapter, rows: NDArray[Any], k: int, candidates: Any, *, ranked: bool
    ) -> None:
        self.adapter = adapter
        if ranked or k > 1:
            ranking = adapter.top_k(rows, k, candidates=candidates)
            self.index, self.variance, self.n_tied = ranking.indices, ranking.values, ranking.n_tied[:, None]
        else:
            self.index = adapter.predict_indices(rows, candidates=candidates)[:, None]

    def tensor(self, wanted: Wanted, k: int) -> Tensor:
        """Return one output, of `k` answers or as classes."""
        if wanted.classification:
            n = min(wanted.classification, self.index.shape[1])
            index, variance = self.index[:, :n], self.variance[:, :n]
            keys = self.adapter.keys.take(index.ravel())
            pairs = zip(variance.ravel().tolist(), index.ravel().tolist(), keys, strict=True)
            return _text(wanted.name, index.shape, [f"{-value}:{label}:{key}" for value, label, key in pairs])
        if wanted.name == "n_tied":
            return Tensor(wanted.name, self.n_tied)
        if wanted.name == "variance":
            return Tensor(wanted.name, np.ascontiguousarray(self.variance[:, :k]))
        index = np.ascontiguousarray(self.index[:, :k])
        if wanted.name == "index":
            return Tensor(wanted.name, index)
        texts = self.adapter.keys if wanted.name == "label" else self.adapter.names
        return _text(wanted.name, index.shape, texts.take(index.ravel()))


def _text(name: str, shape: tuple[int, ...], texts: Iterable[str]) -> Tensor:
    values = np.empty(shape, dtype=object)
    values.ravel()[:] = list(texts)
    return Tensor(name, values)
