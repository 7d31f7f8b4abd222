"""ArrayAdapter: find the Fréchet mean with any library that follows the Python array API standard.

array-api-compat recognizes the library: NumPy, CuPy, JAX, PyTorch or array-api-strict. Answers are in the
same library and on the same device as the outputs. Sums are taken in float64 if the library has it on that
device. If it has only float32 there (the default of JAX), the Fréchet variance of the answer may exceed the
smallest by a relative ``(n_observed + 16) * 2**-22``, and never by more. The answer is that of `Adapter`
wherever the variance of the runner-up exceeds the smallest by more than this, and wherever all sums are whole
numbers below 2^24. If sums are taken in float32, the distances of a block that float32 cannot represent are
first rounded to float32, and the answers are those for the rounded distances.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.adapter.engines.tables import (
    DecisionTable,
    blocks,
    converted,
    decide,
    fair_limits,
    fair_samples,
    table_of,
    weights_of,
)
from labelgrove.adapter.outputs.gate import (
    refuse_faults,
    rows_at_once,
    wrong_axes,
    wrong_dtype,
    wrong_width,
)
from labelgrove.adapter.outputs.outputkinds import OutputKind
from labelgrove.adapter.scorer import MAX_VALUES, Adapter
from labelgrove.ontology.errors import InputError, MissingExtraError
from labelgrove.ontology.geometry.weightfaults import at_a_limit

__all__ = ["ArrayAdapter", "predict_rows"]

_ROW_ENTRIES = 1 << 24
_PAIR_ENTRIES = 1 << 22
_SINGLE_DIGITS = 24


class ArrayAdapter:
    """An adapter for arrays of other libraries; it computes with the array's library, on the array's device.

    Parameters
    ----------
    adapter : Adapter
        Gives the label space, the observed labels, the order of the model's columns and the kind of its
        outputs (probabilities, log-probabilities or logits, with their temperature). If the adapter is
        refreshed later, this object does not change.

    Raises
    ------
    MissingExtraError
        If the package array-api-compat is not installed.
    InputError
        For an exponent of the distances other than 2.

    Notes
    -----
    The arrays that depend only on the adapter, and not on the outputs, are copied to a device when the device
    is first used. For trees and complete spaces they contain O(n_labels + n_observed log n_observed) numbers.
    For blocks they contain the matrix of distances.

    Examples
    --------
    >>> from labelgrove.ontology.labelgraph import LabelGraph
    >>> pairs = [("oak", "tree"), ("elm", "tree"), ("tree", "plant"), ("moss", "plant")]
    >>> graph = LabelGraph.from_edges(pairs)
    >>> adapter = ArrayAdapter(Adapter.from_graph(graph, ["oak", "elm", "moss"]))
    >>> adapter.keys.take(adapter.predict_indices(np.array([[0.5, 0.5, 0.0], [0.1, 0.0, 0.9]])))
    ('tree', 'moss')
    """

    def __init__(self, adapter: Adapter) -> None:
        _compat()  # raises if it is not installed
        adapter = adapter.pinned()
        self.keys = adapter.keys
        self.observed = adapter.observed
        self._outputs, self._temperature = adapter.outputs, adapter.temperature
        self._adapter, self._table = adapter, table_of(adapter)  # refuses other exponents than 2
        self._moved: dict[tuple[str, str], DecisionTable] = {}

    def predict_indices(self, P: Any) -> Any:
        """Return the Fréchet mean of each row as indices into `keys`.

        Parameters
        ----------
        P : array of shape (n_samples, n_observed) or (n_observed,)
            Outputs of the model, in any real dtype. Their columns are in the order of `observed`.
            Probabilities need not sum to one.

        Returns
        -------
        indices : array of shape (n_samples,)
            Integers in the same library, on the same device.

        Raises
        ------
        WeightError
            For a wrong shape; for rows with NaN, infinity, a negative probability or a log-probability above
            0; and for rows of probabilities that are all zero.

        Notes
        -----
        Rows are read in batches, so that memory beyond P stays below about a gigabyte.
        """
        xp, table, P = self._ready(P)
        return predict_rows(
            xp, table, P, lambda rows: self._weights(xp, table, rows), self._outputs, self.observed
        )

    def decision_function(self, P: Any) -> Any:
        """Return the negative Fréchet variance of every label; shape (n_samples, n_labels).

        Raises
        ------
        InputError
            If the result would have more than `adapter.scorer.MAX_VALUES` numbers.
        WeightError
            As for `predict_indices`.

        Notes
        -----
        On trees, the rounding error is proportional to the row's sum times the squared diameter. A variance
        far below this product therefore has fewer exact digits, and a variance of 0 may be returned as a
        small positive or negative number.
        """
        xp, table, P = self._ready(P)
        if P.shape[0] * len(self.keys) > MAX_VALUES:
            raise InputError(
                f"decision_function: {P.shape[0]} rows x {len(self.keys)} labels make more than {MAX_VALUES} "
                f"numbers; pass at most {max(1, MAX_VALUES // len(self.keys))} rows at a time"
            )
        weights = self._weights(xp, table, P)
        _refuse_bad(xp, weights, P, 0, self._outputs, self.observed)
        return xp.matrix_transpose(-table.variance(xp, weights))

    def _weights(self, xp: Any, table: DecisionTable, rows: Any) -> Any:
        with np.errstate(over="ignore"):  # numbers too far below the largest become minus infinity
            rows = weights_of(xp, xp.astype(rows, _real(xp, rows)), self._outputs, self._temperature)
        return xp.take(xp.matrix_transpose(rows), table.columns, axis=0)

    def _ready(self, P: Any) -> tuple[Any, DecisionTable, Any]:
        xp = _namespace(P)
        if P.ndim == 1:
            P = xp.expand_dims(P, axis=0)
        if P.ndim != 2:
            raise wrong_axes("P", tuple(P.shape))
        if P.shape[1] != len(self.observed):
            raise wrong_width("P", tuple(P.shape), len(self.observed), self.observed)
        if not xp.isdtype(P.dtype, ("integral", "real floating")):
            raise wrong_dtype("P", P.dtype, boolean=xp.isdtype(P.dtype, "bool"))
        device = _compat().device(P)
        known = (xp.__name__, f"{device} {_real(xp, P)}")
        if known not in self._moved:
            real, whole = _real(xp, P), _whole(xp, device)

            def moved(array: Any) -> Any:
                if array is None:
                    return None
                dtype = whole if array.dtype.kind == "i" else real if array.dtype.kind == "f" else None
                if array.dtype == np.uint16:  # not every library computes with uint16
                    array, dtype = array.astype(np.int32), xp.int32
                return xp.asarray(np.ascontiguousarray(array), dtype=dtype, device=device)

            table = self._table if real == xp.float64 else table_of(self._adapter, _SINGLE_DIGITS)
            self._moved[known] = converted(table, moved)
        return xp, self._moved[known], P


def _namespace(P: Any) -> Any:
    """Return the array API namespace of an array, or raise `InputError`."""
    compat = _compat()
    if not compat.is_array_api_obj(P):
        raise InputError(
            f"P: {type(P).__name__} given; give an array of NumPy, CuPy, JAX, PyTorch or another library of "
            "the Python array API standard (Adapter.predict_indices takes lists)"
        )
    return compat.array_namespace(P)


def predict_rows(
    xp: Any,
    table: DecisionTable,
    P: Any,
    weights_of: Callable[[Any], Any],
    outputs: OutputKind,
    observed: tuple[str, ...],
) -> Any:
    """Return the index of the Fréchet mean of each row of P; rows are answered in batches.

    `weights_of` turns some rows of P into weights. This function checks the weights and gives them to
    `decide`. Two arguments are used only for error messages: `outputs` is the kind of the outputs, and
    `observed` contains the keys of the columns.
    """
    if not P.shape[0]:
        return xp.zeros((0,), dtype=table.columns.dtype, device=_compat().device(P))
    step = max(1, _ROW_ENTRIES // table.width)
    found = []
    for rows in blocks(P.shape[0], step):
        weights = weights_of(P[rows, :])
        _refuse_bad(xp, weights, P[rows, :], rows.start, outputs, observed)
        unit = float(xp.finfo(weights.dtype).eps) / 2
        found.append(decide(xp, table, weights, unit, lambda *pairs: _totals(table, *pairs)))
    return found[0] if len(found) == 1 else xp.concat(found)


def _totals(table: DecisionTable, xp: Any, weights: Any, sample: Any, candidate: Any) -> Any:
    """Return what ``table.totals`` returns for all (sample, candidate) pairs.

    To save memory, call ``table.totals`` several times, each time for a part of the pairs.
    """
    step = max(1, _PAIR_ENTRIES // weights.shape[0])
    if sample.shape[0] <= step:
        return table.totals(xp, weights, sample, candidate)
    pairs = blocks(sample.shape[0], step)
    return xp.concat([table.totals(xp, weights, sample[some], candidate[some]) for some in pairs])


def _refuse_bad(
    xp: Any, weights: Any, P: Any, first: int, outputs: OutputKind, observed: tuple[str, ...]
) -> None:
    """Raise `WeightError` if the weights of a sample are not valid.

    `first` is the index of the first row of P in the whole input. Rows that are not valid, or whose sums are
    near a limit, are copied to numpy with some rows around them. There the checks for numpy outputs decide,
    and raise the error.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # a sum may be beyond the limits
        sure, possible = (fair_samples(xp, weights, slack) for slack in (0.5, 2.0))
    if bool(xp.all(sure)):
        return
    step, limits = rows_at_once(len(observed)), fair_limits(xp, weights)
    for rows in blocks(P.shape[0], step):
        if not bool(xp.all(sure[rows])):
            block = _numpy(xp, P[rows, :])
            refuse_faults(outputs, block, first=first + rows.start, columns=observed, limits=limits)
    if not bool(xp.all(possible)):  # weights that numpy could compute, but the library could not
        raise at_a_limit("P", first + int(xp.argmin(xp.astype(possible, xp.int8))), limits)


def _numpy(xp: Any, rows: Any) -> NDArray[np.floating[Any]]:
    """Return rows as a numpy array in main memory."""
    compat, rows = _compat(), xp.astype(rows, _real(xp, rows))
    if compat.is_torch_array(rows):
        rows = rows.detach()
    if compat.is_torch_array(rows) or compat.is_cupy_array(rows):
        rows = compat.to_device(rows, "cpu")
    return np.asarray(rows)


def _real(xp: Any, P: Any) -> Any:
    """Return float64, or float32 if the library has no float64 on the device of P."""
    info = xp.__array_namespace_info__()
    known = info.dtypes(device=_compat().device(P), kind="real floating")
    return xp.float64 if "float64" in known else xp.float32


def _whole(xp: Any, device: Any) -> Any:
    """Return the integer dtype that the library uses for indices on a device."""
    return xp.__array_namespace_info__().default_dtypes(device=device)["indexing"]


def _compat() -> Any:
    try:
        import array_api_compat
    except ImportError as error:
        raise MissingExtraError.of("array-api-compat", "arrays", "scoring arrays of any library") from error
    return array_api_compat
