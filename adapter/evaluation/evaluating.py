"""Measure how far from the truth the answers are, compared with the answers of simpler rules.

Every report shows the Fréchet mean next to the rules of `adapter.evaluation.baselines`: the errors of the
Fréchet mean say little without those of simpler rules. The model's outputs are read once, a batch of rows at
a time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from labelgrove.adapter.evaluation.baselines import Baselines, constant_label
from labelgrove.adapter.evaluation.evidence.comparing import Compared, Comparison
from labelgrove.adapter.evaluation.evidence.trial import Trial
from labelgrove.adapter.evaluation.evidence.verdict import judged, no_better_than_chance
from labelgrove.adapter.evaluation.measures.ancestry import Ancestry
from labelgrove.adapter.evaluation.measures.calibrationerror import WidthBins
from labelgrove.adapter.evaluation.measures.scores import RuleSums, Severity, TruthAndAnswer
from labelgrove.adapter.evaluation.result import RULES, Branch, Evaluation, RuleResult
from labelgrove.adapter.evaluation.truths import (
    LabelDistances,
    listed_keys,
    resolved,
    truth_indices,
)
from labelgrove.adapter.outputs.gate import wrong_length
from labelgrove.adapter.outputs.outputkinds import KindSeen
from labelgrove.adapter.outputs.rowblocks import OutputStream
from labelgrove.adapter.outputs.rows import DenseRows
from labelgrove.adapter.outputs.weights import as_logits
from labelgrove.adapter.scorer import Adapter
from labelgrove.ontology.errors import InputError, SpaceError, counted
from labelgrove.ontology.geometry import MetricSpace, TreeSpace

__all__ = ["evaluate"]

_TRIAL_ROWS = 4000
_TRIAL_VALUES = 1 << 23
_MOST_RESAMPLES = 10**6
_RIVALS = ("argmax", "constant")  # the rules that a verdict compares with the Fréchet mean


def evaluate(
    source: Adapter | MetricSpace,
    P: OutputStream,
    truth: Iterable[str],
    *,
    observed: Iterable[str] | None = None,
    space: MetricSpace | None = None,
    train_truth: Iterable[str] | None = None,
    hierarchy: TreeSpace | None = None,
    branch_level: int | None = None,
    top_k: int = 5,
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> Evaluation:
    """Measure how far the answers to `P` are from the truth, and compare them with the baselines.

    Parameters
    ----------
    source : Adapter or MetricSpace
        The adapter that answers. If a space is given instead, a bundle is built from it and `observed`, and
        an adapter of that bundle answers.
    P : array_like of shape (n_samples, n_observed), sparse outputs, OutputFile or iterator of batches of rows
        Outputs of the model (see `Adapter`), with columns in the order of ``adapter.observed``. If `source`
        is a space: probabilities, with columns in the order of `observed`.
    truth : iterable of str, length n_samples
        Key of each sample's true label, which must be an allowed label.
    observed : iterable of str, optional
        Keys of the observed labels; only if `source` is a space.
    space : MetricSpace, optional
        The space from which the adapter's bundle was built. It is needed if the bundle is a block and the
        adapter was not made by `Adapter.from_graph`: a block contains only distances to observed labels, but
        evaluation needs the distance between any answer and any truth.
    train_truth : iterable of str, optional
        Labels of the training samples. The constant rule answers with their Fréchet mean. By default the
        labels in `truth` are used, and the report says so.
    hierarchy : TreeSpace, optional
        Tree in which the common ancestors and the branches of labels are found; by default the space, if it
        is the tree of a hierarchy.
    branch_level : int, optional
        Level of the tree, counted in edges from the root: each label at this level is the top of a branch. By
        default the first level, from 1 on, at which no branch contains more than half of the samples.
    top_k : int, default=5
        The k of top-k accuracy.
    level : float, default=0.95
        Confidence level of the bootstrap intervals.
    resamples, seed : int
        Number of bootstrap draws, and the seed of all random choices.

    Returns
    -------
    Evaluation

    Raises
    ------
    UnknownLabelError
        For truths that are not allowed labels; the message names the rows.
    SpaceError
        For a block whose `space` is missing or is not the one that it was built from, and for a `hierarchy`
        that lacks labels of the bundle.
    WeightError
        For a cell or row of P that is not valid; the message names row and column.
    InputError
        For arguments that are not valid or do not fit together.

    Notes
    -----
    Four things take memory: each truth (8 bytes); the outputs that are read at a time, at most 4,194,304,
    with their distances; sums for each branch, for the Fréchet mean and for each baseline; and a random
    choice of at most 4,000 rows. These rows are answered again at temperatures other than the adapter's,
    because the answers may be better at another temperature. If P is an iterator, the results do not depend
    on how it cuts P into batches.

    No distance matrix over all labels is made: the bundle gives the distances from truths to observed labels,
    and the distances from truths to answers are measured for some rows at a time (on trees, through the
    lowest common ancestor). On graphs that are not trees the constant rule measures distances from each
    distinct training label.

    Examples
    --------
    >>> from labelgrove.ontology.labelgraph import LabelGraph
    >>> pairs = [("oak", "tree"), ("elm", "tree"), ("tree", "plant"), ("moss", "plant")]
    >>> graph = LabelGraph.from_edges(pairs)
    >>> adapter = Adapter.from_graph(graph, ["oak", "moss"])
    >>> result = evaluate(adapter, [[0.6, 0.4], [0.9, 0.1]], ["tree", "oak"])
    >>> result["frechet_mean"].all.mean_squared_distance, result["argmax"].all.mean_squared_distance
    (0.0, 0.5)
    """
    for name, number, least in (("top_k", top_k, 1), ("resamples", resamples, 1), ("seed", seed, 0)):
        if isinstance(number, bool) or not isinstance(number, int) or number < least:
            raise InputError(f"{name}: {number!r} given; it must be a whole number of {least} or more")
    if resamples > _MOST_RESAMPLES:
        raise InputError(
            f"resamples: {resamples} given; it must be at most {_MOST_RESAMPLES}, and 1000 are usually enough"
        )
    adapter, space = resolved(source.pinned() if isinstance(source, Adapter) else source, observed, space)
    listed = listed_keys("truth", truth)
    blocks = adapter.blocks(P)
    if not listed or blocks.n_rows not in (None, len(listed)):
        raise wrong_length(len(listed), blocks.n_rows)
    truths = truth_indices(adapter, space.points, listed)
    del listed
    training = None if train_truth is None else listed_keys("train_truth", train_truth)
    if training is None:
        known, counts = np.unique(truths, return_counts=True)
        trained = dict(zip(adapter.keys.take(known), counts.tolist(), strict=True))
    else:
        trained = Counter(training)
    constant = constant_label(space, trained)
    if hierarchy is None and isinstance(space, TreeSpace) and space.is_hierarchy:
        hierarchy = space
    if isinstance(hierarchy, TreeSpace) and not hierarchy.is_hierarchy:
        raise SpaceError(
            "hierarchy: the tree has undirected edges or several roots, so its labels have no known parents; "
            "give the tree of a hierarchy with one root, or leave out hierarchy"
        )
    tree = None if hierarchy is None else Ancestry(hierarchy, adapter.bundle.points)
    if tree is not None and branch_level is None:
        branch_level = tree.parting(tree.position[adapter.bundle.allowed[truths]])
    run = _Run(adapter, space, truths, constant, tree, branch_level or 0, top_k, seed)
    for rows in blocks:
        run.add(rows)
    if run.n != len(truths):
        raise wrong_length(len(truths), run.n)
    compared = run.comparison.compared(resamples, level)
    gains = {rule: compared.gains[rule] for rule in _RIVALS}
    calibration = run.sure.reliability()
    guesses = no_better_than_chance(calibration, adapter.n_observed)
    trial = run.trial(seed, resamples, level, compared.repeats)
    return Evaluation(
        n_samples=run.n,
        n_effective=compared.evidence.n_effective,
        n_labels=adapter.n_labels,
        n_observed=adapter.n_observed,
        diameter=adapter.bundle.diameter,
        bundle=adapter.digest,
        outputs=adapter.outputs,
        temperature=adapter.temperature,
        beta=adapter.beta,
        constant=adapter.keys[constant],
        constant_from="the truth itself" if training is None else "the training labels",
        top_k=top_k,
        branch_level=None if tree is None else branch_level,
        level=level,
        resamples=resamples,
        seed=seed,
        severity_edges=run.severity.edges(),
        calibration=calibration,
        rules=run.results(compared),
        verdict=judged(gains, compared.evidence, calibration, trial.mended, guesses=guesses),
        notes=run.notes(compared.evidence.n_effective, guesses),
    )


class _Run:
    """The sums that `evaluate` collects in its one pass over the samples, for every rule."""

    def __init__(
        self,
        adapter: Adapter,
        space: MetricSpace,
        truths: NDArray[np.int64],
        constant: int,
        tree: Ancestry | None,
        branch_level: int,
        top_k: int,
        seed: int,
    ) -> None:
        self._adapter, self._truths, self._tree, self._k = adapter, truths, tree, top_k
        self._allowed, self._observed = adapter.bundle.allowed, adapter.bundle.observed
        self._constant = constant
        self.distance = LabelDistances(adapter, space, tree)
        self.baselines = Baselines(adapter)
        self._branch, self._branches = _branches(tree, branch_level)
        self.rules = [rule for rule in RULES if self.baselines.applies(rule)]
        diameter = adapter.bundle.diameter
        self._sums = {rule: RuleSums(2 * len(self._branches), diameter, tree) for rule in self.rules}
        whole = space.distance_dtype.kind in "iu"
        self.severity = Severity(diameter, whole)
        self.comparison = Comparison(adapter, self.distance, truths, self.rules, seed)
        self.sure = WidthBins()
        self.n = 0
        self._kind_seen = KindSeen(adapter.outputs)
        most = max(50, min(_TRIAL_ROWS, _TRIAL_VALUES // adapter.n_observed))
        rng = np.random.default_rng([seed, 2])
        self._tried = np.sort(rng.choice(len(truths), min(most, len(truths)), replace=False))
        self._trial_logits: list[NDArray[np.float64]] = []
        self._trial_squared: dict[str, list[NDArray[np.float64]]] = {rule: [] for rule in _RIVALS}
        self._trial_answers: dict[str, list[NDArray[np.int64]]] = {rule: [] for rule in _RIVALS}

    def add(self, rows: DenseRows) -> None:
        """Answer each given row by every rule, and update the sums.

        The sums are those of the distances from the answers to the truth, and of the other measures.
        """
        start, stop = rows.first, rows.first + len(rows)
        if stop > len(self._truths):
            raise wrong_length(len(self._truths), stop, more=True)
        truths = self._truths[start:stop]
        weights = np.concatenate([part for _, part in self._adapter.chunks(rows)])
        self._kind_seen.add(rows.values)
        measured = self._measured(truths, weights)
        seen = np.isin(truths, self.baselines.label)
        group = 2 * self._branch_of(truths) + seen
        squared = np.empty((len(truths), len(self.rules)))
        for i, rule in enumerate(self.rules):
            found = measured[rule]
            self._sums[rule].add(group, found)
            self.severity.add(rule, found.distance)
            squared[:, i] = found.distance * found.distance
        self.comparison.add(start, weights, [measured[rule].points for rule in self.rules], squared)
        confidence = np.minimum(weights.max(axis=1) / weights.sum(axis=1), 1.0)
        self.sure.add(confidence[seen], measured["argmax"].correct[seen])
        low, high = np.searchsorted(self._tried, (start, stop))
        some = self._tried[low:high] - start
        self._trial_logits.append(as_logits(self._adapter.outputs, rows.values[some], self._adapter.order))
        for rule in _RIVALS:
            self._trial_squared[rule].append(squared[some, self.rules.index(rule)])
            self._trial_answers[rule].append(measured[rule].points[some])
        self.n = stop

    def _measured(self, truths: NDArray[np.int64], weights: NDArray[np.float64]) -> dict[str, TruthAndAnswer]:
        """Return, for each rule, its answers and their distances to the truth."""
        ranking = self._adapter.rank(weights, min(self._k, self._adapter.n_labels)).index
        constant = np.full(len(truths), self._constant)
        found = {
            "frechet_mean": self._measured_labels(
                truths, ranking[:, 0], (ranking == truths[:, None]).any(axis=1)
            ),
            "constant": self._measured_labels(truths, constant, None),
        }
        distinct, at = np.unique(truths, return_inverse=True)
        to_observed = self._adapter.distances(distinct)[at]
        label = self.baselines.label
        answers: dict[str, tuple[NDArray[np.int64], NDArray[np.bool_] | None]] = {
            "argmax": self.baselines.argmax(weights, truths, self._k),
            "nearest_observed": (to_observed.argmin(axis=1), None),
        }
        for rule, chosen in self.baselines.columns(weights, ranking).items():
            answers[rule] = chosen[:, 0], (label[chosen] == truths[:, None]).any(axis=1)
        for rule, (best, in_top_k) in answers.items():
            distance = to_observed[np.arange(len(best)), best].astype(np.float64)
            found[rule] = self._with_positions(
                truths, self._observed[best], distance, label[best] == truths, in_top_k
            )
        return found

    def _measured_labels(
        self, truths: NDArray[np.int64], answers: NDArray[np.int64], in_top_k: NDArray[np.bool_] | None
    ) -> TruthAndAnswer:
        """Return a `TruthAndAnswer` record of some answers.

        `truths` and `answers` contain indices of allowed labels.
        """
        return self._with_positions(
            truths, self._allowed[answers], self.distance(truths, answers), answers == truths, in_top_k
        )

    def _with_positions(
        self,
        truths: NDArray[np.int64],
        points: NDArray[np.int64],
        distance: NDArray[np.float64],
        correct: NDArray[np.bool_],
        in_top_k: NDArray[np.bool_] | None,
    ) -> TruthAndAnswer:
        if self._tree is None:
            return TruthAndAnswer(points, distance, correct, in_top_k)
        positions = self._tree.position[self._allowed[truths]], self._tree.position[points]
        return TruthAndAnswer(points, distance, correct, in_top_k, positions, self._tree.meet(*positions))

    def _branch_of(self, truths: NDArray[np.int64]) -> NDArray[np.int64]:
        if self._tree is None:
            return np.zeros(len(truths), dtype=np.int64)
        return self._branch[self._tree.position[self._allowed[truths]]]

    def notes(self, n_effective: int, guesses: bool) -> tuple[str, ...]:
        """Return remarks for the user: rules left out, copied samples, and outputs that look wrong."""
        notes = list(self.baselines.notes)
        if n_effective < self.n:
            notes.append(
                f"some of the {self.n} samples are copies of others, with the same outputs and truth: "
                f"intervals are as wide as for {counted(n_effective, 'sample')}"
            )
        kind = self._kind_seen.note()
        if kind is not None:
            notes.append(kind)
        sure, chance = self.sure.reliability(), 1 / self._adapter.n_observed
        if guesses:
            notes.append(
                f"argmax is right for {sure.mean_accuracy or 0.0:.2%} of {counted(sure.n, 'sample')} with an "
                f"observed truth, no more than chance may give ({chance:.2%}): are rows and truths, columns "
                "and labels in the same order?"
            )
        return tuple(notes)

    def results(self, compared: Compared) -> tuple[RuleResult, ...]:
        """Return the scores and intervals of each rule, over all samples and over parts of them."""
        every = np.arange(2 * len(self._branches))
        found = []
        for rule in self.rules:
            sums, gain = self._sums[rule], compared.gains[rule]
            branches = (
                Branch(key, sums.scores(every[2 * b : 2 * b + 2])) for b, key in enumerate(self._branches)
            )
            found.append(
                RuleResult(
                    rule=rule,
                    all=sums.scores(every),
                    observed=sums.scores(every[1::2]),
                    unobserved=sums.scores(every[::2]),
                    branches=tuple(b for b in branches if self._tree is not None and b.scores.n),
                    severity=self.severity.counts(rule),
                    interval=compared.intervals[rule],
                    difference=gain.interval,
                    n_differing=gain.n_differing,
                )
            )
        return tuple(found)

    def trial(self, seed: int, resamples: int, level: float, repeats: float) -> Trial:
        """Return a `Trial`, which tries temperatures other than the adapter's on some random samples."""
        return Trial(
            adapter=self._adapter,
            distance=self.distance,
            logits=np.concatenate(self._trial_logits),
            truths=self._truths[self._tried],
            answers={rule: np.concatenate(points) for rule, points in self._trial_answers.items()},
            squared={rule: np.concatenate(values) for rule, values in self._trial_squared.items()},
            seed=seed,
            resamples=resamples,
            level=level,
            repeats=repeats,
        )


def _branches(tree: Ancestry | None, level: int) -> tuple[NDArray[np.int64], list[str]]:
    """Return a pair: the index of each vertex's branch, with vertices in preorder, and a list of branch keys.

    The key of a branch is the key of its top label. Without a tree, the array of indices is empty, and the
    list contains one empty key.
    """
    if tree is None:
        return np.zeros(0, dtype=np.int64), [""]
    distinct, number = np.unique(tree.branch(level), return_inverse=True)
    return number, [tree.key(position) for position in distinct.tolist()]
