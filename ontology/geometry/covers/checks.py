"""Locus covers: sets of observed labels that reach every allowed label, and checks of them.

A set of labels is a *locus cover* when its locus is all of Y, the allowed labels. It is *identifying* when
every label is uniquely reachable: some weights make it the only best label. It is *nontrivial* when some
allowed label is not in it; all allowed labels together are always a cover. `ontology.geometry.covers.minimum`
finds covers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry.loci.exactlocus import locus_index
from labelgrove.ontology.geometry.spaces.metricspace import MetricSpace
from labelgrove.ontology.geometry.spaces.points import observed_points
from labelgrove.ontology.geometry.status import Status

__all__ = [
    "Cover",
    "covers",
    "is_identifying_cover",
    "is_locus_cover",
    "is_nontrivial",
]


@dataclass(frozen=True)
class Cover:
    """A locus cover, with a bound on the size of a smallest cover.

    The labels are always proved to be a cover. `status` says whether it is also proved that no cover is
    smaller.

    Attributes
    ----------
    keys : tuple of str
        The labels to observe, in canonical order. Only `phylogenetic_cover` returns them in the order in
        which its algorithm observes them.
    status : {"exact", "lower_bound"}
        ``"exact"``: no cover is smaller. ``"lower_bound"``: no cover has fewer than `lower_bound` labels, and
        it is not known whether some cover has fewer labels than this one.
    lower_bound : int
        Every cover made of allowed labels is proved to have at least this many labels.
    """

    keys: tuple[str, ...]
    status: Status
    lower_bound: int

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def gap(self) -> int:
        """The largest number of labels by which a cover could be smaller than this one."""
        return len(self.keys) - self.lower_bound

    @classmethod
    def of(cls, space: MetricSpace, points: NDArray[np.int64], lower_bound: int) -> Cover:
        """Return the cover that consists of the labels with the point indices `points`, in their order.

        The cover is exact if the number of its labels equals `lower_bound`.
        """
        status: Status = "exact" if len(points) == lower_bound else "lower_bound"
        return cls(space.points.take(points), status, lower_bound)


def is_locus_cover(space: MetricSpace, observed: Iterable[str]) -> bool:
    """Return whether every allowed label is a Fréchet mean for some weights over `observed`.

    Parameters
    ----------
    space : MetricSpace
        The space of the labels.
    observed : iterable of str
        Keys of points, at least one, each listed once. A point that is not an allowed label may be observed
        too; the functions that find covers choose only among the allowed labels.

    Raises
    ------
    InputError
        If `observed` is empty or names a label twice.
    UnknownLabelError
        If `observed` names a label that is not a point of the space.

    Notes
    -----
    The answer is exact. The function calls `ontology.geometry.locus`, which determines its cost.

    Examples
    --------
    >>> from labelgrove.ontology.geometry.spaces.choosing import metric_space
    >>> from labelgrove.ontology.labelgraph import LabelGraph
    >>> grid = metric_space(LabelGraph.grid((3, 3)))
    >>> is_locus_cover(grid, ["0,0", "2,2"]), is_locus_cover(grid, ["0,0", "1,1"])
    (True, False)
    """
    return covers(space, observed_points(space, observed))


def is_identifying_cover(space: MetricSpace, observed: Iterable[str]) -> bool:
    """Return whether every allowed label is the only best label under some weights over `observed`.

    The parameters and errors are those of `is_locus_cover`.

    Examples
    --------
    >>> from labelgrove.ontology.geometry.spaces.choosing import metric_space
    >>> from labelgrove.ontology.labelgraph import LabelGraph
    >>> grid = metric_space(LabelGraph.grid((3, 3)))
    >>> is_identifying_cover(grid, ["0,0", "2,2"]), is_identifying_cover(grid, ["0,0", "0,2", "2,0", "2,2"])
    (False, True)
    """
    return covers(space, observed_points(space, observed), identifying=True)


def is_nontrivial(space: MetricSpace, observed: Iterable[str]) -> bool:
    """Return whether `observed` is a locus cover that does not contain every allowed label.

    The parameters and errors are those of `is_locus_cover`.

    Examples
    --------
    >>> from labelgrove.ontology.geometry.spaces.completespace import CompleteSpace
    >>> is_nontrivial(CompleteSpace(["a", "b", "c"]), ["a", "b", "c"])
    False
    """
    points = observed_points(space, observed)
    chosen = set(space.points.take(points))
    return any(key not in chosen for key in space.keys) and covers(space, points)


def covers(space: MetricSpace, points: NDArray[np.int64], *, identifying: bool = False) -> bool:
    """Return whether a set of labels is a locus cover or, with `identifying`, an identifying cover.

    `points` contains the point indices of these labels, which must be distinct.
    """
    found = locus_index(space, points)
    return len(found.unique_index if identifying else found.index) == space.n_labels
