"""Exact prediction regions of three observed labels: polygons on the simplex, clipped by half-planes.

The simplex is the triangle of all weights on the three labels that sum to one. A label y wins at weights w if
its Fréchet variance ``F_y(w)`` is at most ``F_z(w)`` for every label z. F is linear in w, so the weights
where y wins form a convex polygon. Its corners are stored as integer vectors proportional to the weights, so
rounding never moves a boundary.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.errors import InputError
from labelgrove.ontology.geometry.paths.wholenumbers import whole_numbers

__all__ = ["Region", "exact_regions"]

_FITS_INT64 = 10**6
"""Largest squared distance whose products with the corners of a region stay below 2^63."""

_Corner = tuple[int, int, int]


@dataclass(frozen=True)
class Region:
    """A region of the simplex, and the labels that win in it: one label, or several with equal distances.

    Attributes
    ----------
    labels : tuple of int
        The labels that win, ascending. They are tied everywhere in the region, and the first is the answer.
    corners : ndarray of shape (n_corners, 3), dtype=float64
        Weights at the corners of the region, in order around it, rounded from exact fractions. A region that
        is a line has two corners, and a region that is a point has one. At every point of such a
        region, other labels are tied with those in `labels`.
    area : Fraction
        Share of the simplex, exact; 0 for lines and points.
    """

    labels: tuple[int, ...]
    corners: NDArray[np.float64]
    area: Fraction

    @property
    def center(self) -> NDArray[np.float64]:
        """Weights at the center of mass of the region; shape (3,)."""
        if len(self.corners) < 3:
            return np.asarray(self.corners.mean(axis=0))
        first, others = self.corners[0], self.corners[1:]
        doubled = np.linalg.norm(np.cross(others[:-1] - first, others[1:] - first), axis=1)
        thirds = (first + others[:-1] + others[1:]) / 3
        return np.asarray(doubled @ thirds / doubled.sum())


def exact_regions(distances: NDArray[Any]) -> list[Region]:
    """Return the regions of all labels that win anywhere on the simplex, ordered by their lowest labels.

    Parameters
    ----------
    distances : ndarray of shape (n_labels, 3)
        Finite distances of the labels to the three observed labels. Each number is read as an exact fraction,
        and its square is exact.

    Raises
    ------
    InputError
        For any other shape, or for distances that are negative or not finite.

    Notes
    -----
    Each distinct row of distances has one polygon. The polygon is clipped by the most violated half-plane
    first, which takes a few passes over all distinct rows for each polygon.

    Examples
    --------
    >>> star = np.array([[0, 2, 2], [2, 0, 2], [2, 2, 0], [1, 1, 1]])
    >>> [(r.labels, str(r.area)) for r in exact_regions(star)]
    [((0,), '1/16'), ((1,), '1/16'), ((2,), '1/16'), ((3,), '13/16')]
    """
    given = np.asarray(distances)
    if given.ndim != 2 or given.shape[1] != 3:
        raise InputError(f"distances: shape {given.shape}; give one row for each label and three columns")
    if not (np.isfinite(given).all() and (given >= 0).all()):
        bad = given[~(np.isfinite(given) & (given >= 0))][0]
        raise InputError(f"distances: {bad} given; a distance must be finite and not negative")
    distinct, first, group = np.unique(given, axis=0, return_index=True, return_inverse=True)
    group = group.ravel()  # NumPy 2.0.0 gives a column
    squares = _exact_squares(distinct)
    labels = np.split(np.argsort(group, kind="stable"), np.cumsum(np.bincount(group))[:-1])
    found = []
    for row in np.argsort(first).tolist():
        corners = _clipped(squares, row)
        if corners:
            weights = [[Fraction(x, sum(corner)) for x in corner] for corner in corners]
            area = _share(weights)
            found.append(Region(tuple(labels[row].tolist()), np.array(weights, dtype=np.float64), area))
    return found


def _exact_squares(distances: NDArray[Any]) -> NDArray[Any]:
    """Return integers proportional to the squares of `distances`: int64, or Python integers if large."""
    whole = whole_numbers(distances).astype(object)
    squares = whole * whole
    return np.asarray(squares, dtype=np.int64 if squares.max() <= _FITS_INT64 else object)


def _clipped(squares: NDArray[Any], row: int) -> list[_Corner]:
    """Return the corners of the polygon, line or point where the labels with one row of distances win.

    `squares` is the result of `_exact_squares` for all distinct rows of distances, and `row` is the index of
    the one row. The list is empty if its labels never win.
    """
    excess = squares - squares[row]  # F_z - F_row at w is excess[z] @ w
    corners: list[_Corner] = [(1, 0, 0), (0, 1, 0), (0, 0, 1)]
    while corners:
        value = excess @ np.array(corners, dtype=excess.dtype).T
        worst = np.unravel_index(value.argmin(), value.shape)
        if value[worst] >= 0:
            break
        corners = _cut(corners, value[worst[0]].tolist())
    return corners


def _cut(corners: list[_Corner], value: list[int]) -> list[_Corner]:
    """Return the part of a polygon where a linear function, given by its values at the corners, is >= 0."""
    kept: list[_Corner] = []
    for i, (corner, here) in enumerate(zip(corners, value, strict=True)):
        if here >= 0:
            kept.append(corner)
        following = (i + 1) % len(corners)
        there = value[following]
        if (here < 0 < there) or (there < 0 < here):
            ends = zip(corner, corners[following], strict=True)
            a, b, c = (abs(there) * x + abs(here) * y for x, y in ends)
            common = gcd(a, b, c)
            kept.append((a // common, b // common, c // common))
    return list(dict.fromkeys(kept))  # the corners of a line come up twice, once in each direction


def _share(weights: list[list[Fraction]]) -> Fraction:
    """Return the area of a polygon as a share of the simplex."""
    total = Fraction(0)
    (x0, y0, _), *others = weights
    for (x1, y1, _), (x2, y2, _) in pairwise(others):
        total += (x1 - x0) * (y2 - y0) - (x2 - x0) * (y1 - y0)
    return abs(total)
