"""Find the answer of each row by compiled loops, a few rows at a time, without its value.

Probabilities are weights as they are. From logits and log-probabilities, weights are computed in float32,
with a bound of their error; the few rows that such weights do not decide are scored again with exact weights.
So the answers are the same as those of `adapter.answers.batches.ranked`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.adapter.outputs.gate import rows_at_once
from labelgrove.adapter.outputs.outputkinds import LARGEST_LOG
from labelgrove.adapter.outputs.rows import DenseRows, Outputs
from labelgrove.adapter.outputs.weights import OutputReader
from labelgrove.adapter.state import CandidateSet, State
from labelgrove.ontology.geometry.scoring.decision import Decision, Found

__all__ = ["decided"]

_ENTRIES_AT_ONCE = 1 << 17  # of one chunk of rows, which stays in the cache of the processor


def decided(state: State, reader: OutputReader, P: Outputs, among: CandidateSet) -> NDArray[np.int64] | None:
    """Return the best of the candidates `among` for each row, as indices among them.

    None is returned if there is no `Decision` for the candidates, if the outputs are sparse, if the weights
    have no bound of their error, and if a row may break a rule; `adapter.answers.batches.ranked` then finds
    the answers, or the error.
    """
    decide = among.decision(state.order)
    rows = None if decide is None else _dense(state, reader, P)
    if decide is None or rows is None:
        return None
    as_given = reader.kind == "probabilities" and _is_ready(rows)
    found = decide.find(rows, 0.0) if as_given else _found_in_chunks(reader, rows, decide)
    if found is None:
        return None
    index, left = found
    if left is not None:
        step = rows_at_once(reader.n_columns)
        for start in range(0, len(left), step):
            some = left[start : start + step]
            ((_, exact),) = reader.chunks(DenseRows(rows[some]), state.order)
            index[some] = among.scorer.score(exact).index
    return index


def _found_in_chunks(reader: OutputReader, rows: NDArray[Any], decide: Decision) -> Found | None:
    """Return the result of `Decision.find` for outputs of any kind and layout."""
    softened = None
    if reader.kind != "probabilities":
        if not _has_bound(reader.temperature):
            return None
        softened = _Softened(reader, _chunk_shape(rows))
    index, left = np.empty(len(rows), dtype=np.int64), []
    for start, part in _chunks(rows):
        weights = part if softened is None else softened.weights(part)
        found = None if weights is None else decide.find(weights, softened.error if softened else 0.0)
        if found is None:
            return None
        index[start : start + len(part)] = found[0]
        if found[1] is not None:
            left.append(start + found[1])
    return index, np.concatenate(left) if left else None


def _dense(state: State, reader: OutputReader, P: Any) -> NDArray[Any] | None:
    """Return outputs as an array of real numbers with two axes, or None for sparse outputs."""
    rows = reader.rows(P, state.observed)
    return rows.values if isinstance(rows, DenseRows) else None


def _is_ready(rows: NDArray[Any]) -> bool:
    """Return whether compiled loops can read the rows as they are."""
    return rows.flags.carray and rows.dtype.isnative and rows.dtype.char in "fd"


def _chunk_shape(rows: NDArray[Any]) -> tuple[int, int]:
    return max(1, min(len(rows), _ENTRIES_AT_ONCE // rows.shape[1])), rows.shape[1]


def _chunks(rows: NDArray[Any]) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield the rows in float32 or float64, C-contiguous, with the index of the first row of each chunk.

    A chunk may lie in memory that the next chunk uses again.
    """
    shape, char = _chunk_shape(rows), rows.dtype.char
    if _is_ready(rows):
        for start in range(0, len(rows), shape[0]):
            yield start, rows[start : start + shape[0]]
        return
    plain = rows.dtype.isnative and rows.flags.aligned and char in "efd"
    by_columns = plain and shape[0] > 1 and abs(rows.strides[0]) < abs(rows.strides[1])
    copied = np.empty(shape, rows.dtype) if by_columns else None
    wide = np.empty(shape, np.float32) if char == "e" else None
    for start in range(0, len(rows), shape[0]):
        part = rows[start : start + shape[0]]
        if copied is not None:
            part = _copied(part, copied[: len(part)])
        if wide is not None:
            part = _widened(part, wide[: len(part)])
        with np.errstate(over="ignore"):  # for long doubles; infinity is refused later
            yield start, np.require(part, np.float32 if char in "ef" else np.float64, ["C", "A", "W"])


def _copied(rows: NDArray[Any], out: NDArray[Any]) -> NDArray[Any]:
    from labelgrove.ontology.geometry.kernels.outputs.contiguous import copy_rows

    if rows.dtype.char == "e":
        copy_rows(rows.view(np.uint16), out.view(np.uint16))
    else:
        copy_rows(rows, out)
    return out


def _widened(halves: NDArray[np.float16], out: NDArray[np.float32]) -> NDArray[np.float32]:
    from labelgrove.ontology.geometry.kernels.outputs.halves import widen

    bits = np.require(halves, np.float16, ["C", "A", "W"]).view(np.uint16)
    widen(bits.reshape(-1), out.reshape(-1))
    return out


def _has_bound(temperature: float) -> bool:
    """Return whether weights in float32 have a bound of their error at this temperature."""
    from labelgrove.ontology.geometry.kernels.outputs.exponentials import TEMPERATURES

    return TEMPERATURES[0] <= temperature <= TEMPERATURES[1]


class _Softened:
    """Computes the weights of chunks of logits in float32, each chunk in the same memory.

    Attributes
    ----------
    error : float
        The bound of their error that `Decision.find` takes.
    """

    def __init__(self, reader: OutputReader, shape: tuple[int, int]) -> None:
        from labelgrove.ontology.geometry.kernels.outputs import exponentials

        self._write = exponentials.write_exponentials
        self._most = LARGEST_LOG if reader.kind == "log_probabilities" else sys.float_info.max
        self._factor = np.float32(1 / reader.temperature)
        self._out = np.empty(shape, dtype=np.float32)
        self.error = exponentials.bound_of_error(shape[1])

    def weights(self, logits: NDArray[Any]) -> NDArray[np.float32] | None:
        """Return the weights of some rows, which need not sum to 1; None if a row may break a rule."""
        out = self._out[: len(logits)]
        return out if self._write(logits, self._factor, self._most, out) else None
