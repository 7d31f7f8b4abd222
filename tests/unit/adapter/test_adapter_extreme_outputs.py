"""Outputs and temperatures at the limits of floats: every way of scoring gives one answer, or one refusal."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from labelgrove.adapter import Adapter, build_bundle
from labelgrove.adapter.engines.arrays import ArrayAdapter
from labelgrove.adapter.outputs.rows import DenseRows
from labelgrove.adapter.outputs.weights import OutputReader
from labelgrove.adapter.scorer import Adapter as ScoringAdapter
from labelgrove.ontology.errors import WeightError
from labelgrove.ontology.geometry.scoring.compilation import Compilation
from labelgrove.ontology.geometry.ties import TIE_RELATIVE, TOTALS
from labelgrove.ontology.labelgraph import LabelGraph

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("compiled_scoring")]

N_LABELS, N_OBSERVED = 120, 24
MOST, LEAST = sys.float_info.max, 5e-324
KINDS = ["tree", "leaves", "block", "complete"]


def made(kind: str, n_observed: int = N_OBSERVED, **options: Any) -> ScoringAdapter:
    """An adapter whose model has its columns in an order of its own."""
    rng = np.random.default_rng(1)
    keys = [f"v{i:03d}" for i in range(N_LABELS)]
    observed = [keys[i] for i in rng.permutation(N_LABELS)[:n_observed]]
    if kind == "complete":
        graph, metric = LabelGraph.complete(N_LABELS), "auto"
        observed = list(graph.keys)[:n_observed]
    else:
        pairs = [(keys[i], keys[max(i - int(rng.integers(1, 12)), 0)]) for i in range(1, N_LABELS)]
        metric = "graph" if kind == "block" else "tree"
        if kind == "block":
            pairs += [(keys[i], keys[i - 11]) for i in range(11, N_LABELS, 5)]
        graph = LabelGraph.from_edges(sorted(set(pairs)))
    labels = "leaves" if kind == "leaves" else "all"
    bundle = build_bundle(graph, observed, metric=metric, labels=labels)  # type: ignore[arg-type]
    return Adapter(bundle, sorted(observed, reverse=True), by="key", **options)


Outcome = list[int] | str
"""The labels of all rows, or the error."""


def outcome(answers: Callable[[], NDArray[np.int64]]) -> Outcome:
    try:
        return answers().ravel().tolist()
    except WeightError as error:
        return str(error)


def uncompiled(answers: Callable[[], NDArray[np.int64]]) -> Callable[[], NDArray[np.int64]]:
    def call() -> NDArray[np.int64]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Compilation, "module", lambda *_: None)
            return answers()

    return call


def best_labels(adapter: ScoringAdapter, rows: Any) -> dict[str, Callable[[], NDArray[np.int64]]]:
    return {
        "predict": lambda: adapter.predict_indices(rows),
        "top 1": lambda: adapter.top_k(rows, 1).indices,
        "top 5": lambda: adapter.top_k(rows, 5).indices[:, 0],
    }


def ways(adapter: ScoringAdapter, rows: NDArray[Any]) -> Iterator[tuple[str, Outcome]]:
    """Yield the outcome of every way to ask for the best label of each row."""
    spread = np.zeros((len(rows), 2 * rows.shape[1]), dtype=rows.dtype)
    spread[:, ::2] = rows
    forms = {
        "as given": rows,
        "Fortran": np.asfortranarray(rows),
        "spread": spread[:, ::2],
        "swapped": rows if rows.dtype.kind == "V" else rows.astype(rows.dtype.newbyteorder()),
        "list": rows.astype(np.float64).tolist(),
    }
    for name, some in forms.items():
        for asked, call in best_labels(adapter, some).items():
            yield f"{name}, {asked}", outcome(call)
            if name == "as given":
                yield f"{asked}, not compiled", outcome(uncompiled(call))
    yield "threads", outcome(lambda: adapter.predict_indices(rows, threads=2))


def ways_of_row(adapter: ScoringAdapter, row: NDArray[Any]) -> Iterator[tuple[str, Outcome]]:
    for asked, call in best_labels(adapter, row).items():
        yield asked, outcome(call)
        yield f"{asked}, not compiled", outcome(uncompiled(call))


# ---- logits ----------------------------------------------------------------------------------------------


def best_by_plain_softmax(adapter: ScoringAdapter, rows: NDArray[Any]) -> list[int]:
    """The labels for weights that numpy computes in float64, by plain sums over all distances."""
    logits = rows.astype(np.float64)
    logits = logits if adapter.order is None else logits[:, adapter.order]
    with np.errstate(over="ignore"):
        weights = np.exp((logits - logits.max(axis=1, keepdims=True)) / adapter.temperature)
    weights /= weights.sum(axis=1, keepdims=True)
    distances = adapter.distances(np.arange(adapter.n_labels)).astype(np.float64)
    total = np.zeros((len(rows), adapter.n_labels))
    for i in range(adapter.n_observed):
        total += weights[:, i, None] * distances[:, i] ** 2
    return np.argmax(total <= total.min(axis=1, keepdims=True) * (1 + TIE_RELATIVE), axis=1).tolist()


TEMPERATURES = [
    *(LEAST, 1e-310, 1e-300, 1e-46, 1e-40, 1e-38, 1e-30, 1e-3, 1.0, 2.5, 1e3, 1e30, 1e37, 1e38, 3e38),
    *(1e39, 1e41, 1e43, 1e45, 1e46, 1e60, 1e300, 1e308, MOST),
]


def finite_in(rows: NDArray[np.float64], dtype: Any) -> NDArray[Any]:
    """Return the rows in a dtype, with numbers too large for it as its largest ones."""
    most = float(ml_dtypes.finfo(dtype).max)
    with np.errstate(under="ignore"):
        return np.where(np.isneginf(rows), rows, np.clip(rows, -most, most)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, ml_dtypes.bfloat16])
@pytest.mark.parametrize("kind", KINDS)
def test_logits_of_the_size_of_any_temperature_are_answered_as_by_plain_softmax(
    kind: str, dtype: Any
) -> None:
    rng = np.random.default_rng(2)
    for temperature in TEMPERATURES:
        adapter = made(kind, outputs="logits", temperature=temperature)
        with np.errstate(over="ignore"):
            rows = rng.normal(size=(12, N_OBSERVED)) * (temperature * np.repeat([0.01, 1, 5, 80], 3))[:, None]
        rows = finite_in(rows, dtype)
        rows[1, :4] = -np.inf
        expected, found = best_by_plain_softmax(adapter, rows), dict(ways(adapter, rows))
        assert found == dict.fromkeys(found, expected), temperature
        for row, label in zip(rows[1::3], expected[1::3], strict=True):
            each = dict(ways_of_row(adapter, row))
            assert each == {asked: [label] for asked in each}, temperature


# ---- the sum of a row ------------------------------------------------------------------------------------

ADAPTERS = {kind: made(kind) for kind in KINDS}
ENGINES = {kind: ArrayAdapter(adapter) for kind, adapter in ADAPTERS.items()}


def beside_a_limit(limit: float, seed: int, steps: int) -> NDArray[np.float64]:
    """A row whose sum is some steps from a limit, so that it depends on the order of the addition."""
    rng = np.random.default_rng(seed)
    row = rng.permutation(rng.dirichlet(np.full(N_OBSERVED, rng.choice([0.1, 1, 50])))) * limit
    last = int(row.argmax())
    others = [x for i, x in enumerate(row.tolist()) if i != last]
    row[last] = math.fsum([limit, steps * np.spacing(limit), *(-x for x in others)])
    return row


def refused(row: NDArray[np.float64]) -> bool:
    """Whether the rule refuses the row: its sum, rounded once, is beyond a limit, or a weight is negative."""
    if not np.isfinite(row).all() or row.min() < 0:
        return True
    with np.errstate(over="ignore"):
        return row.sum() == np.inf or not TOTALS[0] <= math.fsum(row) <= TOTALS[1]


def assert_one_outcome(rows: NDArray[np.float64]) -> None:
    for kind, adapter in ADAPTERS.items():
        found = dict(ways(adapter, rows))
        found["arrays"] = outcome(lambda kind=kind: ENGINES[kind].predict_indices(rows))
        assert len({str(each) for each in found.values()}) == 1, (kind, found)
        bad = [refused(row) for row in rows]
        assert isinstance(found["as given, predict"], str) == any(bad), (kind, found)
        for row, expected in zip(rows, bad, strict=True):
            alone = dict(ways_of_row(adapter, row))
            assert len({str(each) for each in alone.values()}) == 1, (kind, alone)
            assert isinstance(alone["predict"], str) == expected, (kind, alone)


@pytest.mark.parametrize("limit", TOTALS)
def test_a_row_beside_a_limit_is_refused_or_answered_in_every_way(limit: float) -> None:
    seen = set()
    for seed in range(21):
        row = beside_a_limit(limit, seed, seed % 7 - 3)
        seen.add(refused(row))
        assert_one_outcome(row[None])
    assert seen == {True, False}


NUMBERS = st.sampled_from(
    [
        *(0.0, -0.0, LEAST, 1e-310, sys.float_info.min, 1e-300, 1e-162, 1e-151, 1e-150, 2e-150, 1.0, 1e149),
        *(1e150, np.nextafter(1e150, 0), np.nextafter(1e150, 1e151), 5e149, 1e151, 1e154, 1e300, 1.7e308),
        *(MOST, -LEAST, -MOST, np.inf, -np.inf, np.nan),
    ]
)


@settings(deadline=None, max_examples=25)
@given(st.dictionaries(st.integers(0, N_OBSERVED - 1), NUMBERS, max_size=6), st.booleans())
@example({0: MOST, 1: MOST, 2: 1.0}, False)
@example({0: -0.0, 1: 1.0}, False)
def test_weights_of_any_size_are_refused_or_answered_in_every_way(
    entries: dict[int, float], among_others: bool
) -> None:
    row = np.zeros(N_OBSERVED)
    row[list(entries)] = list(entries.values())
    others = np.random.default_rng(3).random((3, N_OBSERVED))
    assert_one_outcome(np.vstack([others, row, others]) if among_others else row[None])


def test_a_refusal_names_the_same_sum_for_every_memory_order() -> None:
    adapter = made("leaves", 90)
    for rows in 1e155 * np.random.default_rng(5).random((30, 7, 90)):
        said = outcome(lambda rows=rows: adapter.predict_indices(rows))
        assert said == outcome(lambda rows=rows: adapter.predict_indices(np.asfortranarray(rows)))
        assert str(said).startswith("P: row 0 sums to ")


@pytest.mark.parametrize("length", [1e-75, 1e75])
def test_blocks_of_the_shortest_and_the_longest_edges_are_built_without_a_warning(length: float) -> None:
    pairs = [("b", "a"), ("c", "b"), ("a", "c")]
    graph = LabelGraph.from_edges(pairs, weights=[length] * 3, directed=False)
    adapter = Adapter.from_graph(graph, ["a", "c"], metric="graph")
    assert adapter.top_k([1.0, 0.0], 3).values.tolist() == [[0.0, length**2, length**2]]


def test_rows_that_change_while_they_are_read_are_refused() -> None:
    class Changing(DenseRows):
        def part(self, of: slice, order: NDArray[np.int64] | None, absent: float) -> NDArray[Any]:
            part = super().part(of, order, absent).copy()
            self.values[:] = 1.0
            return part

    reader = OutputReader("probabilities", 1.0, 2)
    rows = Changing(np.array([[1.0, 1.0], [1.0, np.nan]]), name="p.npy", first=7)
    with pytest.raises(WeightError, match=r"p\.npy: rows 7 to 8 changed while they were read"):
        list(reader.chunks(rows))
