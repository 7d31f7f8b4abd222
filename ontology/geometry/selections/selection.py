"""select_classes: which labels to observe next, so that the most labels can be answered with.

What counts is the number of labels in the locus, never a length: on a tree with edges 0-1 of length 5, 0-2
and 2-3 of length 1, observing 3 next to 0 gains two labels and the farther 1 gains one.
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
        Where the labels are.
    index : ndarray of shape (n_picks,), dtype=int64
        Point index of each pick.
    gains : ndarray of shape (n_picks,), dtype=int64
        Number of labels that each pick adds to the locus.
    size_before : int
        Number of labels in the locus of the observed labels alone.
    upper_bound : int
        No selection that keeps to the same limits gains more than this in all.
    spent : float
        Sum of the costs of the picks; their number where no costs were given.
    status : {"exact", "lower_bound"}
        ``"exact"``: no selection that keeps to the same limits gains more in all. Without costs and budget,
        on a complete graph and on a tree where every label is allowed, the same holds for the first m picks
        among all selections of m labels, whatever m (as long as m covers the required ones).
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
        """Keys in the order picked; made on use."""
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
    """Return the label whose observation adds the most labels to the locus.

    Parameters
    ----------
    space, observed, forbidden, candidates
        As for `select_classes`, which this is with ``n=1``.

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
    """Pick labels to observe next, one after the other, so that the locus grows the most.

    Parameters
    ----------
    space : MetricSpace
        Where the labels are.
    observed : iterable of str
        Keys of the labels observed already, any of the points, each once; may be empty.
    n : int, optional
        Number of picks. With a budget or costs there are fewer where nothing that gains is left within them.
        None: go on until nothing gains any more (``"uniform"``: until nothing is left).
    costs : mapping of str to float, optional
        What observing a label costs, finite and not negative; labels not named cost 1.
    budget : float, optional
        The costs of all picks sum to no more than this.
    required : iterable of str, optional
        Labels that are picked in any case, before all others; they count for `n` and `budget`.
    forbidden : iterable of str, optional
        Labels that are never picked.
    candidates : iterable of str, optional
        Labels that may be picked, any of the points; the allowed labels by default.
    method : {"active", "uniform", "outside"}, default="active"
        ``"active"``: the largest gain next, or the largest gain per cost. The passive baselines draw
        uniformly from what is left: ``"uniform"`` from all of it, ``"outside"`` from what is outside the
        locus as it grows, and from the rest once that is used up (and `n` given).
    seed : int or numpy.random.Generator, default=0
        For the baselines, and for the draw among more than 512 candidates on other spaces than trees.

    Returns
    -------
    selection : Selection
        Picks, gains, what no selection could exceed, and whether this one is the best.

    Raises
    ------
    InputError
        If `n` is not between the number of required labels, 1 at least, and the number of labels left; for
        costs or a budget that are negative or not numbers, or counted from nothing (no label observed or
        required); for labels both required and observed or forbidden, and lists that name one twice.
    UnknownLabelError
        If a key is not a point of the space.
    MissingExtraError
        On trees, where numba is not installed; on other spaces but complete graphs also without highspy.

    Notes
    -----
    Of equal gains the lowest canonical index is picked, so the order of the arguments changes nothing.

    *Trees with every label allowed*: O(n_points) for the whole order, every prefix the best of its size. With
    no label observed the first pick is an end of a longest path between two candidates, counted in labels,
    the one of lowest index; that is the best start for every number of picks. Labels without gain follow, by
    canonical index, where `n` asks for more.

    *Costs and budgets on such trees*: with whole costs, a budget, no `n`, and a table of no more than 2^25
    entries (labels times budget), dynamic programming finds the best selection. Otherwise greedy, by gain per
    cost and by gain, and the better of the two is returned: never less than ``(1 - 1/e) / 2`` of the best,
    and mostly far more, which `upper_bound` shows. It is the least of three bounds: gains never grow as the
    locus does, so what a best selection S* adds to any locus L is at most the sum of the single gains of its
    labels over L, hence at most the fractional knapsack of these gains; taken at the start and at the end.
    And k labels gain no more than the k longest paths, k being the most that `n` and `budget` allow.

    *Other spaces*: picking the largest gain again and again is a heuristic there, since gains may grow as the
    locus does; a single pick that all candidates count for is the best. Gains are those of exact loci.
    Candidates are measured in the order of bounds on their gains, until none that is left could win. On
    trees where some labels are allowed (lengths whole numbers) the bounds leave a handful to measure: each
    pick is the best of all candidates. Elsewhere the bounds are weak, and a round may measure one locus for
    each candidate: with more than 512 candidates, none of them named, each round draws 512 outside the locus,
    and its pick is the best of the 16 that are farthest from the nearest observed label. Name `candidates` to
    have all of them count. With no label observed it starts with the candidate farthest from the first.

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
    """Return the selection that a run has come to; `InputError` where it has not ended."""
    request, standing = run.request, run.standing
    if standing.upper_bound is None:
        raise InputError(
            f"run: {len(standing.index)} labels are picked and more may follow; call go_on until it has ended"
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
