"""select_classes: pick the labels to observe next so that as many labels as possible can be an answer.

A gain is a number of labels in the locus, never a length. For example, take a tree with the edge 0-1 of
length 5 and the edges 0-2 and 2-3 of length 1, and let 0 be observed. Then observing 3 gains two labels;
observing 1, which is farther away, gains one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.errors import InputError, first_few
from labelgrove.ontology.geometry.selections.request import Method, checked_request
from labelgrove.ontology.geometry.selections.rounds import SelectionRun
from labelgrove.ontology.geometry.spaces.metricspace import MetricSpace
from labelgrove.ontology.geometry.status import Status

__all__ = ["Method", "Selection", "select_classes", "select_next", "selection_of"]


@dataclass(frozen=True, eq=False)
class Selection:
    """Labels in the order picked.

    Attributes
    ----------
    space : MetricSpace
        The space of the labels.
    index : ndarray of shape (n_picks,), dtype=int64
        Point index of each pick.
    gains : ndarray of shape (n_picks,), dtype=int64
        Number of labels that each pick adds to the locus.
    size_before : int
        Number of labels in the locus of the observed labels, without the picks.
    upper_bound : int
        Upper bound of the total gain of any selection within the same limits.
    spent : float
        Sum of the costs of the picks; the number of picks if no costs were given.
    status : {"exact", "lower_bound"}
        ``"exact"``: no selection within the same limits has a larger total gain. ``"lower_bound"``: another
        selection may gain more, up to `upper_bound`. Suppose that there are no costs and no budget, and that
        the space is a complete graph or a tree with every label allowed. Let m be at least the number of
        required labels. Then no m labels that include the required ones gain more than the first m picks.
    """

    space: MetricSpace = field(repr=False)
    index: NDArray[np.int64] = field(repr=False)
    gains: NDArray[np.int64] = field(repr=False)
    size_before: int
    upper_bound: int
    spent: float
    status: Status

    def __len__(self) -> int:
        return len(self.index)

    def __repr__(self) -> str:
        picks, gain = first_few([repr(key) for key in self.keys]), int(self.gains.sum())
        return (
            f"Selection({picks}; gains {gain} of at most {self.upper_bound} over {self.size_before}, "
            f"spent {self.spent:g}; {self.status})"
        )

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """Keys in the order picked; built on demand."""
        return self.space.points.take(self.index)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of labels in the locus after each pick."""
        return self.size_before + np.cumsum(self.gains)


def select_next(
    space: MetricSpace,
    observed: Iterable[str],
    *,
    forbidden: Iterable[str] = (),
    candidates: Iterable[str] | None = None,
) -> str:
    """Return the label that adds the most labels to the locus if it is observed next.

    Parameters
    ----------
    space, observed, forbidden, candidates
        As for `select_classes`, which this function calls with ``n=1``.

    Examples
    --------
    >>> from labelgrove.ontology.geometry.spaces.treespace import TreeSpace
    >>> from labelgrove.ontology.keys import Keys
    >>> tree = TreeSpace.from_arrays(Keys.from_strings("0123"), [-1, 0, 0, 2], [0.0, 5.0, 1.0, 1.0])
    >>> select_next(tree, ["0"])
    '3'
    """
    return select_classes(space, observed, 1, forbidden=forbidden, candidates=candidates).keys[0]


def select_classes(
    space: MetricSpace,
    observed: Iterable[str],
    n: int | None = None,
    *,
    costs: Mapping[str, float] | None = None,
    budget: float | None = None,
    required: Iterable[str] = (),
    forbidden: Iterable[str] = (),
    candidates: Iterable[str] | None = None,
    method: Method = "active",
    seed: int | np.random.Generator = 0,
) -> Selection:
    """Pick labels to observe next, one by one, so that the locus grows the most.

    Parameters
    ----------
    space : MetricSpace
        The space of the labels.
    observed : iterable of str
        Keys of the labels already observed, each listed once. Any point may be observed; the list may be
        empty.
    n : int, optional
        Number of picks. With a budget or costs there are fewer picks if no affordable label gains anything.
        None: pick until no label gains anything (with the method ``"uniform"``, until no label is left).
    costs : mapping of str to float, optional
        Cost of observing each label, finite and not negative; labels that are not named cost 1.
    budget : float, optional
        Upper limit of the sum of the costs of all picks.
    required : iterable of str, optional
        Labels that are always picked, before all others; they count towards `n` and `budget`.
    forbidden : iterable of str, optional
        Labels that are never picked.
    candidates : iterable of str, optional
        Labels that may be picked; any points can be given. By default the allowed labels may be picked.
    method : {"active", "uniform", "outside"}, default="active"
        ``"active"`` picks the label with the largest gain next (with costs, the largest gain per cost). The
        baselines draw labels uniformly: ``"uniform"`` from all labels that are left; ``"outside"`` from the
        labels outside the growing locus and, if `n` is given and no such label is left, from the rest.
    seed : int or numpy.random.Generator, default=0
        Seed of the random draws. The baselines draw labels, and ``"active"`` draws some of the candidates if
        there are more than 512 (see Notes).

    Returns
    -------
    selection : Selection
        Picks, gains, an upper bound for all selections, and whether this selection is the best.

    Raises
    ------
    InputError
        If `n` is smaller than 1 or than the number of required labels, or larger than the number of labels
        that may be picked; if a cost or the budget is negative or not a number; if costs or a budget are
        given, but no label is observed or required; if a required label is also observed or forbidden; or if
        a list names a label twice.
    UnknownLabelError
        If a key is not a point of the space.
    MissingExtraError
        On trees, if numba is not installed; on other spaces except complete graphs, if numba or highspy is
        not installed.

    Notes
    -----
    Ties go to the lowest canonical index, so the order in which labels are listed changes nothing.

    *Trees with every label allowed*: finding the order of all picks takes O(n_points), and for every m the
    first m picks are the best selection of m labels. If no label is observed, the first pick is an end of a
    longest path between two candidates, where the length is counted in labels; among all such ends, the one
    with the lowest index is picked. This is the best start for every number of picks. If `n` is larger than
    the number of labels that gain something, labels without gain follow in the order of their canonical
    indices.

    *Costs and budgets on such trees*: with whole costs, a budget, no `n`, and a table of at most 2^25 entries
    (labels times budget), dynamic programming finds the best selection. Otherwise two greedy selections are
    made, by gain per cost and by gain, and the better one is returned. It gains at least ``(1 - 1/e) / 2`` of
    the gain of the best selection, and usually far more, as `upper_bound` shows.

    `upper_bound` is the smallest of three kinds of bounds. The first two follow from the fact that no gain
    grows as the locus grows: from any locus, the labels of a selection together gain at most the sum of what
    each of them alone would gain. So no selection gains more than the value of the fractional knapsack of
    these single gains. The first bound is the value of the knapsack at the start. The second bound is the
    gain of a greedy selection, plus the value of the knapsack at its end. The third bound ignores costs:
    it is the total gain of the first k picks in the order without costs, where k is the largest number of
    picks that `n` and `budget` allow.

    *Other spaces*: here picking the largest gain each time is a heuristic, because gains may grow as the
    locus grows. A single pick is the best if all candidates are compared. The gain of a candidate is measured
    by computing an exact locus. Candidates are measured in the order of upper bounds on their gains, largest
    first, until none of the others could win. On trees with whole lengths on which only some labels are
    allowed, the bounds leave few candidates to measure, and each pick is the best of all candidates. On all
    other spaces the bounds are weak, and a round may have to compute one locus for each candidate. So if
    there are more than 512 candidates and `candidates` is not given, each round draws 512 labels outside the
    locus, and picks the best of the 16 drawn labels that are farthest from their nearest observed labels.
    Give `candidates` to have all of them compared. If no label is observed, the selection starts with the
    candidate farthest from the first candidate.

    Examples
    --------
    >>> from labelgrove.ontology.geometry.spaces.treespace import TreeSpace
    >>> from labelgrove.ontology.keys import Keys
    >>> tree = TreeSpace.from_arrays(Keys.from_strings("rabcd"), [-1, 0, 1, 2, 0])
    >>> found = select_classes(tree, ["r"])
    >>> found.keys, found.gains.tolist(), found.status
    (('c', 'd'), [3, 1], 'exact')
    """
    request = checked_request(
        space,
        observed,
        n,
        costs=costs,
        budget=budget,
        required=required,
        forbidden=forbidden,
        candidates=candidates,
        method=method,
        seed=seed,
    )
    run = SelectionRun(request)
    run.go_on()
    return selection_of(run)


def selection_of(run: SelectionRun) -> Selection:
    """Return the selection of a run that has ended, or raise `InputError` if it has not ended."""
    request, standing = run.request, run.standing
    if standing.upper_bound is None:
        raise InputError(
            f"run: {len(standing.index)} labels are picked and more may follow; call go_on until the "
            "run has ended"
        )
    index, gains, cost = standing.index, standing.gains, request.cost
    return Selection(
        space=request.space,
        index=index,
        gains=gains,
        size_before=standing.size_before,
        upper_bound=standing.upper_bound,
        spent=float(len(index) if cost is None else cost[index].sum()),
        status="exact" if int(gains.sum()) == standing.upper_bound else "lower_bound",
    )
