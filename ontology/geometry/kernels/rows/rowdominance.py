"""Compare rows of distances one by one, to leave out most of those that no weights make best.

A row *bounds* another row if it is smaller or equal in every column. A row that no other row bounds is a
*rival*. A bounded row can be best only in a tie with a rival; it can never be best if another row is smaller
in every column. Whether some weights make a rival best is not decided here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry.kernels.jit import compiled

__all__ = ["RIVAL", "TIED_ONLY", "chains", "dominance", "gates", "tying_faces"]

RIVAL, TIED_ONLY, BEATEN = 0, 1, 2


@compiled
def dominance(rows: NDArray[Any], lifted: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the state of each row: `RIVAL`, `BEATEN` or `TIED_ONLY`.

    `RIVAL` means that no other row is smaller or equal in every column. `BEATEN` means that another row is
    smaller in every column. `TIED_ONLY` means that another row is smaller or equal in every column, but none
    is smaller in every column. In these comparisons the other row is taken from `lifted`, which contains the
    rows, raised by the tolerance for ties if it applies.
    """
    # rows, lifted: (n, K), distinct, in ascending order of their sums -> (n,) of the three states above.
    # RIVAL: no row's lifted copy is at most this row everywhere. BEATEN: some row's lifted copy is smaller
    # everywhere. A row that bounds another row is a rival or bounded by one, so rows are compared only with
    # rivals. O(n * n_rivals) comparisons, most of which end after a few columns.
    n, n_columns = rows.shape
    state = np.zeros(n, dtype=np.uint8)
    rivals = np.empty(n, dtype=np.int64)
    n_rivals = 0
    for y in range(n):
        for at in range(n_rivals):
            s = rivals[at]
            below, strictly = True, True
            for i in range(n_columns):
                if lifted[s, i] > rows[y, i]:
                    below = False
                    break
                if lifted[s, i] == rows[y, i]:
                    strictly = False
            if below:
                state[y] = BEATEN if strictly else TIED_ONLY
                if strictly:
                    break
        if state[y] == RIVAL:
            rivals[n_rivals] = y
            n_rivals += 1
    return state


@compiled
def gates(
    rows: NDArray[Any], lifted: NDArray[Any], rivals: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return a rival that bounds each row, or the row itself if none does, and where it is strictly smaller.

    Of the rivals that are smaller than the row in every column, the one with the largest sum is returned; if
    there are none, the one with the largest sum of all rivals that bound the row. As in `dominance`, rivals
    are taken from `lifted`.
    """
    # rows, lifted: (n, K), distinct, in ascending order of their sums; rivals: ascending indices
    # -> (n,), (n,). A row only has rivals with smaller sums, which stand before it.
    # O(n * n_rivals) comparisons.
    n, n_columns = rows.shape
    gate = np.arange(n)
    strict = np.zeros(n, dtype=np.bool_)
    n_before = 0
    for y in range(n):
        if n_before < len(rivals) and rivals[n_before] == y:
            n_before += 1
            continue
        for at in range(n_before - 1, -1, -1):
            s = rivals[at]
            below, strictly = True, True
            for i in range(n_columns):
                if lifted[s, i] > rows[y, i]:
                    below = False
                    break
                if lifted[s, i] == rows[y, i]:
                    strictly = False
            if below and (strictly or gate[y] == y):
                gate[y], strict[y] = s, strictly
                if strictly:
                    break
    return gate, strict


@compiled
def tying_faces(rows: NDArray[Any], lifted_rivals: NDArray[Any]) -> NDArray[np.bool_]:
    """Return, for each row, which columns may have weight if the row is to be best."""
    # rows: (n, K), lifted_rivals: (m, K) -> (n, K).
    # If a rival is at most the row on all remaining columns, and smaller on some, these can have no weight
    # and are removed, until nothing changes. If no column remains, the row is never best. O(n * m)
    # comparisons per round.
    n, n_columns = rows.shape
    faces = np.ones((n, n_columns), dtype=np.bool_)
    for y in range(n):
        face = faces[y]
        n_left = n_columns
        changed = True
        while changed and n_left:
            changed = False
            for s in range(len(lifted_rivals)):
                below, n_smaller = True, 0
                for i in range(n_columns):
                    if face[i]:
                        if lifted_rivals[s, i] > rows[y, i]:
                            below = False
                            break
                        if lifted_rivals[s, i] < rows[y, i]:
                            n_smaller += 1
                if below and n_smaller:
                    for i in range(n_columns):
                        if lifted_rivals[s, i] < rows[y, i]:
                            face[i] = False
                    n_left -= n_smaller
                    changed = True
    return faces


@compiled
def chains(rows: NDArray[Any], lifted_rivals: NDArray[Any], most: int) -> NDArray[np.int64]:
    """Return, for each row, rivals that together remove all columns, in the order of `tying_faces`.

    A row gets -1 in the first place if there are no such rivals, or more than `most`. Otherwise its last
    rival fills the places that are left.
    """
    # rows: (n, K), lifted_rivals: (m, K) -> (n, most). O(n * m) comparisons per round.
    n, n_columns = rows.shape
    found = np.full((n, most), -1)
    for y in range(n):
        face = np.ones(n_columns, dtype=np.bool_)
        n_left, n_links = n_columns, 0
        changed = True
        while changed and n_left and n_links < most:
            changed = False
            for s in range(len(lifted_rivals)):
                below, n_smaller = True, 0
                for i in range(n_columns):
                    if face[i]:
                        if lifted_rivals[s, i] > rows[y, i]:
                            below = False
                            break
                        if lifted_rivals[s, i] < rows[y, i]:
                            n_smaller += 1
                if below and n_smaller and n_links < most:
                    for i in range(n_columns):
                        if lifted_rivals[s, i] < rows[y, i]:
                            face[i] = False
                    n_left -= n_smaller
                    found[y, n_links:] = s
                    n_links += 1
                    changed = True
        if n_left:
            found[y, :] = -1
    return found
