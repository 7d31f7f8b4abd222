"""Outputs as blocks of rows, whether they lie in memory, in a file, or come as a stream; every cell checked.

Whatever the pieces in which rows arrive, they leave in blocks of one size, so that no figure depends on how a
stream was cut.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from labelgrove.adapter.outputs.weights import (
    IF_LOGITS,
    IF_LOGITS_OR_LOGS,
    LARGEST_LOG,
    OutputKind,
    OutputRows,
    Outputs,
    wrong_shape,
)
from labelgrove.adapter.scorer import Adapter
from labelgrove.ontology.errors import WeightError
from labelgrove.ontology.geometry.ties import TOTALS

__all__ = ["BlockSource", "KindSeen", "OutputStream", "logits_of", "opened", "row_blocks"]

_BLOCK_ROWS = 4096
_BLOCK_VALUES = 1 << 22
_ODD = 1e-2  # how far from 1 the sum of a row of probabilities may be without a word


@runtime_checkable
class BlockSource(Protocol):
    """Outputs that are read a few rows at a time, as often as asked, such as an `OutputFile`."""

    @property
    def n_rows(self) -> int | None:
        """Number of rows; None where only reading tells."""
        ...

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        ...

    def blocks(self, n_rows: int) -> Iterator[NDArray[Any]]:
        """Yield all rows, at most `n_rows` at a time."""
        ...


OutputStream = Outputs | OutputRows | BlockSource | Iterator[Any]
"""Outputs, a source of blocks, or an iterator of blocks of rows: read once, from front to back."""


class KindSeen:
    """Whether outputs look like the `kind` that they are said to be, judged by the rows that pass by.

    >>> seen = KindSeen("probabilities")
    >>> seen.add(np.array([[0.5, 0.5], [0.5, 0.0], [1.0, 1.0]]))
    >>> (seen.note() or "").partition(";")[0]
    '2 of 3 rows do not sum to 1 (0.5 to 2)'
    """

    def __init__(self, kind: OutputKind) -> None:
        self._kind = kind
        self._n = self._n_odd = 0
        self._low, self._high = np.inf, -np.inf
        self._within = True  # in 0..1, all of them

    def add(self, block: NDArray[Any]) -> None:
        """Look at the rows of a block, which `row_blocks` has checked."""
        if not len(block) or self._kind == "log_probabilities" or not self._within:
            return
        self._n += len(block)
        if self._kind == "logits" and not (block.min() >= 0 and block.max() <= 1 + _ODD):
            self._within = False  # and sums may overflow
            return
        sums: NDArray[np.float64] = block.sum(axis=1, dtype=np.float64)
        odd = sums[np.abs(sums - 1) > _ODD]
        if len(odd):
            self._n_odd += len(odd)
            self._low, self._high = min(self._low, float(odd.min())), max(self._high, float(odd.max()))

    def note(self) -> str | None:
        """Return what is to be said; None where outputs look as they should."""
        if self._kind == "logits" and self._n and self._within and not self._n_odd:
            return (
                "every row lies in 0..1 and sums to 1: these look like probabilities; leave out "
                "outputs='logits' (grove: --emits logits)"
            )
        if self._kind == "probabilities" and self._n_odd:
            return (
                f"{self._n_odd} of {self._n} rows do not sum to 1 ({self._low:.4g} to {self._high:.4g}); "
                "they are taken as weights: no answer changes, variances are multiplied by the row's sum. "
                "For logits say outputs='logits' (grove: --emits logits)"
            )
        return None


def row_blocks(adapter: Adapter, P: OutputStream) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield the first row of each block and the block, columns in the order of ``adapter.observed``.

    Parameters
    ----------
    adapter : Adapter
        Whose columns and kind of outputs the rows have.
    P : array_like, SparseOutputs, scipy.sparse matrix, BlockSource or iterator of any of the first three
        The outputs.

    Yields
    ------
    start : int
    block : ndarray of shape (m, n_observed)
        Of any real dtype; m is 4,096, less where there are more than 1,024 columns, and in the last block.

    Raises
    ------
    WeightError
        For a block of another shape, and for the first cell or row that breaks a rule; row (counted over all
        blocks) and column are named.
    """
    n_columns = adapter.n_observed
    size = max(1, min(_BLOCK_ROWS, _BLOCK_VALUES // n_columns))
    start = 0
    for block in _cut(_parts(adapter, P, size), size):
        _refuse_faults(adapter, block, start)
        yield start, block
        start += len(block)


def logits_of(adapter: Adapter, block: NDArray[Any]) -> NDArray[np.float64]:
    """Return the rows of a block as logits, columns in the order of the bundle.

    Logits and log-probabilities are taken as given, without the adapter's temperature; of probabilities the
    logarithm is taken, minus infinity where they are 0.
    """
    order = adapter.order
    ordered = (block if order is None else block.take(order, axis=1)).astype(np.float64)
    if adapter.outputs != "probabilities":
        return ordered
    with np.errstate(divide="ignore"):
        return np.log(ordered, out=ordered)


def opened(adapter: Adapter, P: OutputStream) -> tuple[OutputRows | BlockSource | Iterator[Any], int | None]:
    """Return what rows are read from, and how many there are where that is known before they are read.

    Raises
    ------
    WeightError
        For outputs of another shape, or that hold no real numbers.
    """
    if isinstance(P, BlockSource):
        _check_width(adapter, P)
        return P, P.n_rows
    if isinstance(P, Iterator):
        return P, None
    rows = adapter.rows(P)
    return rows, len(rows)


def _check_width(adapter: Adapter, P: BlockSource) -> None:
    """Refuse rows of another width before they are read."""
    if P.n_columns != adapter.n_observed:
        shape, name = (P.n_rows, P.n_columns), str(getattr(P, "path", "P"))
        raise wrong_shape(name, shape, adapter.n_observed, adapter.observed)


def _parts(adapter: Adapter, P: OutputStream, size: int) -> Iterator[NDArray[Any]]:
    """Yield pieces of any size."""
    if isinstance(P, BlockSource):
        _check_width(adapter, P)
        pieces: Iterable[Any] = P.blocks(size)
    elif isinstance(P, Iterator):
        pieces = P
    else:
        pieces = (P,)
    absent = 0.0 if adapter.outputs == "probabilities" else -np.inf
    start = 0
    for piece in pieces:
        try:
            rows = adapter.rows(piece)
        except WeightError as error:
            where = f" (in the block that begins with row {start})" if start else ""
            raise WeightError(f"{error}{where}") from None
        for first in range(0, len(rows), size):
            yield rows.part(slice(first, min(first + size, len(rows))), None, absent)
        start += len(rows)


def _cut(pieces: Iterator[NDArray[Any]], size: int) -> Iterator[NDArray[Any]]:
    """Yield the rows of all pieces in blocks of `size`, the last one shorter."""
    held: list[NDArray[Any]] = []
    n_held = 0
    for piece in pieces:
        held.append(piece)
        n_held += len(piece)
        while n_held >= size:
            whole = held[0] if len(held) == 1 else np.concatenate(held)
            yield whole[:size]
            held = [whole[size:]]
            n_held -= size
    if n_held:
        yield held[0] if len(held) == 1 else np.concatenate(held)


def _refuse_faults(adapter: Adapter, block: NDArray[Any], start: int) -> None:
    kind = adapter.outputs
    cells: list[tuple[NDArray[np.bool_], str]] = [(np.isnan(block), "a number, not NaN, in every cell")]
    if kind == "probabilities":
        cells += [
            (np.isinf(block), "finite numbers"),
            (block < 0, f"no negative number; {IF_LOGITS_OR_LOGS}"),
        ]
    else:
        cells.append((block == np.inf, "finite numbers, or minus infinity where the probability is 0"))
    if kind == "log_probabilities":
        cells.append((block > LARGEST_LOG, f"no log-probability above 0; {IF_LOGITS}"))
    for bad, rule in cells:
        if bad.any():
            row, column = (int(i) for i in np.argwhere(bad)[0])
            more = int(bad.any(axis=1).sum()) - 1
            raise WeightError(
                f"P: row {start + row}, column {column} ({adapter.observed[column]!r}) holds "
                f"{block[row, column]}{_and_more(more, start, len(block))}; a row holds {rule}"
            )
    if kind == "probabilities":
        with np.errstate(over="ignore"):
            total = block.sum(axis=1, dtype=np.float64)
        empty = ~((total >= TOTALS[0]) & (total <= TOTALS[1]))
        said = "sums to"
    else:
        total = block.max(axis=1)
        empty = np.isneginf(total)
        said = "has as its largest number"
    if empty.any():
        row = int(np.flatnonzero(empty)[0])
        rule = (
            f"the weights of a row sum to at most {TOTALS[1]:g}; scale them"
            if total[row] > TOTALS[1]
            else "each row gives at least one label a positive weight"
        )
        others = _and_more(int(empty.sum()) - 1, start, len(block))
        raise WeightError(f"P: row {start + row} {said} {total[row]}{others}; {rule}")


def _and_more(n: int, start: int, length: int) -> str:
    """Say how many other rows of the block have the same fault."""
    return f" (and {n} more of rows {start} to {start + length - 1})" if n else ""
