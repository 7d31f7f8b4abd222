"""A million random rows in every dtype, memory order and kind: the answers are those of float64."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from labelgrove.adapter import Adapter, build_bundle
from labelgrove.ontology.labelgraph import LabelGraph
from tests.sampled import sampled

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("compiled_scoring")]

N_LABELS, N_OBSERVED, N_ROWS, AT_ONCE = 3_000, 120, 1_000_000, 20_000
TOP = 5
KINDS, LABELS = ("probabilities", "logits", "log_probabilities"), ("all", "leaves", "block")
CASES = sampled(((kind, labels) for kind in KINDS for labels in LABELS), every=4)
DTYPES = (np.float16, ml_dtypes.bfloat16, np.float32, np.float64, np.longdouble, ">f4", np.int32)


def drawn(rng: np.random.Generator, kind: str, n: int) -> NDArray[np.float64]:
    """Rows of outputs: flat, peaked, with few distinct numbers (and so with ties), and with a few entries."""
    logits = rng.normal(size=(n, N_OBSERVED)) * rng.choice([0.01, 1, 5, 40], size=(n, 1))
    some = rng.random(n) < 0.4
    logits[some] = np.round(logits[some])
    few = rng.random(n) < 0.2
    logits[few] = np.where(rng.random((int(few.sum()), N_OBSERVED)) < 0.03, np.round(logits[few]), -np.inf)
    logits[:, 0] = np.maximum(logits[:, 0], -50)  # one entry at least
    if kind == "logits":
        return logits
    logits -= logits.max(axis=1, keepdims=True)
    weights = np.exp(logits)
    if kind == "probabilities":
        return weights / weights.sum(axis=1, keepdims=True)
    return logits - np.log(weights.sum(axis=1, keepdims=True)) - 0.01


def layouts(rows: NDArray[Any]) -> Iterator[NDArray[Any]]:
    yield rows
    yield np.asfortranarray(rows)
    wide = np.zeros((len(rows), 2 * N_OBSERVED), dtype=rows.dtype)
    wide[:, ::2] = rows
    yield wide[:, ::2]
    yield rows[::-1][::-1]


@pytest.mark.parametrize(("kind", "labels"), CASES)
def test_every_way_gives_the_answers_of_float64(kind: str, labels: str) -> None:
    rng = np.random.default_rng([len(kind), len(labels)])
    keys = [f"v{i:04d}" for i in range(N_LABELS)]
    pairs = [(keys[i], keys[max(i - int(rng.integers(1, 60)), 0)]) for i in range(1, N_LABELS)]
    observed = [keys[i] for i in rng.permutation(N_LABELS)[:N_OBSERVED]]
    graph = LabelGraph.from_edges(pairs)
    if labels == "block":
        bundle = build_bundle(graph, observed, metric="graph")
    else:
        bundle = build_bundle(graph, observed, metric="tree", labels=labels)
    adapter = Adapter(bundle, sorted(observed, reverse=True), by="key", outputs=kind, temperature=1.0)
    n_tied = 0
    for start in range(0, N_ROWS // 9, AT_ONCE):
        given = drawn(rng, kind, AT_ONCE)
        for dtype in DTYPES if start == 0 else (np.float16, np.float32, np.float64):
            if dtype is np.int32:
                given = np.clip(np.round(given * 100), 0 if kind == "probabilities" else -(10**6), None)
                given = np.minimum(given, 0) if kind == "log_probabilities" else given
                given[:, 0] += kind == "probabilities"
            rows = given.astype(dtype)
            if kind == "probabilities":
                rows[:, 0] = np.maximum(rows[:, 0], np.asarray(1, dtype))  # no row is zero in half precision
            exact = adapter.top_k(rows.astype(np.float64), TOP)
            n_tied += int((exact.n_tied > 1).sum())
            for some in layouts(rows) if start == 0 else (rows,):
                assert (adapter.predict_indices(some) == exact.indices[:, 0]).all(), (dtype, some.flags)
                for k in (1, TOP):
                    found = adapter.top_k(some, k)
                    assert (found.indices == exact.indices[:, :k]).all(), (dtype, some.flags, k)
                    assert (found.values == exact.values[:, :k]).all(), (dtype, some.flags, k)
                    assert (found.n_tied == exact.n_tied).all(), (dtype, some.flags, k)
    assert n_tied > N_ROWS // 900
