"""Which points are meant: those that a caller names as observed labels, and those of the allowed labels."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.errors import InputError, SpaceError, UnknownLabelError
from labelgrove.ontology.geometry.arguments import listed, refuse_other_than
from labelgrove.ontology.geometry.spaces.metricspace import MetricSpace

__all__ = ["allowed_points", "observed_points"]


def observed_points(
    space: MetricSpace, observed: Iterable[str], *, name: str = "observed", empty: bool = False
) -> NDArray[np.int64]:
    """Return the point indices of `observed`, in the order given.

    Parameters
    ----------
    space : MetricSpace
        Where the labels are.
    observed : iterable of str
        Keys of points, each once.
    name : str, default="observed"
        What messages call the argument.
    empty : bool, default=False
        Whether none at all is a fair answer.

    Raises
    ------
    InputError
        If there is none, or one stands twice.
    UnknownLabelError
        If one is not a point of the space.

    Examples
    --------
    >>> from labelgrove.ontology.geometry.spaces.completespace import CompleteSpace
    >>> observed_points(CompleteSpace(["a", "b", "c"]), ["c", "a"]).tolist()
    [2, 0]
    """
    refuse_other_than(MetricSpace, "space", space, "build one with metric_space(graph)")
    keys = listed(name, observed)
    try:
        points = space.point_index(keys)
    except UnknownLabelError as error:
        raise UnknownLabelError(f"{name}: {error}") from None
    if not len(points) and not empty:
        raise InputError(f"{name}: empty; name at least one observed label")
    distinct, first = np.unique(points, return_index=True)
    if len(distinct) < len(points):
        again = min(set(range(len(points))) - set(first.tolist()))
        raise InputError(f"{name}: {keys[again]!r} stands twice; name each label once")
    return points


def allowed_points(space: MetricSpace) -> NDArray[np.int64]:
    """Return the point index of each allowed label, in canonical order: what may be chosen to be observed.

    Raises
    ------
    SpaceError
        If a label of a matrix is not among its points.

    Examples
    --------
    >>> from labelgrove.ontology.geometry.spaces.completespace import CompleteSpace
    >>> allowed_points(CompleteSpace(["a", "b", "c"], allowed=[0, 2])).tolist()
    [0, 2]
    """
    refuse_other_than(MetricSpace, "space", space, "build one with metric_space(graph)")
    allowed = space.allowed
    if allowed is not None:
        return allowed
    if space.keys is space.points:
        return np.arange(space.n_points)
    points = np.array([space.points.find(key) for key in space.keys], dtype=np.int64)
    absent = np.flatnonzero(points < 0)
    if len(absent):
        raise SpaceError(
            f"space: {len(absent)} labels have no column, {space.keys[int(absent[0])]!r} among them, and "
            "cannot be observed; give a matrix whose points include every label"
        )
    return points
