"""Explain an answer: how much each observed label contributes, the runner-up, and the path from argmax."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from labelgrove.adapter.answers.backoff import common_ancestors
from labelgrove.adapter.state import CandidateSet, State
from labelgrove.ontology.geometry.ties import TIE_RELATIVE, largest_power, plain_sums, powers

__all__ = ["Explanation", "explain"]

_SHOWN = 10


@dataclass(frozen=True)
class Contribution:
    """The amounts that an observed label adds to the variances of the answer and of the argmax label.

    Attributes
    ----------
    key : str
        Key of the observed label.
    weight : float
        Weight of the observed label in the explained row.
    distance : float
        Distance from the answer to the observed label, in edge-weight units.
    pull : float
        ``weight * distance ** beta``: the amount that the observed label adds to the variance of the answer.
    pull_at_argmax : float or None
        The amount that the observed label adds to the variance of the argmax label; None if the bundle has no
        distances from the argmax label.
    """

    key: str
    weight: float
    distance: float
    pull: float
    pull_at_argmax: float | None


@dataclass(frozen=True)
class Explanation:
    """The reasons for the answer to one row; ``str()`` shows them.

    Attributes
    ----------
    answer : str
        Key of the answer.
    value : float
        Fréchet variance of the answer.
    n_tied : int
        Number of labels tied with the answer, including the answer.
    argmax : str
        Observed label with the largest weight; of tied ones the first in canonical order.
    argmax_value : float or None
        Fréchet variance of the argmax label; None if the bundle has no distances from that label.
    runner_up : str or None
        The second label of the ranking; None if there is only one candidate.
    runner_up_value : float or None
        Fréchet variance of the runner-up; None if there is only one candidate.
    margin : float or None
        Variance of the runner-up minus that of the answer, per unit of weight: ``(runner_up_value - value) /
        sum(row)``.
    path : tuple of str
        Keys of the labels from the argmax label to the answer, both included; empty if the bundle is
        not a tree.
    names : dict of str to str
        Dictionary from the key of each label in this record to its name. A label whose name equals its key is
        left out.
    contributions : tuple of Contribution
        One for each observed label with a positive weight. They are sorted by the larger of `pull` and
        `pull_at_argmax`, the largest first.
    """

    answer: str
    value: float
    n_tied: int
    argmax: str
    argmax_value: float | None
    runner_up: str | None
    runner_up_value: float | None
    margin: float | None
    path: tuple[str, ...]
    names: dict[str, str]
    contributions: tuple[Contribution, ...]

    def _label_text(self, key: str) -> str:
        return f"{key!r} ({self.names[key]})" if key in self.names else repr(key)

    def __str__(self) -> str:
        at_argmax = "unknown" if self.argmax_value is None else f"{self.argmax_value:.6g}"
        lines = [
            f"answer {self._label_text(self.answer)}: variance {self.value:.6g}"
            + (f", tied with {self.n_tied - 1} more" if self.n_tied > 1 else ""),
            f"argmax {self._label_text(self.argmax)}: variance {at_argmax}",
        ]
        if self.runner_up is not None:
            lines.append(
                f"runner-up {self._label_text(self.runner_up)}: variance {self.runner_up_value:.6g}, "
                f"margin {self.margin:.6g}"
            )
        if len(self.path) > 1:
            lines.append(f"path {' - '.join(self.names.get(key, key) for key in self.path)}")
        lines.append("pull: weight times distance to the power of beta, which the label adds to the variance")
        lines.append("observed label  weight  distance  pull  pull at argmax")
        for part in self.contributions[:_SHOWN]:
            there = "-" if part.pull_at_argmax is None else f"{part.pull_at_argmax:.4g}"
            name = self.names.get(part.key, part.key)
            lines.append(f"{name}  {part.weight:.4g}  {part.distance:g}  {part.pull:.4g}  {there}")
        if len(self.contributions) > _SHOWN:
            lines.append(f"and {len(self.contributions) - _SHOWN} more")
        return "\n".join(lines)


def explain(state: State, among: CandidateSet, weights: NDArray[np.float64]) -> Explanation:
    """Explain the answer to one row of outputs.

    `weights`, of shape (1, n_observed), contains the weights of the row; the caller has checked them.
    """
    bundle, row = state.bundle, weights[0]
    found = among.score(weights, min(2, among.n_labels))
    index, value = found.index[0].tolist(), found.value[0].tolist()
    canonical = np.argsort(bundle.observed)
    best = row[canonical] >= row.max() * (1 - TIE_RELATIVE)
    column = int(canonical[best.argmax()])
    positive = np.flatnonzero(row > 0)
    distances = state.distances[np.array(index[:1])][0]
    pull = row * powers(distances, state.beta)
    pull_there, argmax_value = _at_argmax(state, column, row)
    largest = pull if pull_there is None else np.maximum(pull, pull_there)
    ranked = positive[np.argsort(-largest[positive], kind="stable")]
    second = index[1] if len(index) > 1 else None
    path = _path(state, int(bundle.observed[column]), int(bundle.allowed[index[0]]))
    points = [*bundle.allowed[index].tolist(), *bundle.observed[ranked].tolist(), *path]
    keys = dict(zip(points, bundle.points.take(points), strict=True))
    columns = (
        [keys[point] for point in bundle.observed[ranked].tolist()],
        row[ranked].tolist(),
        distances[ranked].tolist(),
        pull[ranked].tolist(),
        itertools.repeat(None) if pull_there is None else pull_there[ranked].tolist(),
    )
    named = {keys[point]: name for point, name in zip(points, bundle.names.take(points), strict=True)}
    return Explanation(
        answer=keys[points[0]],
        value=value[0],
        n_tied=int(found.n_tied[0]),
        argmax=bundle.observed_keys[column],
        argmax_value=argmax_value,
        runner_up=None if second is None else keys[points[1]],
        runner_up_value=None if second is None else value[1],
        margin=None if second is None else (value[1] - value[0]) / float(row.sum()),
        path=tuple(keys[point] for point in path),
        names={key: name for key, name in named.items() if name != key},
        contributions=tuple(map(Contribution, *columns)),
    )


def _at_argmax(
    state: State, column: int, row: NDArray[np.float64]
) -> tuple[NDArray[np.float64] | None, float | None]:
    """Return a pair: what each observed label adds to the argmax label's variance, and that variance.

    `column` is the index of the argmax label among the observed labels. Both results are None if the bundle
    is not a tree and the argmax label is not an allowed label.
    """
    bundle = state.bundle
    if state.tree is not None:
        at = state.tree.tree.positions(bundle.observed)
        distances = state.tree.tree.distances(at[[column]], at)
    else:
        point, allowed = bundle.observed[column], bundle.allowed
        label = int(np.searchsorted(allowed, point))
        if label == len(allowed) or allowed[label] != point:
            return None, None
        distances = state.distances[np.array([label])]
    largest_power(distances, state.beta)
    powered = powers(distances, state.beta)
    return row * powered[0], float(plain_sums(row[:, None], powered.T, np.zeros(1, dtype=np.int64))[0])


def _path(state: State, start: int, end: int) -> list[int]:
    """Return the points on the path from `start` to `end` in the tree.

    If the bundle is not a tree, return an empty list.
    """
    if state.tree is None:
        return []
    tree = state.tree.tree
    parent = tree.parent
    a, b = tree.positions(start), tree.positions(end)
    meet = int(common_ancestors(tree, np.array([min(a, b)]), np.array([max(a, b)]))[0])
    sides = []
    for vertex in (a, b):
        side = []
        while vertex != meet:
            side.append(vertex)
            vertex = int(parent[vertex])
        sides.append(side)
    return [tree.points(vertex) for vertex in (*sides[0], meet, *reversed(sides[1]))]
