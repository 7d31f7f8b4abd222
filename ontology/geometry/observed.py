"""observed_points: the one check of what a caller names as observed labels."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from ontology.errors import InputError
from ontology.geometry.spaces import MetricSpace

__all__ = ["observed_points"]


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
    >>> from ontology.geometry.spaces import CompleteSpace
    >>> observed_points(CompleteSpace(["a", "b", "c"]), ["c", "a"]).tolist()
    [2, 0]
    """
    keys = observed if isinstance(observed, str) else list(observed)
    points = space.point_index(keys)
    if not len(points) and not empty:
        raise InputError(f"{name}: empty; name at least one observed label")
    distinct, first = np.unique(points, return_index=True)
    if len(distinct) < len(points):
        again = min(set(range(len(points))) - set(first.tolist()))
        raise InputError(f"{name}: {keys[again]!r} stands twice; name each label once")
    return points
