"""One contract for every engine that takes the decision: exact answers on ten thousand cases, ties included.

The oracle counts in whole numbers: distances by Dijkstra over Python ints, variances by definition, the first
of the smallest in canonical order. Weighted cases measure in quarters.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

from labelgrove.adapter import Adapter, build_bundle, open_bundle
from labelgrove.adapter.engines.arrays import ArrayAdapter
from labelgrove.adapter.scorer import Adapter as ScoringAdapter
from labelgrove.ontology.errors import WeightError
from labelgrove.ontology.geometry import CompleteSpace, TreeSpace
from labelgrove.ontology.geometry.scoring.restricted.restrictedscorer import RestrictedTreeScorer
from labelgrove.ontology.geometry.scoring.tree.treescorer import TreeScorer
from labelgrove.ontology.geometry.ties import TIE_RELATIVE
from labelgrove.ontology.labelgraph import LabelGraph
from tests.decisions import answers_of
from tests.hostile_trees import FAMILIES, hostile_tree

pytestmark = pytest.mark.long

N_SPACES, N_ROWS = 100, 100
KINDS = ("tree", "leaves", "weighted tree", "graph", "complete")
SINGLE_BAND = 2.0**-22


@dataclass(frozen=True)
class Case:
    """A label space, and rows of whole-number weights with their exact answers."""

    adapter: ScoringAdapter
    rows: np.ndarray[Any, np.dtype[np.int64]]
    distances: list[list[int]]  # of each allowed label to each column, in quarters

    def variances(self, row: list[Any]) -> list[Any]:
        return [sum(w * d * d for w, d in zip(row, line, strict=True)) for line in self.distances]

    def answers(self) -> list[int]:
        found = (self.variances(row) for row in self.rows.tolist())
        return [totals.index(min(totals)) for totals in found]


def drawn_rows(draw: random.Random, k: int) -> list[list[int]]:
    """Weights of all sorts: certain, votes of five neighbors, even splits, small and large numbers."""
    rows = []
    while len(rows) < N_ROWS:
        row = [0] * k
        sort = draw.randrange(5)
        if sort == 0:
            row[draw.randrange(k)] = 1
        elif sort == 1:
            for _ in range(5):
                row[draw.randrange(k)] += 1
        elif sort == 2:
            for i in draw.sample(range(k), min(k, draw.choice((2, 2, 4)))):
                row[i] = 3
        elif sort == 3:
            row = [draw.randrange(4) for _ in range(k)]
        else:
            row = [draw.randrange(1000) for _ in range(k)]
        if any(row):
            rows.append(row)
    return rows


def shortest(neighbors: dict[str, list[tuple[str, int]]], start: str) -> dict[str, int]:
    found: dict[str, int] = {}
    waiting = [(0, start)]
    while waiting:
        so_far, key = heapq.heappop(waiting)
        if key not in found:
            found[key] = so_far
            for other, length in neighbors[key]:
                heapq.heappush(waiting, (so_far + length, other))
    return found


def drawn_case(seed: int) -> Case:
    draw, kind = random.Random(seed), KINDS[seed % len(KINDS)]
    n = draw.randrange(2, 30)
    keys = [f"v{i:02d}" for i in range(n)]
    deep = draw.random() < 0.3  # paths have the deepest hulls, stars the broadest
    pairs = [
        (keys[i], keys[i - 1 if deep and draw.random() < 0.8 else draw.randrange(i)]) for i in range(1, n)
    ]
    if kind == "graph":
        more = {tuple(sorted(draw.sample(keys, 2), reverse=True)) for _ in range(draw.randrange(1, 8))}
        pairs += sorted(more - set(pairs))
    lengths = [draw.choice((1, 2, 4, 6, 10)) if kind == "weighted tree" else 4 for _ in pairs]
    observed = draw.sample(keys, draw.randrange(1, min(n, 9) + 1))
    if kind == "complete":
        allowed = sorted(draw.sample(range(n), draw.randrange(1, n + 1)))
        bundle = build_bundle(CompleteSpace(keys, allowed), observed)
        measured = {key: {other: 4 * (key != other) for other in keys} for key in keys}
    else:
        weights = [length / 4 for length in lengths] if kind == "weighted tree" else None
        graph = LabelGraph.from_edges(pairs, weights=weights)
        labels = "leaves" if kind == "leaves" else "all"
        metric = "graph" if kind == "graph" else "tree"
        bundle = build_bundle(graph, observed, metric=metric, labels=labels)
        neighbors: dict[str, list[tuple[str, int]]] = {key: [] for key in keys}
        for (child, parent), length in zip(pairs, lengths, strict=True):
            neighbors[child].append((parent, length))
            neighbors[parent].append((child, length))
        measured = {key: shortest(neighbors, key) for key in observed}
    columns = draw.sample(observed, len(observed))
    adapter = Adapter(bundle, columns, by="key")
    distances = [[measured[column][key] for column in columns] for key in adapter.keys]
    return Case(adapter, np.array(drawn_rows(draw, len(columns))), distances)


@cache
def cases() -> list[tuple[Case, list[int]]]:
    drawn = [drawn_case(seed) for seed in range(N_SPACES)]
    return [(case, case.answers()) for case in drawn]


# ---- the engines: an adapter in, a function from rows to indices out ---------------------------------

Engine = Callable[[ScoringAdapter], Callable[[np.ndarray[Any, Any]], Any]]


def numpy_rows(adapter: ScoringAdapter) -> Callable[[np.ndarray[Any, Any]], Any]:
    """Trees without numba, whether the process has loaded it or not."""
    space = adapter.space
    if not isinstance(space, TreeSpace) or space.allowed is not None:
        return adapter.predict_indices
    scorer = TreeScorer(space, space.point_index(adapter.observed), compiled=False)
    return lambda rows: scorer.score(rows).index


def numpy_ranked(adapter: ScoringAdapter) -> Callable[[np.ndarray[Any, Any]], Any]:
    return lambda rows: adapter.top_k(rows, 1).indices[:, 0]


def numba_search(adapter: ScoringAdapter) -> Callable[[np.ndarray[Any, Any]], Any]:
    """The compiled search, where there is one: on trees."""
    space = adapter.space
    if not isinstance(space, TreeSpace):
        return adapter.predict_indices
    scorer = RestrictedTreeScorer(space, space.point_index(adapter.observed), compiled=True)
    return lambda rows: scorer.score(rows.astype(np.float64)).index


def numba_tree(adapter: ScoringAdapter) -> Callable[[np.ndarray[Any, Any]], Any]:
    """The compiled decisions over labels of a tree: every row by itself, columns as the model has them."""
    space = adapter.space
    if not isinstance(space, TreeSpace):
        return adapter.predict_indices
    points = space.point_index(adapter.bundle.observed_keys)
    order = np.array([adapter.observed.index(key) for key in adapter.bundle.observed_keys])
    scorer = TreeScorer if space.allowed is None else RestrictedTreeScorer
    decide = answers_of(scorer(space, points, compiled=True), order)
    return lambda rows: np.concatenate([decide(row[None]) for row in rows.astype(np.float64)])


def sklearn_classifier(adapter: ScoringAdapter) -> Callable[[np.ndarray[Any, Any]], Any]:
    """A frozen model whose probabilities are its input, and whose classes are the columns."""
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.frozen import FrozenEstimator

    from labelgrove.adapter.sklearn import FrechetClassifier

    class Given(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
        def fit(self, X: Any, y: Any) -> Any:
            self.classes_ = np.array(adapter.observed)
            return self

        def predict_proba(self, X: Any) -> Any:
            return X

    frozen = FrozenEstimator(Given().fit(None, None))
    classifier = FrechetClassifier(frozen, adapter.bundle).fit(None, None)
    return lambda rows: adapter.keys.indices(classifier.predict(rows))


def numpy_arrays(adapter: ScoringAdapter) -> Callable[[np.ndarray[Any, Any]], Any]:
    return ArrayAdapter(adapter).predict_indices


def strict_arrays(adapter: ScoringAdapter) -> Callable[[np.ndarray[Any, Any]], Any]:
    import array_api_strict

    arrays = ArrayAdapter(adapter)

    def answers(rows: np.ndarray[Any, Any]) -> Any:
        found = arrays.predict_indices(array_api_strict.asarray(rows))
        assert isinstance(found, type(array_api_strict.asarray(0)))
        return np.asarray(found)

    return answers


def jax_arrays(adapter: ScoringAdapter) -> Callable[[np.ndarray[Any, Any]], Any]:
    import jax

    arrays = ArrayAdapter(adapter)

    def answer(rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        with np.errstate(over="ignore"):  # to infinity, which is refused as well
            return np.asarray(arrays.predict_indices(jax.numpy.asarray(rows.astype(np.float32))))

    return answer


def torch_head(adapter: ScoringAdapter) -> Callable[[np.ndarray[Any, Any]], Any]:
    import torch

    from labelgrove.adapter.torch import FrechetHead

    device = "cuda" if torch.cuda.is_available() else "cpu"
    head = FrechetHead(adapter).to(device)
    return lambda rows: head.decide(torch.asarray(rows, device=device)).cpu().numpy()


def onnx_session(adapter: ScoringAdapter, dtype: str) -> Callable[[np.ndarray[Any, Any]], Any]:
    import onnxruntime

    from labelgrove.adapter.onnx import decision_model

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    model = decision_model(adapter, dtype=dtype).SerializeToString()
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    def answers(rows: np.ndarray[Any, Any]) -> Any:
        with np.errstate(over="ignore"):
            index, label = session.run(None, {adapter.outputs: rows.astype(dtype)})
        assert label.tolist() == [adapter.keys[i] if i >= 0 else "" for i in index.tolist()]
        return index

    return answers


ENGINES: dict[str, Engine] = {
    "numpy": numpy_rows,
    "numpy top-k": numpy_ranked,
    "numba": numba_search,
    "numba tree": numba_tree,
    "scikit-learn": sklearn_classifier,
    "numpy arrays": numpy_arrays,
    "array-api-strict": strict_arrays,
    "onnx": lambda adapter: onnx_session(adapter, "float64"),
    "onnx float32": lambda adapter: onnx_session(adapter, "float32"),
    "torch": torch_head,
    "jax": jax_arrays,
}
MARKS = {"torch": pytest.mark.torch, "jax": pytest.mark.jax}
SINGLE = ("onnx float32", "jax")  # engines that add up in float32
STEPS = {"onnx float32": 3, "jax": 9}  # JAX compiles anew for each shape
engines = pytest.mark.parametrize("name", [pytest.param(n, marks=MARKS.get(n, ())) for n in ENGINES])


@engines
def test_every_engine_gives_the_exact_answer(name):
    """Whole numbers: float32 is exact, too. What is slow to start takes some of the spaces."""
    tried = cases()[:: STEPS.get(name, 1)]
    assert name in STEPS or sum(len(case.rows) for case, _ in tried) == 10_000
    for i, (case, expected) in enumerate(tried):
        found = np.asarray(ENGINES[name](case.adapter)(case.rows))
        wrong = np.flatnonzero(found != expected)
        assert not len(wrong), (i, case.adapter.bundle.kind, case.rows[wrong[0]], found[wrong[0]])


def test_the_cases_hold_ties_on_every_kind_of_space():
    tied = dict.fromkeys(KINDS, 0)
    for seed, (case, _) in enumerate(cases()):
        totals = [case.variances(row) for row in case.rows.tolist()]
        tied[KINDS[seed % len(KINDS)]] += sum(t.count(min(t)) > 1 for t in totals)
    assert min(tied.values()) > 100, tied


@engines
def test_no_engine_is_wrong_by_more_than_its_band(name):
    """Probabilities of any bits: float64 gives the adapter's answer, float32 one within the band stated."""
    tried = cases()[:: 7 * STEPS.get(name, 1)]
    for seed, (case, _) in enumerate(tried):
        k = case.rows.shape[1]
        rows = np.random.default_rng(seed).dirichlet(np.full(k, 0.3), 12).astype(np.float32)
        rows[rows.sum(axis=1) == 0] = 1
        found = np.asarray(ENGINES[name](case.adapter)(rows))
        if name not in SINGLE:
            assert found.tolist() == case.adapter.predict_indices(rows).tolist()
            continue
        band = 1 + Fraction((k + 16) * SINGLE_BAND)
        for row, index in zip(rows.tolist(), found.tolist(), strict=True):
            totals = case.variances([Fraction(w) for w in row])
            assert totals[index] <= min(totals) * band


@engines
@pytest.mark.parametrize("family", FAMILIES)
def test_every_engine_measures_without_loss(name, family, tmp_path):
    """Lengths of all sizes, below long stems: what a bundle holds of them gives the exact answer."""
    if name in SINGLE and family == "halves":
        return  # their squares are beyond the smallest number of float32
    for number in range(0, 24, STEPS.get(name, 1)):
        tree = hostile_tree(family, number, most_labels=12)
        labels = "all" if tree.tree.allowed is None else "leaves"
        built = build_bundle(tree.graph, list(tree.keys), metric="tree", labels=labels)
        built.save(tmp_path / "tree.safetensors")
        adapter = Adapter(open_bundle(tmp_path / "tree.safetensors"))
        rows = np.random.default_rng(number).integers(0, 4, (20, len(tree.keys))).astype(np.float64)
        rows = rows[rows.any(axis=1)]
        found = np.asarray(ENGINES[name](adapter)(rows)).tolist()
        if name not in SINGLE:
            assert found == adapter.predict_indices(rows).tolist()
        band = Fraction((len(tree.keys) + 16) * SINGLE_BAND if name in SINGLE else 2 * TIE_RELATIVE)
        squares = tree.rows()
        for row, index in zip(rows.tolist(), found, strict=True):
            totals = [sum(int(w) * s for w, s in zip(row, line, strict=True)) for line in squares]
            assert totals[index] <= min(totals) * (1 + band)


# ---- rows without an answer ----------------------------------------------------------------------------

NAN, INF = np.nan, np.inf
REFUSED = {
    ("probabilities", "NaN"): [NAN, 0.5, 0.5],
    ("probabilities", "infinity"): [INF, 0.5, 0.5],
    ("probabilities", "infinities of both signs"): [INF, -INF, 0.5],
    ("probabilities", "a negative value"): [1.0, -0.5, 0.5],
    ("probabilities", "zeros alone"): [0.0, 0.0, 0.0],
    ("probabilities", "a sum that is too small"): [1e-160, 0.0, 0.0],
    ("probabilities", "a sum that is too large"): [1e160, 0.0, 0.0],
    ("probabilities", "a sum that overflows"): [1.5e308, 1.5e308, 0.0],
    ("logits", "NaN"): [NAN, 0.5, 0.5],
    ("logits", "plus infinity"): [INF, 0.5, 0.5],
    ("logits", "minus infinity alone"): [-INF, -INF, -INF],
    ("log_probabilities", "NaN"): [NAN, -1.0, -2.0],
    ("log_probabilities", "minus infinity alone"): [-INF, -INF, -INF],
    ("log_probabilities", "a value above 0"): [0.5, -1.0, -2.0],
}
"""A row for each rule that outputs may break."""
READS_OUTPUTS = ("numpy arrays", "array-api-strict", "onnx", "onnx float32", "torch", "jax")
"""Engines that read what a model gives by themselves."""


@pytest.mark.parametrize("name", [pytest.param(n, marks=MARKS.get(n, ())) for n in READS_OUTPUTS])
@pytest.mark.parametrize("metric", ["tree", "graph"])
@pytest.mark.parametrize(("outputs", "rule"), REFUSED)
def test_every_engine_refuses_the_rows_that_the_adapter_refuses(name, metric, outputs, rule):
    """Alone and among good rows; an ONNX graph, which cannot raise, answers -1 and goes on."""
    graph = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree"), ("tree", "plant"), ("moss", "plant")])
    adapter = Adapter(build_bundle(graph, ["oak", "moss", "elm"], metric=metric), outputs=outputs)
    good = np.array([[0.1, 0.2, 0.7], [0.6, 0.0, 0.4]])
    with np.errstate(divide="ignore"):
        good = good if outputs == "probabilities" else np.log(good)
    bad = np.array([REFUSED[outputs, rule]])
    among = np.concatenate([good[:1], bad, good[1:]])
    answer = ENGINES[name](adapter)
    for rows in (bad, among):
        with np.errstate(over="ignore"):  # arrays of JAX are in float32: 1e160 is infinity there
            held = rows.astype(np.float32) if name == "jax" else rows
        with pytest.raises(WeightError) as said:
            adapter.predict_indices(held)
        if not name.startswith("onnx"):
            with pytest.raises(WeightError) as also:
                answer(rows)
            assert str(also.value) == str(said.value)
    expected = adapter.predict_indices(good).tolist()
    assert np.asarray(answer(good)).tolist() == expected
    assert np.asarray(answer(good[:0])).tolist() == []
    if name.startswith("onnx"):
        assert answer(bad).tolist() == [-1]
        assert answer(among).tolist() == [expected[0], -1, expected[1]]
