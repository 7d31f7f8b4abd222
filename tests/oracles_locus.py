"""Compute loci, covers and selections by slow and exact brute force, in whole numbers and fractions.

A label y of Y is in the locus of the observed labels if some weights make it a Fréchet mean. With
``m[z][i] = d(z, l_i)^2 - d(y, l_i)^2``, these are weights w on the simplex with ``sum_i w_i m[z][i] >= 0``
for every other z. The label y is uniquely reachable if some weights make all these sums positive. Two methods
that share no step decide this: the value of a matrix game, by the simplex method in whole numbers, and the
corners of the polytope of weights, one by one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tests.oracles import Number, smallest

Rows = list[list[int]]


@dataclass(frozen=True)
class Margin:
    """The best worst case of one label: ``min_z sum_i w_i m[z][i]``, maximized over w on the simplex.

    `weights` attain it, after division by their sum. `multipliers` over the other labels prove that no
    weights give more: in this mixture of the others, no observed label has more than `value`.
    """

    value: Fraction
    weights: tuple[int, ...]
    multipliers: tuple[int, ...]


@dataclass(frozen=True)
class ExactLocus:
    """Members and unique members as ascending positions among the allowed labels, and weights of members."""

    members: tuple[int, ...]
    unique: tuple[int, ...]
    witnesses: tuple[tuple[int, ...], ...]


def squared(distances: Sequence[Sequence[Number]]) -> Rows:
    """Return the squares of distances as whole numbers; fractions are all scaled by the same factor."""
    scale = math.lcm(*(Fraction(d).denominator for row in distances for d in row))
    return [[int(d * scale) ** 2 for d in row] for row in distances]


def game(payoff: Sequence[Sequence[int]]) -> tuple[Fraction, tuple[int, ...], tuple[int, ...]]:
    """Return the value and the best mixtures of a matrix game; rows maximize, and columns minimize.

    The method is the primal simplex method with Bland's rule. All entries stay whole: each step multiplies
    out and divides by the previous pivot, which leaves no remainder.
    """
    n_rows, n_columns = len(payoff), len(payoff[0])
    shift = 1 - min(map(min, payoff))
    table = [
        [entry + shift for entry in row] + [int(r == s) for s in range(n_rows)] + [1]
        for r, row in enumerate(payoff)
    ]
    table.append([-1] * n_columns + [0] * (n_rows + 1))
    basis = list(range(n_columns, n_columns + n_rows))
    scale = 1
    while True:
        enter = next((j for j, entry in enumerate(table[-1][:-1]) if entry < 0), None)
        if enter is None:
            break
        leave = min(
            (r for r in range(n_rows) if table[r][enter] > 0),
            key=lambda r: (Fraction(table[r][-1], table[r][enter]), basis[r]),
        )
        pivot, pivot_row = table[leave][enter], table[leave]
        for r, row in enumerate(table):
            if r != leave:
                factor = row[enter]
                table[r] = [
                    (entry * pivot - factor * other) // scale
                    for entry, other in zip(row, pivot_row, strict=True)
                ]
        basis[leave], scale = enter, pivot
    columns = [0] * (n_columns + n_rows)
    for r, variable in enumerate(basis):
        columns[variable] = table[r][-1]
    value = Fraction(scale, table[-1][-1]) - shift
    return value, tuple(table[-1][n_columns:-1]), tuple(columns[:n_columns])


def margin(rows: Rows, y: int) -> Margin:
    """Return the margin of row `y` against all other rows; there must be at least one other."""
    others = [row for z, row in enumerate(rows) if z != y]
    payoff = [[row[i] - rows[y][i] for row in others] for i in range(len(rows[y]))]
    return Margin(*game(payoff))


def locus_of_rows(rows: Rows) -> ExactLocus:
    """Return the locus, from squared distances of allowed labels (rows) to observed labels (columns)."""
    if len(rows) == 1:
        return ExactLocus((0,), (0,), ((1,) * len(rows[0]),))
    margins = [margin(rows, y) for y in range(len(rows))]
    members = tuple(y for y, found in enumerate(margins) if found.value >= 0)
    unique = tuple(y for y in members if margins[y].value > 0)
    return ExactLocus(members, unique, tuple(margins[y].weights for y in members))


def locus_by_tie_rule(rows: Rows) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the members and unique members if sums within a relative 1e-12 tie, in whole numbers."""

    def best(y: int, own: int, theirs: int) -> Fraction:
        others = [row for z, row in enumerate(rows) if z != y]
        return game([[row[i] * theirs - rows[y][i] * own for row in others] for i in range(len(rows[y]))])[0]

    one = 10**12
    every = range(len(rows))
    members = tuple(y for y in every if len(rows) == 1 or best(y, one, one + 1) >= 0)
    return members, tuple(y for y in members if len(rows) == 1 or best(y, one + 1, one) > 0)


def locus_by_corners(rows: Rows) -> ExactLocus:
    """Return the locus, computed from the corners of each label's polytope of weights.

    A polytope that is not empty has a corner. At the mean of its corners, every inequality is strict that is
    strict anywhere in the polytope.
    """
    n_observed = len(rows[0])
    faces = [[int(i == j) for j in range(n_observed)] for i in range(n_observed)]
    members, unique, witnesses = [], [], []
    for y, own in enumerate(rows):
        against = [[a - b for a, b in zip(row, own, strict=True)] for z, row in enumerate(rows) if z != y]
        corners = list(_corners(faces + against, n_observed))
        if corners:
            inside = [sum(coordinates) for coordinates in zip(*corners, strict=True)]
            scale = math.lcm(*(w.denominator for w in inside))
            weights = tuple(int(w * scale) for w in inside)
            members.append(y)
            witnesses.append(weights)
            if all(_dot(weights, row) > 0 for row in against):
                unique.append(y)
    return ExactLocus(tuple(members), tuple(unique), tuple(witnesses))


def _corners(constraints: Rows, n: int) -> Iterator[list[Fraction]]:
    """Yield each point with sum 1 at which n - 1 constraints hold with equality, and all others hold."""
    for tight in itertools.combinations(constraints, n - 1):
        point = _solve([[1] * n, *tight], n)
        if point and all(_dot(point, row) >= 0 for row in constraints):
            yield point


def _solve(matrix: Sequence[Sequence[int]], n: int) -> list[Fraction] | None:
    """Return the x with matrix x = (1, 0, ..., 0), or None if there is not exactly one."""
    table = [[Fraction(entry) for entry in row] + [Fraction(int(r == 0))] for r, row in enumerate(matrix)]
    for column in range(n):
        pivot = next((r for r in range(column, n) if table[r][column]), None)
        if pivot is None:
            return None
        table[column], table[pivot] = table[pivot], table[column]
        table[column] = [entry / table[column][column] for entry in table[column]]
        for r in range(n):
            if r != column and table[r][column]:
                factor = table[r][column]
                table[r] = [a - factor * b for a, b in zip(table[r], table[column], strict=True)]
    return [row[-1] for row in table]


def _dot(weights: Sequence[Number], row: Sequence[int]) -> Number:
    return sum(w * entry for w, entry in zip(weights, row, strict=True))


def means(rows: Rows, weights: Sequence[Number]) -> list[int]:
    """Return every Fréchet mean under `weights`, computed exactly."""
    return smallest([_dot(weights, row) for row in rows])


def pair_union(rows: Rows) -> tuple[int, ...]:
    """Return the union of the exact loci of all pairs of observed labels, or of a single observed label."""
    n = len(rows[0])
    pairs = itertools.combinations(range(n), 2) if n > 1 else [(0,)]
    return tuple(sorted({y for pair in pairs for y in locus_of_rows(_columns(rows, pair)).members}))


def pair_grid_union(rows: Rows, steps: int) -> tuple[int, ...]:
    """Return the result of the paper's Algorithm 2: each pair with the weights 0/steps, ..., steps/steps."""
    found: set[int] = set()
    for pair in itertools.combinations(range(len(rows[0])), 2):
        columns = _columns(rows, pair)
        for first in range(steps + 1):
            found.update(means(columns, (first, steps - first)))
    return tuple(sorted(found))


def weight_grid_union(rows: Rows, steps: int, *, with_zero: bool) -> tuple[int, ...]:
    """Return the result of the paper's Algorithm 3: all weights that are multiples of 1/steps.

    The algorithm as printed includes the weights that are all zero (`with_zero`).
    """
    found: set[int] = set()
    for weights in itertools.product(range(steps + 1), repeat=len(rows[0])):
        if with_zero or any(weights):
            found.update(means(rows, weights))
    return tuple(sorted(found))


def _columns(rows: Rows, which: Iterable[int]) -> Rows:
    chosen = list(which)
    return [[row[i] for i in chosen] for row in rows]


class ExactSpace:
    """A small space whose loci, covers and greedy selections are found by exhaustive search.

    Observed and allowed labels are indices of points, and loci are positions among the allowed labels.
    """

    def __init__(self, distances: Sequence[Sequence[Number]], allowed: Sequence[int]) -> None:
        self.distances = distances
        self.allowed = list(allowed)
        self._loci: dict[frozenset[int], ExactLocus] = {}

    def rows(self, observed: Sequence[int]) -> Rows:
        return squared([[self.distances[y][o] for o in observed] for y in self.allowed])

    def locus(self, observed: Iterable[int]) -> ExactLocus:
        """Return the locus of a set of points; witnesses are weights over `observed` in ascending order."""
        chosen = frozenset(observed)
        if chosen not in self._loci:
            self._loci[chosen] = locus_of_rows(self.rows(sorted(chosen)))
        return self._loci[chosen]

    def size(self, observed: Iterable[int]) -> int:
        chosen = list(observed)
        return len(self.locus(chosen).members) if chosen else 0

    def is_cover(self, observed: Iterable[int], *, identifying: bool = False) -> bool:
        chosen = list(observed)
        if not chosen:
            return False
        found = self.locus(chosen)
        return len(found.unique if identifying else found.members) == len(self.allowed)

    def covers(self, *, identifying: bool = False) -> list[tuple[int, ...]]:
        """Return every set of allowed labels that is a cover, small sets first."""
        return [
            chosen
            for size in range(1, len(self.allowed) + 1)
            for chosen in itertools.combinations(self.allowed, size)
            if self.is_cover(chosen, identifying=identifying)
        ]

    def best_size(self, observed: Sequence[int], n: int, candidates: Sequence[int]) -> int:
        """Return the size of the largest locus that `n` more labels can give."""
        return max(self.size([*observed, *more]) for more in itertools.combinations(candidates, n))

    def greedy(self, observed: Sequence[int], n: int, candidates: Sequence[int]) -> list[tuple[int, int]]:
        """Return the label and gain of each round; among equal gains, the lowest index is picked."""
        chosen, picks = list(observed), []
        for _ in range(n):
            left = [c for c in candidates if c not in chosen]
            gains = [self.size([*chosen, c]) - self.size(chosen) for c in left]
            best = gains.index(max(gains))
            chosen.append(left[best])
            picks.append((left[best], gains[best]))
        return picks
