"""Check the outputs of a model and convert them to weights in float64, in chunks of rows."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.adapter.outputs.gate import refuse_faults, rows_at_once
from labelgrove.adapter.outputs.outputkinds import KINDS, LARGEST_LOG, OutputKind, absent_value
from labelgrove.adapter.outputs.rows import DenseRows, OutputRows, rows_of
from labelgrove.ontology.errors import InputError, WeightError
from labelgrove.ontology.geometry.ties import are_weights

__all__ = ["OutputReader", "as_logits", "softmax"]


class OutputReader:
    """Checks the outputs of a model, and converts them to weights or logits.

    Parameters
    ----------
    kind : {"probabilities", "log_probabilities", "logits"}
        ``"probabilities"`` are used as weights without change, and a row need not sum to one. For the other
        kinds each row is divided by `temperature`, and its softmax is used.
    temperature : float
        A positive number; values above 1 make the weights of a row more equal, values below 1 less equal.
    n_columns : int
        Number of columns of the model.

    Examples
    --------
    >>> reader = OutputReader("logits", 2.0, 3)
    >>> ((start, weights),) = reader.chunks(reader.rows([[0.0, 0.0, -np.inf]]))
    >>> start, weights.tolist()
    (0, [[0.5, 0.5, 0.0]])
    """

    def __init__(self, kind: OutputKind, temperature: float, n_columns: int) -> None:
        if kind not in KINDS:
            raise InputError(f"outputs: {kind!r} given; choose {', '.join(map(repr, KINDS))}")
        number = isinstance(temperature, int | float | np.integer | np.floating)
        if not number or isinstance(temperature, bool) or not 0 < temperature <= sys.float_info.max:
            raise InputError(f"temperature: {temperature!r} given; it must be a positive finite number")
        if kind == "probabilities" and temperature != 1:
            raise InputError(
                f"temperature: {temperature!r} given with outputs='probabilities' (grove: --outputs "
                "probabilities); a temperature divides logits: give those with outputs='logits' (grove: "
                "--outputs logits), or np.log of the probabilities with outputs='log_probabilities' (grove: "
                "--outputs log_probabilities)"
            )
        self.kind, self.temperature, self.n_columns = kind, float(temperature), n_columns
        self.absent = absent_value(kind)

    def rows(self, P: Any, columns: tuple[str, ...] = ()) -> OutputRows:
        """Return outputs as rows whose values are not yet checked; see `adapter.outputs.rows.rows_of`."""
        return rows_of(P, self.n_columns, columns)

    def chunks(
        self, rows: OutputRows, order: NDArray[np.int64] | None = None, *, independent: bool = False
    ) -> Iterator[tuple[int, NDArray[np.float64]]]:
        """Yield, for each chunk of rows, the index of its first row and its weights.

        Column i of the weights is computed from column ``order[i]`` of the model.

        Parameters
        ----------
        rows : OutputRows
            Result of the method `rows`.
        order : ndarray of shape (n_columns,), dtype=int64, optional
            Columns of the model in the order of the weights; by default the model's own order.
        independent : bool, default=False
            Whether each number is a separate probability, as in a model that gives a row several labels. If
            true, logits are converted by the logistic function, no probability may be above 1, and a row may
            be all zero.

        Raises
        ------
        WeightError
            For the first cell or row that breaks a rule; see `adapter.outputs.gate.refuse_faults`.
        """
        return self._converted_chunks(
            rows, order, self._chances if independent else self._weights, independent
        )

    def unchecked(
        self, rows: OutputRows, order: NDArray[np.int64] | None = None
    ) -> Iterator[tuple[int, NDArray[Any]]]:
        """Yield the same as `chunks`, but weights that need no conversion as they are: in their own dtype.

        These weights are not checked either. They are for callers that check weights by the same rules, and
        call `chunks` for the error.
        """
        if (
            self.kind != "probabilities"
            or not isinstance(rows, DenseRows)
            or rows.values.dtype.char not in "fd"
        ):
            yield from self.chunks(rows, order)
            return
        step = rows_at_once(self.n_columns)
        for start in range(0, len(rows), step):
            yield start, rows.part(slice(start, min(start + step, len(rows))), order, self.absent)

    def logits(
        self, rows: OutputRows, order: NDArray[np.int64] | None = None
    ) -> Iterator[tuple[int, NDArray[np.float64]]]:
        """Yield the same as `chunks`, but logits instead of weights.

        The logits are not divided by the temperature.
        """
        return self._converted_chunks(rows, order, self._logits, False)

    def _converted_chunks(
        self,
        rows: OutputRows,
        order: NDArray[np.int64] | None,
        convert: Callable[[NDArray[np.float64]], NDArray[np.float64] | None],
        independent: bool,
    ) -> Iterator[tuple[int, NDArray[np.float64]]]:
        """Yield, for each chunk of rows, the index of its first row and the result of `convert`.

        If `convert` returns None, a row of the chunk breaks a rule, and the error about this row is raised.
        """
        # without conversion, values are only moved: rounding does not depend on the order of columns
        step = rows_at_once(self.n_columns)
        for start in range(0, len(rows), step):
            of = slice(start, min(start + step, len(rows)))
            with np.errstate(over="ignore"):  # for long doubles; infinity is refused below
                part = rows.part(of, order, self.absent).astype(np.float64, order="C")
            found = convert(part)
            if found is None:
                raise self._fault(rows, of, independent)
            yield start, found

    def _fault(self, rows: OutputRows, of: slice, independent: bool) -> WeightError:
        """Check rows again after a first check failed: raise an error about a fault, or return an error.

        This second check takes the columns in the order of the model, because messages count columns in that
        order. It raises an error about the first fault that it finds. If it finds none, the rows are no
        longer those of the first check.
        """
        refuse_faults(
            self.kind,
            rows.part(of, None, self.absent),
            name=rows.name,
            first=rows.first + of.start,
            columns=rows.columns,
            independent=independent,
        )
        last = rows.first + of.stop - 1
        return WeightError(
            f"{rows.name}: rows {rows.first + of.start} to {last} changed while they were read; give a copy "
            "that nothing writes to"
        )

    def _weights(self, part: NDArray[np.float64]) -> NDArray[np.float64] | None:
        if self.kind != "probabilities":
            return self._softmax(part)
        with np.errstate(over="ignore", invalid="ignore"):
            total = part.sum(axis=1)
        return part if are_weights(part, total) else None

    def _softmax(self, part: NDArray[np.float64]) -> NDArray[np.float64] | None:
        largest = part.max(axis=1, keepdims=True)
        if not self._are_logs(largest):
            return None
        return _softmax_in_place(part, largest, self.temperature)

    def _are_logs(self, largest: NDArray[np.float64]) -> bool:
        """Check rows of logits or log-probabilities; `largest` has the largest number of each row.

        Return whether all these numbers are finite and, if they are log-probabilities, at most `LARGEST_LOG`.
        """
        return bool(np.isfinite(largest).all() and (self.kind == "logits" or largest.max() <= LARGEST_LOG))

    def _logits(self, part: NDArray[np.float64]) -> NDArray[np.float64] | None:
        if self.kind == "probabilities":
            return None if self._weights(part) is None else as_logits(self.kind, part)
        return part if self._are_logs(part.max(axis=1)) else None

    def _chances(self, part: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Return each number of a chunk of rows as a separate probability; None if a number breaks a rule."""
        if self.kind == "probabilities":
            return part if part.min() >= 0 and part.max() <= 1 else None
        largest = part.max()
        if not (largest < np.inf and (self.kind == "logits" or largest <= LARGEST_LOG)):
            return None
        if self.kind == "log_probabilities":
            np.minimum(part, 0.0, out=part)
        if self.temperature != 1:
            with np.errstate(over="ignore"):
                part /= self.temperature
        if self.kind == "log_probabilities":
            return np.exp(part, out=part)
        part *= 0.5  # the logistic function as a hyperbolic tangent never overflows
        np.tanh(part, out=part)
        part += 1.0
        part *= 0.5
        return part


def softmax(logits: NDArray[np.float64], temperature: float) -> NDArray[np.float64]:
    """Divide the logits by `temperature`, and return the softmax of each row.

    A logit of minus infinity gives a probability of 0.
    """
    return _softmax_in_place(logits.copy("K"), logits.max(axis=1, keepdims=True), temperature)


def _softmax_in_place(
    rows: NDArray[np.float64], largest: NDArray[np.float64], temperature: float
) -> NDArray[np.float64]:
    """Replace each row by its `softmax`, and return the rows; `largest` has the maximum of each row."""
    with np.errstate(over="ignore"):  # numbers too far below the largest become minus infinity
        rows -= largest
        if temperature != 1:
            rows /= temperature
    np.exp(rows, out=rows)
    rows /= rows.sum(axis=1, keepdims=True)
    return rows


def as_logits(
    kind: OutputKind, rows: NDArray[Any], order: NDArray[np.int64] | None = None
) -> NDArray[np.float64]:
    """Return outputs as logits, with columns in `order`; the rows must already have passed the checks.

    Logits and log-probabilities are returned without change. Probabilities are replaced by their logarithms,
    and 0 by minus infinity.
    """
    logits = (rows if order is None else rows.take(order, axis=1)).astype(np.float64)
    if kind != "probabilities":
        return logits
    with np.errstate(divide="ignore"):
        return np.log(logits, out=logits)
