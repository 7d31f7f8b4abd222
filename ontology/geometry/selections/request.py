"""SelectionRequest: the checked arguments of a selection, such as candidates, number of picks and costs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.errors import InputError
from labelgrove.ontology.geometry.arguments import nonnegative_number, refuse_other_than
from labelgrove.ontology.geometry.sampling import generator
from labelgrove.ontology.geometry.spaces.metricspace import MetricSpace
from labelgrove.ontology.geometry.spaces.points import allowed_points, observed_points

__all__ = ["Method", "SelectionRequest", "checked_request"]

Method = Literal["active", "uniform", "outside"]

_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class SelectionRequest:
    """The checked arguments of `ontology.geometry.select_classes`.

    Attributes
    ----------
    space : MetricSpace
        The space of the labels.
    points, must, pool : ndarray of int64
        Point indices. `points`: the labels already observed, in the order given; `must`: the required labels,
        ascending; `pool`: the other labels that may be picked, ascending.
    n : int or None
        Number of picks, including the required labels. None: pick until no label gains anything (with the
        method ``"uniform"``, until no label is left).
    cost : ndarray of shape (n_points,), dtype=float64, or None
        Cost of each point; None: costs are ignored.
    left : float
        The part of the budget that is left after paying for the required labels; may be infinite.
    method : {"active", "uniform", "outside"}
        The method of picking labels.
    rng : numpy.random.Generator
        Generator of the random draws.
    drawn : bool
        Whether a round may draw some labels of the pool at random instead of comparing all of them. It is
        True if the request names no candidates.
    """

    space: MetricSpace
    points: NDArray[np.int64]
    must: NDArray[np.int64]
    pool: NDArray[np.int64]
    n: int | None
    cost: NDArray[np.float64] | None
    left: float
    method: Method
    rng: np.random.Generator
    drawn: bool

    @property
    def most(self) -> int:
        """The largest number of labels that can be picked."""
        return len(self.must) + len(self.pool) if self.n is None else self.n


def checked_request(
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
) -> SelectionRequest:
    """Check the arguments of `ontology.geometry.select_classes` and return the request.

    The errors are those of `select_classes`.
    """
    if method not in ("active", "uniform", "outside"):
        raise InputError(f"method: {method!r} given; choose 'active', 'uniform' or 'outside'")
    rng = generator(seed)
    points = observed_points(space, observed, empty=True)
    must = np.sort(observed_points(space, required, name="required", empty=True))
    never = observed_points(space, forbidden, name="forbidden", empty=True)
    _refuse_shared(space, must, points, "already observed")
    _refuse_shared(space, must, never, "forbidden")
    if candidates is None:
        pool = allowed_points(space)
    else:
        pool = observed_points(space, candidates, name="candidates", empty=True)
    offered = np.zeros(space.n_points, dtype=bool)
    offered[pool] = True
    offered[np.concatenate([points, must, never])] = False
    pool = np.flatnonzero(offered)
    _check_number(n, len(must), len(pool))
    cost, left = _checked_costs(space, costs, budget, must)
    if cost is not None and not len(points) + len(must):
        raise InputError(
            "observed: empty; with costs or a budget, at least one label must be observed or required, so "
            "that the selection starts from a locus"
        )
    return SelectionRequest(space, points, must, pool, n, cost, left, method, rng, candidates is None)


def _refuse_shared(
    space: MetricSpace, required: NDArray[np.int64], others: NDArray[np.int64], what: str
) -> None:
    both = np.intersect1d(required, others)
    if len(both):
        raise InputError(
            f"required: {space.points[int(both[0])]!r} is {what}; remove it from the required labels, "
            f"or from the labels that are {what}"
        )


def _check_number(n: int | None, n_required: int, n_pool: int) -> None:
    if n is None:
        return
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)):
        raise InputError(f"n: {n!r} given; it must be a whole number, or None to set no limit")
    least, most = max(1, n_required), n_required + n_pool
    if not least <= n <= most:
        left = "nothing is left to pick" if not most else f"pick {least} to {most}"
        raise InputError(
            f"n: {n} given; {left}, because {n_required} required and {n_pool} other labels may be picked"
        )


def _checked_costs(
    space: MetricSpace,
    costs: Mapping[str, float] | None,
    budget: float | None,
    required: NDArray[np.int64],
) -> tuple[NDArray[np.float64] | None, float]:
    """Return the cost of each point, and the budget minus the costs of the required labels.

    If neither costs nor a budget are given, None is returned for the costs. Without a budget, infinity is
    returned for the rest of the budget.
    """
    if costs is None and budget is None:
        return None, np.inf
    cost = np.ones(space.n_points)
    if costs is not None:
        refuse_other_than(Mapping, "costs", costs, "such as {'oak': 2.5}")
        given = np.array([nonnegative_number(f"costs: {key!r}", value) for key, value in costs.items()])
        cost[space.point_index(list(costs))] = given
    if budget is None:
        return cost, np.inf
    left = nonnegative_number("budget", budget) * (1 + _ROUNDING) - float(cost[required].sum())
    if left < 0:
        raise InputError(
            f"budget: {budget} given; the {len(required)} required labels already cost "
            f"{cost[required].sum():g}; give at least as much"
        )
    return cost, left
