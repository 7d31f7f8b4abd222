"""How far from the truth the answers are, and how far those of simpler rules would be.

Every report shows the Fréchet mean (``loki``) beside the rules of `adapter.baselines`: without them its
figures say little.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adapter.baselines import Baselines, answers_and_distances, constant_label
from adapter.bundle import build_bundle
from adapter.bundlechecks import UNIT
from adapter.outputs import Outputs
from adapter.scorer import Adapter
from ontology.errors import InputError, SpaceError, UnknownLabelError
from ontology.geometry import MatrixSpace, MetricSpace

__all__ = ["RULES", "Evaluation", "RuleResult", "Scores", "evaluate"]

_SOURCES_AT_ONCE = 256  # single-source searches whose distances are held at a time
_BINS = 20
_MOST_BINS = 1000

RULES = ("loki", "argmax", "constant", "observed_only", "crm", "nearest_observed")
"""The rules of a report, in its order."""


@dataclass(frozen=True)
class Scores:
    """Means over some samples; None where there is no sample.

    Attributes
    ----------
    n : int
        Number of samples.
    mean_squared_distance : float or None
        E[d^2], in squared edge-weight units.
    mean_distance : float or None
        E[d], in edge-weight units.
    normalized : float or None
        E[d^2] / diameter^2; None also where the diameter is 0.
    accuracy : float or None
        Share of answers that are the truth.
    """

    n: int
    mean_squared_distance: float | None
    mean_distance: float | None
    normalized: float | None
    accuracy: float | None


@dataclass(frozen=True)
class RuleResult:
    """One rule: its scores over all samples, and over those whose truth is observed or is not.

    Attributes
    ----------
    rule : str
    all, observed, unobserved : Scores
    severity : tuple of int
        Number of samples whose distance falls into each bin of `Evaluation.severity_edges`.
    """

    rule: str
    all: Scores
    observed: Scores
    unobserved: Scores
    severity: tuple[int, ...]


@dataclass(frozen=True)
class Evaluation:
    """What `evaluate` found; ``evaluation["loki"]`` is the result of one rule.

    Attributes
    ----------
    n_samples, n_labels, n_observed : int
    diameter : float
        Of the allowed labels, in edge-weight units.
    bundle : str
        Digest of the bundle that was scored.
    constant : str
        Key that the constant rule answers.
    constant_from : {"the training labels", "the truth itself"}
        What it is the Fréchet mean of; the latter flatters it.
    severity_edges : tuple of float
        Bins of the histograms, each closed below and open above (the last: closed); of width 1 where all
        distances are whole numbers.
    rules : tuple of RuleResult
    notes : tuple of str
        What a reader must know, such as a rule that could not be applied.
    """

    n_samples: int
    n_labels: int
    n_observed: int
    diameter: float
    bundle: str
    constant: str
    constant_from: str
    severity_edges: tuple[float, ...]
    rules: tuple[RuleResult, ...]
    notes: tuple[str, ...]

    def __getitem__(self, rule: str) -> RuleResult:
        for result in self.rules:
            if result.rule == rule:
                return result
        raise InputError(f"rule {rule!r} is not among {', '.join(r.rule for r in self.rules)}")

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return asdict(self) | {"unit": UNIT, "rules": {r.rule: asdict(r) for r in self.rules}}

    def render(self) -> str:
        """Return a table for people, one line for each rule."""
        head = ("rule", "E[d^2]", "E[d^2]/diam^2", "E[d]", "accuracy", "E[d^2] observed", "E[d^2] unobserved")
        rows = [
            (
                r.rule,
                _shown(r.all.mean_squared_distance),
                _shown(r.all.normalized),
                _shown(r.all.mean_distance),
                _shown(r.all.accuracy),
                _shown(r.observed.mean_squared_distance),
                _shown(r.unobserved.mean_squared_distance),
            )
            for r in self.rules
        ]
        widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
        lines = [
            "  ".join(
                c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))
            )
            for row in (head, *rows)
        ]
        first = self.rules[0]
        return "\n".join(
            [
                f"{self.n_samples} samples ({first.observed.n} with an observed truth, {first.unobserved.n} "
                f"without), {self.n_labels} labels, {self.n_observed} observed, diameter {self.diameter:g} "
                f"{UNIT}",
                *(line.rstrip() for line in lines),
                f"constant: {self.constant!r}, the Fréchet mean of {self.constant_from}",
                *self.notes,
            ]
        )


def evaluate(
    source: Adapter | MetricSpace,
    P: Outputs,
    truth: Iterable[str],
    *,
    observed: Iterable[str] | None = None,
    space: MetricSpace | None = None,
    train_truth: Iterable[str] | None = None,
) -> Evaluation:
    """Measure the answers to `P` against the truth, beside the baselines.

    Parameters
    ----------
    source : Adapter or MetricSpace
        What answers. A space is given a bundle with the `observed` labels first.
    P : array_like of shape (n_samples, n_observed)
        What the model emits (see `Adapter`), columns as in ``adapter.observed``; probabilities, columns as in
        `observed`, where a space is given.
    truth : iterable of str, length n_samples
        Key of each sample's label; it must be an allowed label.
    observed : iterable of str, optional
        With a space: keys of the observed labels.
    space : MetricSpace, optional
        Where the adapter's bundle is a block: the space it was built from. A block knows the distances to
        observed labels only, and the distance of an answer to the truth is between any two labels.
    train_truth : iterable of str, optional
        Labels of the training samples, of which the constant rule answers the Fréchet mean; by default the
        truth itself, and the report says so.

    Returns
    -------
    Evaluation

    Raises
    ------
    UnknownLabelError
        For truth outside the allowed labels; the rows are named.
    SpaceError
        For a block without its space, or with another one.
    InputError, WeightError
        For arguments that do not fit together; for rows of P as in `Adapter.predict`.

    Notes
    -----
    No distance matrix over all labels is made: the distances from truths to observed labels come with the
    bundle, those from truths to answers are measured from each distinct answer or truth, whichever are fewer,
    256 at a time. On graphs that are no trees the constant rule measures from each distinct training label.

    Examples
    --------
    >>> from ontology.labelgraph import LabelGraph
    >>> pairs = [("oak", "tree"), ("elm", "tree"), ("tree", "plant"), ("moss", "plant")]
    >>> graph = LabelGraph.from_edges(pairs)
    >>> adapter = Adapter.from_graph(graph, ["oak", "moss"])
    >>> result = evaluate(adapter, [[0.6, 0.4], [0.9, 0.1]], ["tree", "oak"])
    >>> result["loki"].all.mean_squared_distance, result["argmax"].all.mean_squared_distance
    (0.0, 0.5)
    """
    adapter, space = _resolved(source.pinned() if isinstance(source, Adapter) else source, observed, space)
    rows = adapter.rows(P)
    truths = _truth_indices(adapter, space, _listed("truth", truth), len(rows))
    training = None if train_truth is None else _listed("train_truth", train_truth)
    constant = constant_label(space, list(adapter.keys.take(truths)) if training is None else training)
    baselines = Baselines(adapter)
    answers, distances = answers_and_distances(adapter, baselines, rows, truths)
    answers["constant"] = np.full(len(truths), constant)
    for rule in ("loki", "constant"):
        distances[rule] = _pair_distances(space, truths, answers[rule])
    diameter = adapter.bundle.diameter
    seen = np.isin(truths, baselines.label)
    edges = _edges(diameter, distances)
    return Evaluation(
        n_samples=len(truths),
        n_labels=adapter.n_labels,
        n_observed=adapter.n_observed,
        diameter=diameter,
        bundle=adapter.digest,
        constant=adapter.keys[constant],
        constant_from="the truth itself" if training is None else "the training labels",
        severity_edges=tuple(edges.tolist()),
        rules=tuple(
            RuleResult(
                rule=rule,
                all=_scores(distances[rule], answers[rule] == truths, diameter),
                observed=_scores(distances[rule][seen], (answers[rule] == truths)[seen], diameter),
                unobserved=_scores(distances[rule][~seen], (answers[rule] == truths)[~seen], diameter),
                severity=tuple(np.histogram(distances[rule], edges)[0].tolist()),
            )
            for rule in RULES
            if rule in answers
        ),
        notes=baselines.notes,
    )


# ---- distances and scores ------------------------------------------------------------------------------


def _pair_distances(space: MetricSpace, a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return d(a[i], b[i]) for allowed labels, measured from the side with fewer distinct labels."""
    if len(np.unique(a)) < len(np.unique(b)):
        a, b = b, a
    distinct, column = np.unique(b, return_inverse=True)
    points = _point_indices(space, distinct)
    out = np.empty(len(a))
    by = np.argsort(column, kind="stable")
    bounds = np.searchsorted(column[by], np.arange(0, len(distinct) + _SOURCES_AT_ONCE, _SOURCES_AT_ONCE))
    for i, (low, high) in enumerate(pairwise(bounds.tolist())):
        first = i * _SOURCES_AT_ONCE
        pairs = by[low:high]
        rows, row = np.unique(a[pairs], return_inverse=True)
        block = space.distances(rows, points[first : first + _SOURCES_AT_ONCE])
        out[pairs] = block[row, column[pairs] - first]
    return out


def _scores(distance: NDArray[np.float64], correct: NDArray[np.bool_], diameter: float) -> Scores:
    if not len(distance):
        return Scores(0, None, None, None, None)
    squared = float(np.mean(distance * distance))
    return Scores(
        n=len(distance),
        mean_squared_distance=squared,
        mean_distance=float(np.mean(distance)),
        normalized=squared / diameter**2 if diameter > 0 else None,
        accuracy=float(np.mean(correct)),
    )


def _edges(diameter: float, distances: dict[str, NDArray[np.float64]]) -> NDArray[np.float64]:
    largest = max(diameter, *(float(d.max()) for d in distances.values()))
    whole = all((d == np.floor(d)).all() for d in distances.values())
    if whole and largest <= _MOST_BINS:
        return np.arange(np.ceil(largest) + 2)
    return np.linspace(0.0, largest, _BINS + 1)


# ---- what is given -------------------------------------------------------------------------------------


def _resolved(
    source: Adapter | MetricSpace, observed: Iterable[str] | None, space: MetricSpace | None
) -> tuple[Adapter, MetricSpace]:
    if isinstance(source, MetricSpace):
        if observed is None or space is not None:
            raise InputError("a space is evaluated with observed=[...] and without space=")
        return Adapter(build_bundle(source, observed)), source
    if observed is not None:
        raise InputError("observed: the adapter has its observed labels; leave it out")
    if space is None:
        if source.space is None:
            rule = source.bundle.labels
            labels = "list(adapter.keys)" if rule == "listed" else repr(rule)
            built = f"metric={source.bundle.metric!r}, labels={labels}"
            raise SpaceError(
                f"{source!r}: a block bundle cannot measure between its labels; pass the space it was built "
                f"from: space=metric_space(graph, {built})"
            )
        return source, source.space
    if space.kind != source.bundle.metric or space.keys != source.keys:
        raise SpaceError(
            f"space: {space!r} of kind {space.kind!r} does not hold the labels of {source!r}, "
            f"built with metric={source.bundle.metric!r} and labels={source.bundle.labels!r}"
        )
    return source, space


def _listed(name: str, keys: Iterable[str]) -> list[str]:
    if isinstance(keys, str):
        raise InputError(f"{name}: {keys!r} is one text; give one key for each sample")
    listed = list(keys)
    for i, key in enumerate(listed):
        if not isinstance(key, str):
            raise InputError(
                f"{name}: row {i} is {key!r} of type {type(key).__name__}; labels are named by key"
            )
    return [str(key) for key in listed]


def _truth_indices(adapter: Adapter, space: MetricSpace, truth: list[str], n_rows: int) -> NDArray[np.int64]:
    if len(truth) != n_rows or not truth:
        raise InputError(
            f"truth: {len(truth)} labels for {n_rows} rows of P; give one for each, and at least one"
        )
    index = {key: adapter.keys.find(key) for key in set(truth)}
    outside = [i for i, key in enumerate(truth) if index[key] < 0]
    if outside:
        shown = ", ".join(
            f"row {i} {truth[i]!r}{' (known, but no allowed answer)' if truth[i] in space.points else ''}"
            for i in outside[:5]
        )
        raise UnknownLabelError(
            f"truth: {len(outside)} of {len(truth)} rows are outside the {adapter.n_labels} allowed labels: "
            f"{shown}{', ...' if len(outside) > 5 else ''}; leave these samples out or allow their labels"
        )
    return np.array([index[key] for key in truth], dtype=np.int64)


def _point_indices(space: MetricSpace, labels: NDArray[np.int64]) -> NDArray[np.int64]:
    if isinstance(space, MatrixSpace):
        try:
            return space.point_index(space.keys.take(labels))
        except UnknownLabelError as error:
            raise SpaceError(
                f"space: this matrix has no column for some answers or truths ({error})"
            ) from None
    return labels if space.allowed is None else space.allowed[labels]


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"
