"""The rules that weights must obey, and the error message of each rule.

Weights that are given to a scorer and outputs of a model are checked by the same rules, so a mistake gives
the same message for both. Each message begins with the name of the argument or file.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.errors import WeightError

__all__ = [
    "NO_NAN",
    "NO_WEIGHT",
    "at_a_limit",
    "bad_cell",
    "bad_row",
    "exact_near_limits",
    "refuse_cells",
    "refuse_totals",
    "weight_faults",
]

NO_NAN = "a number, not NaN, in every cell"
NO_WEIGHT = "each row must give at least one label a positive weight"

Faults = Sequence[tuple[NDArray[np.bool_], str]]
"""A pair for each rule: the mask of the cells that break the rule, and the text of the rule."""


def weight_faults(rows: NDArray[np.float64], advice: str = "") -> list[tuple[NDArray[np.bool_], str]]:
    """Return a pair for each rule of a weight: the mask of the cells that break it, and the text of the rule.

    `advice` is added to the rule about negative numbers.
    """
    negative = f"no negative number{'; ' if advice else ''}{advice}"
    return [(np.isnan(rows), NO_NAN), (np.isinf(rows), "finite numbers"), (rows < 0, negative)]


def refuse_cells(
    name: str, block: NDArray[Any], faults: Faults, first: int = 0, columns: tuple[str, ...] = ()
) -> None:
    """If cells break a rule of `faults`, raise `WeightError` for one of them.

    The error is about the first rule that any cell breaks, and about the first cell that breaks it. `block`
    contains the cells. `first` is the index that messages give to its row 0; `columns` contains the keys of
    its columns.
    """
    for bad, rule in faults:
        if bad.any():
            row, column = (int(i) for i in np.argwhere(bad)[0])
            more = _and_more(np.any(bad, axis=1), first)
            raise bad_cell(name, first + row, column, columns, block[row, column], rule, more)


def refuse_totals(name: str, rows: NDArray[np.float64], limits: tuple[float, float], first: int = 0) -> None:
    """Raise `WeightError` for the first row whose sum is not within `limits`; no cell may break a rule."""
    with np.errstate(over="ignore"):
        total = exact_near_limits(rows, rows.sum(axis=1), limits)
    bad = ~((total >= limits[0]) & (total <= limits[1]))
    if not bad.any():
        return
    found, rule = total[bad][0], NO_WEIGHT
    if found > limits[1]:
        rule = f"the weights of a row must sum to at most {limits[1]:g}; scale them"
    elif found:
        rule = f"the weights of a row must sum to at least {limits[0]:g}; scale them"
    raise bad_row(name, bad, f"sums to {found}", rule, first)


def exact_near_limits(
    rows: NDArray[Any], total: NDArray[np.float64], limits: tuple[float, float]
) -> NDArray[np.float64]:
    """Return the sums of rows of weights; those near a limit are exact sums that are rounded once.

    `total` contains the sums, added in any order. Rounding may put such a sum on either side of a limit. An
    exact sum is the same for every order of the columns, so every check of a row has the same outcome. No
    cell may break a rule.
    """
    near = np.zeros(len(total), dtype=np.bool_)
    for limit in limits:
        near |= (total >= limit / 2) & (total <= 2 * limit)
    if not near.any():
        return total
    found = total.copy()
    found[near] = [math.fsum(row) for row in rows[near].astype(np.float64).tolist()]
    return found


def bad_cell(
    name: str,
    row: int,
    column: int,
    columns: tuple[str, ...],
    held: object,
    rule: str = NO_NAN,
    more: str = "",
) -> WeightError:
    """Return the error for a cell that breaks a rule; the message names its column."""
    named = f" ({columns[column]!r})" if columns else ""
    return WeightError(
        f"{name}: row {row}, column {column}{named} holds {held}{more}; a row must have {rule}"
    )


def bad_row(name: str, bad: NDArray[np.bool_], said: str, rule: str, first: int = 0) -> WeightError:
    """Return the error for the first row that the mask `bad` selects; `said` tells what is wrong with it."""
    row = first + int(np.flatnonzero(bad)[0])
    return WeightError(f"{name}: row {row} {said}{_and_more(bad, first)}; {rule}")


def at_a_limit(name: str, row: int, limits: tuple[float, float]) -> WeightError:
    """Return the error for a row whose sum is within the limits, but not as the library of the array adds."""
    return WeightError(
        f"{name}: row {row} has a sum so near a limit ({limits[0]:g} or {limits[1]:g}) that the library of "
        "this array cannot compute it; scale the weights, or give a numpy array"
    )


def _and_more(bad: NDArray[np.bool_], first: int) -> str:
    """Return a remark that says how many rows after the first bad row are bad too; "" if there are none."""
    n = int(bad.sum()) - 1
    return f" (and {n} more of rows {first} to {first + len(bad) - 1})" if n else ""
