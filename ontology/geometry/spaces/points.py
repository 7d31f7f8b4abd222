"""Find the point indices of observed labels, given by their keys, and of the allowed labels."""

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
        The space of the labels.
    observed : iterable of str
        Keys of points, each listed once.
    name : str, default="observed"
        Name of the argument in error messages.
    empty : bool, default=False
        Whether an empty list is accepted.

    Raises
    ------
    InputError
        If the list is empty, or a key is listed twice.
    UnknownLabelError
        If a key is not a point of the space.

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
        raise InputError(f"{name}: {keys[again]!r} occurs twice; name each label once")
    return points


def allowed_points(space: MetricSpace) -> NDArray[np.int64]:
    """Return the point index of each allowed label, in canonical order.

    Raises
    ------
    SpaceError
        If the space is a matrix, and one of its allowed labels is not a point and so has no point index.

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
