"""locus: find the labels that weights on observed labels reach, by the exact method or a published one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, get_args

from labelgrove.ontology.errors import InputError
from labelgrove.ontology.geometry.loci.exactlocus import locus_index
from labelgrove.ontology.geometry.loci.members import Locus
from labelgrove.ontology.geometry.spaces.metricspace import MetricSpace
from labelgrove.ontology.geometry.spaces.points import observed_points

__all__ = ["LARGEST_COST", "LocusMethod", "locus"]

LocusMethod = Literal["exact", "pairs", "pair-grid", "grid"]
"""The method of finding a locus; see `locus`."""

LARGEST_COST = 10**10
"""Largest number of multiply-adds that a grid may take by default; about a minute."""


def locus(
    space: MetricSpace,
    observed: Iterable[str],
    *,
    method: LocusMethod = "exact",
    divisions: float | None = None,
    largest_cost: float = LARGEST_COST,
) -> Locus:
    """Return every allowed label that some weights over `observed` reach.

    Parameters
    ----------
    space : MetricSpace
        The space of the labels.
    observed : iterable of str
        Keys of points, at least one, each listed once; they need not be allowed labels.
    method : {"exact", "pairs", "pair-grid", "grid"}, default="exact"
        ``"exact"``: the whole locus. ``"pairs"``: the union of the exact loci of all pairs of observed
        labels. ``"pair-grid"`` and ``"grid"``: the labels that grids of weights reach, with a grid for each
        pair of observed labels (the source paper's Algorithm 2) or one grid for all of them (its
        Algorithm 3).
    divisions : float, optional
        Only for the two grid methods: the number D in the weights 0/D, 1/D, ..., D/D that they try; positive.
        By default D is the diameter of the allowed labels. If D is not a whole number, the last step is
        shorter.
    largest_cost : float, default=LARGEST_COST
        Only for the two grid methods: the largest number of multiply-adds that is allowed. The methods need
        ``n_observed * (n_observed - 1) * (divisions + 1) * n_labels`` multiply-adds (``"pair-grid"``), and
        ``(divisions + 1)**n_observed * n_observed * n_labels`` (``"grid"``).

    Returns
    -------
    found : Locus
        The locus, with a status. The method ``"exact"`` always has the status ``"exact"``; if distances are
        rounded, sums tie within the `tolerance` of the result. The method ``"pairs"`` has the status
        ``"exact"`` if a theorem says that the union is the whole locus: for up to two observed labels, on
        complete graphs, and on trees with every label allowed and no edge shorter than 4e-12 of the diameter.
        The method ``"pair-grid"`` has the status ``"exact"`` on trees with every label allowed, if edge
        lengths are whole numbers and D is at least the diameter. In all other cases the status is
        ``"lower_bound"``.

    Raises
    ------
    InputError
        If `observed` is empty or names a label twice, the method is unknown, a grid is too large, `divisions`
        is not positive and finite, or the method does not take `divisions`.
    UnknownLabelError
        If `observed` names a label that is not a point of the space.
    MissingExtraError
        If numba or highspy is not installed and the method needs it on this space.

    Notes
    -----
    O(n_points) on a tree with every label allowed and no edge shorter than 1e-6 of the largest distance
    between observed labels; keys are only looked up when they are read from the result.
    `ontology.geometry.loci.pairs.pairs_locus` states the cost of the method ``"pairs"``, and
    `ontology.geometry.loci.general.general_locus` the cost on other spaces.

    Examples
    --------
    >>> from labelgrove.ontology.geometry import metric_space
    >>> from labelgrove.ontology.labelgraph import LabelGraph
    >>> line = metric_space(LabelGraph.from_edges([("b", "a"), ("c", "b"), ("d", "c"), ("e", "d")]))
    >>> found = locus(line, ["a", "d"])
    >>> found.members, found.witness("b"), found.status
    (('a', 'b', 'c', 'd'), (2, 1), 'exact')

    Four leaves are at distances 2, 2, 2 and 1 from the center of a tree. The nearest leaf is best under equal
    weights on the other three, but under no weights on two of them.

    >>> legs = [("a", "x"), ("b", "y"), ("c", "z"), ("x", "o"), ("y", "o"), ("z", "o"), ("short", "o")]
    >>> spider = metric_space(LabelGraph.from_edges(legs), labels="leaves")
    >>> found = locus(spider, ["a", "b", "c"], method="pairs")
    >>> sorted(found.members), found.status
    (['a', 'b', 'c'], 'lower_bound')
    >>> locus(line, ["a", "c"], method="grid").members
    ('a', 'b', 'c')
    """
    if method not in get_args(LocusMethod):
        raise InputError(f"method: {method!r} given; choose 'exact', 'pairs', 'pair-grid' or 'grid'")
    if divisions is not None and method not in ("pair-grid", "grid"):
        raise InputError(
            f"divisions: works only with the methods 'pair-grid' and 'grid', not with {method!r}"
        )
    points = observed_points(space, observed)
    if method == "exact":
        return locus_index(space, points)
    if method == "pairs":
        from labelgrove.ontology.geometry.loci.pairs import pairs_locus

        return pairs_locus(space, points)
    from labelgrove.ontology.geometry.loci.weightgrids import grid_locus, pair_grid_locus

    on_grid = pair_grid_locus if method == "pair-grid" else grid_locus
    return on_grid(space, points, divisions, largest_cost)
