"""Find the answer of each row by compiled loops, a few rows at a time, without its value.

Probabilities are weights as they are. From logits and log-probabilities, weights are computed in float32,
with a bound of their error; the few rows that such weights do not decide are scored again with exact weights.
So the answers are the same as those of `adapter.answers.batches.ranked`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.adapter.outputs.outputkinds import LARGEST_LOG
from labelgrove.adapter.outputs.rows import DenseRows, Outputs
from labelgrove.adapter.outputs.weights import OutputReader
from labelgrove.adapter.state import CandidateSet, State

__all__ = ["decided"]

_ARRAYS = (np.ndarray, np.memmap)
_ENTRIES_AT_ONCE = 1 << 17  # of one chunk of rows, which stays in the cache of the processor


def decided(state: State, reader: OutputReader, P: Outputs, among: CandidateSet) -> NDArray[np.int64] | None:
    """Return the best of the candidates `among` for each row, as indices among them.

    None is returned if there is no `Decision` for the candidates, if the outputs are sparse, and if a row may
    break a rule; `adapter.answers.batches.ranked` then finds the answers, or the error.
    """
    decide = among.decision(state.order)
    rows = None if decide is None else _dense(state, reader, P)
    if decide is None or rows is None:
        return None
    weights = reader.kind == "probabilities"
    if weights and rows.flags.carray and rows.dtype.isnative and rows.dtype.char in "fd":
        return decide(rows)
    error = 0.0 if weights else _bound_of_error(rows.shape[1])
    index, left = np.empty(len(rows), dtype=np.int64), []
    for start, part in _chunks(rows):
        known = part if weights else _exponentials(part, reader)
        found = None if known is None else decide.find(known, error)
        if found is None:
            return None
        index[start : start + len(part)] = found[0]
        if found[1] is not None:
            left.append(start + found[1])
    if left:
        some = np.concatenate(left)
        for start, exact in reader.chunks(DenseRows(rows[some]), state.order):
            index[some[start : start + len(exact)]] = among.scorer.score(exact).index
    return index


def _dense(state: State, reader: OutputReader, P: Any) -> NDArray[Any] | None:
    """Return outputs as an array of real numbers with two axes, or None for sparse outputs."""
    if type(P) in _ARRAYS and P.dtype.kind == "f" and P.ndim == 2 and P.shape[1] == reader.n_columns:
        found: NDArray[Any] = P
        return found
    rows = reader.rows(P, state.observed)
    return rows.values if isinstance(rows, DenseRows) else None


def _chunks(rows: NDArray[Any]) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield the rows in float32 or float64, contiguous, with the index of the first row of each chunk."""
    step = max(1, _ENTRIES_AT_ONCE // rows.shape[1])
    dtype = np.float32 if rows.dtype.char == "f" else np.float64
    plain = rows.dtype.isnative and rows.flags.aligned and rows.dtype.char in "efd"
    by_columns = plain and len(rows) > 1 and abs(rows.strides[0]) < abs(rows.strides[1])
    for start in range(0, len(rows), step):
        part = rows[start : start + step]
        if by_columns:
            part = _copied(part)
        if rows.dtype.char == "e":
            part = _widened(part)
        with np.errstate(over="ignore"):  # for long doubles; infinity is refused later
            yield start, np.require(part, dtype, ["C", "A", "W"])


def _copied(rows: NDArray[Any]) -> NDArray[Any]:
    from labelgrove.ontology.geometry.kernels.outputs.contiguous import copy_rows

    copied = np.empty(rows.shape, dtype=rows.dtype)
    if rows.dtype.char == "e":
        copy_rows(rows.view(np.uint16), copied.view(np.uint16))
    else:
        copy_rows(rows, copied)
    return copied


def _widened(halves: NDArray[np.float16]) -> NDArray[np.float32]:
    from labelgrove.ontology.geometry.kernels.outputs.halves import widen

    bits = np.require(halves, np.float16, ["C", "A", "W"]).view(np.uint16)
    wide = np.empty(halves.shape, dtype=np.float32)
    widen(bits.reshape(-1), wide.reshape(-1))
    return wide


def _bound_of_error(n_columns: int) -> float:
    from labelgrove.ontology.geometry.kernels.outputs.exponentials import bound_of_error

    return bound_of_error(n_columns)


def _exponentials(logits: NDArray[Any], reader: OutputReader) -> NDArray[np.float32] | None:
    """Return the exponentials of each row in float32; None if a row may break a rule."""
    from labelgrove.ontology.geometry.kernels.outputs.exponentials import write_exponentials

    weights = np.empty(logits.shape, dtype=np.float32)
    most = LARGEST_LOG if reader.kind == "log_probabilities" else np.finfo(np.float64).max
    with np.errstate(over="ignore"):
        factor = np.float32(1 / reader.temperature)
    return weights if write_exponentials(logits, factor, most, weights) else None
