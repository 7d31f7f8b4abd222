"""FrechetHead is the adapter as the last module of a PyTorch model.

`FrechetHead.forward` returns differentiable scores with static shapes, so that `torch.compile` can compile
all of it. `FrechetHead.decide` returns the same labels as `Adapter`, ties included. The head has no
parameters. Its arrays are buffers: ``.to()`` moves them, and ``state_dict`` contains them. The device must
support float64, as CPU and CUDA do.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from labelgrove.adapter.bundles.bundle import Bundle
from labelgrove.adapter.engines.arrays import predict_rows
from labelgrove.adapter.engines.tables import (
    DecisionTable,
    DenseTable,
    arrays_of,
    blocks,
    converted,
    table_of,
    weights_of,
)
from labelgrove.adapter.outputs.gate import wrong_width
from labelgrove.adapter.scorer import Adapter
from labelgrove.ontology.errors import BundleError, InputError, MissingExtraError

try:
    import array_api_compat.torch as namespace
    import torch
except ImportError as error:
    raise MissingExtraError.of(error.name or "torch", "torch", "FrechetHead") from error

__all__ = ["FrechetHead"]

_BLOCK_ENTRIES = 1 << 22
_SUMS = (torch.float32, torch.float64)

_TRACEABLE = SimpleNamespace(
    take=lambda x, index, *, axis: torch.index_select(x, axis, index),
    cumulative_sum=lambda x, *, axis: torch.cumsum(x, axis),
    sum=lambda x, *, axis, keepdims: torch.sum(x, axis, keepdim=keepdims),
    expand_dims=lambda x, *, axis: torch.unsqueeze(x, axis),
)
"""The array API functions that `forward` needs; compilers fail on array-api-compat's namespace look-ups."""


class FrechetHead(torch.nn.Module):  # type: ignore[misc]  # untyped without torch
    """Turns the outputs of a model for n_observed labels into scores of all n_labels labels.

    Parameters
    ----------
    adapter : Adapter or Bundle
        Adapter with the label space, the observed labels, the order of the model's columns and the kind of
        its outputs (probabilities, log-probabilities or logits, with their temperature). A later refresh of
        the adapter does not change the head.
    dtype : torch.float32 or torch.float64, default=torch.float64
        Dtype in which `forward` sums Fréchet variances and returns them, for inputs of any dtype; `decide`
        always sums in float64. Autocast and ``.half()`` do not change these dtypes.

    Attributes
    ----------
    keys : Keys
        Keys of the allowed labels, in the order of the scores.
    observed : tuple of str
        Keys of the observed labels, in the order of the model's columns.

    Raises
    ------
    MissingExtraError
        If PyTorch or array-api-compat is not installed.
    InputError
        For an argument that breaks a rule.

    Notes
    -----
    The buffers take O(n_labels) memory for trees and complete spaces; for blocks they contain the matrix of
    distances. `forward` returns n_samples x n_labels numbers, and on trees needs a few temporary arrays of
    that size.

    Examples
    --------
    >>> from labelgrove.ontology.labelgraph import LabelGraph
    >>> graph = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree")])
    >>> head = FrechetHead(Adapter.from_graph(graph, ["oak", "elm"]))
    >>> head.keys[int(head.decide(torch.tensor([0.5, 0.5])))]
    'tree'
    """

    def __init__(
        self,
        adapter: Adapter | Bundle,
        *,
        dtype: torch.dtype = torch.float64,
    ) -> None:
        super().__init__()
        if dtype not in _SUMS:
            raise InputError(f"dtype: {dtype} given; choose torch.float32 or torch.float64")
        adapter = Adapter(adapter) if isinstance(adapter, Bundle) else adapter.pinned()
        self.keys = adapter.keys
        self.observed = adapter.observed
        self.outputs, self.temperature, self.dtype = adapter.outputs, adapter.temperature, dtype
        self._digest = adapter.digest
        table = table_of(adapter)
        self._kind = type(table)
        arrays = arrays_of(table)
        self._names = tuple(arrays)
        for name, array in arrays.items():
            self.register_buffer(name, _tensor(array))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the negative Fréchet variance of every label: the larger, the better.

        Parameters
        ----------
        x : Tensor of shape (..., n_observed)
            Outputs of the model, in any dtype. They are not checked for NaN or negative values.

        Returns
        -------
        scores : Tensor of shape (..., n_labels)
        """
        self._check_width(x)
        rows = x.reshape(-1, x.shape[-1]).to(self.dtype)
        if self.outputs != "probabilities":
            rows = torch.softmax(rows / self.temperature, dim=-1)
        table = self._table()
        if isinstance(table, DenseTable):
            variance = _DenseVariance.apply(rows, table.columns, table.distances)
        else:
            real = converted(
                table, lambda array: array.to(self.dtype) if array.is_floating_point() else array
            )
            variance = real.variance(_TRACEABLE, rows.T.index_select(0, table.columns)).T
        return -variance.reshape(*x.shape[:-1], len(self.keys))

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def decide(self, x: torch.Tensor) -> torch.Tensor:
        """Return the same labels as `Adapter.predict_indices`, as indices into `keys`.

        Parameters
        ----------
        x : Tensor of shape (..., n_observed)
            Outputs of the model, in any dtype.

        Returns
        -------
        indices : Tensor of shape (...), dtype=int64

        Raises
        ------
        WeightError
            For rows with NaN, infinity, a negative probability or a log-probability above 0, and for rows in
            which all probabilities are zero.

        Notes
        -----
        Rows are read in batches, so that less than about a gigabyte of memory is needed in addition to `x`.
        """
        self._check_width(x)
        table = self._table()

        def weights(rows: torch.Tensor) -> torch.Tensor:
            return self._weights(rows).T.index_select(0, table.columns)

        rows = x.reshape(-1, x.shape[-1])
        found: torch.Tensor = predict_rows(namespace, table, rows, weights, self.outputs, self.observed)
        return found.reshape(x.shape[:-1])

    def extra_repr(self) -> str:
        """Return the text that ``print(model)`` shows for this module."""
        return f"n_observed={len(self.observed)}, n_labels={len(self.keys)}, outputs={self.outputs!r}"

    def get_extra_state(self) -> dict[str, Any]:
        """Return what `state_dict` contains besides the buffers: the digest of the bundle and the columns."""
        return {"bundle": self._digest, "observed": list(self.observed)}

    def set_extra_state(self, state: dict[str, Any]) -> None:
        """Raise an error for the state of a head that was made from another bundle or with other columns.

        The indices of such a head refer to other labels.

        Raises
        ------
        BundleError
            If the bundle or the order of the columns differs.
        """
        if state != self.get_extra_state():
            raise BundleError(
                f"state_dict: saved with bundle {state['bundle'][:12]}, but this head was made from bundle "
                f"{self._digest[:12]} or with other columns; make the head from the saved bundle, with the "
                "same columns, and load again"
            )

    def _weights(self, rows: torch.Tensor) -> torch.Tensor:
        given: torch.Tensor = weights_of(namespace, rows.to(torch.float64), self.outputs, self.temperature)
        return given

    def _table(self) -> DecisionTable:
        return self._kind(**{name: getattr(self, name) for name in self._names})

    def _check_width(self, x: torch.Tensor) -> None:
        if not x.ndim or x.shape[-1] != len(self.observed):
            raise wrong_width("x", tuple(x.shape) or (0,), len(self.observed), self.observed)

    def _apply(self, fn: Callable[[torch.Tensor], torch.Tensor], recurse: bool = True) -> FrechetHead:
        """Move the buffers but keep their dtypes: ``.half()`` must not round the distances."""

        def moved(tensor: torch.Tensor) -> torch.Tensor:
            there = fn(tensor)
            return there if there.dtype == tensor.dtype else tensor.to(there.device)

        super()._apply(moved, recurse)
        return self


class _DenseVariance(torch.autograd.Function):  # type: ignore[misc]
    """The Fréchet variances from a matrix of distances, computed for a few labels at a time.

    The squared distances are not stored: the backward pass computes them again.
    """

    @staticmethod
    def forward(
        ctx: Any, weights: torch.Tensor, columns: torch.Tensor, distances: torch.Tensor
    ) -> torch.Tensor:
        ctx.save_for_backward(columns, distances)
        given = weights.index_select(1, columns)
        out = weights.new_empty(len(weights), len(distances))
        for rows in blocks(len(distances), max(1, _BLOCK_ENTRIES // distances.shape[1])):
            torch.matmul(given, distances[rows].to(weights.dtype).square().T, out=out[:, rows])
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        (gradient,) = gradients
        columns, distances = ctx.saved_tensors
        given = gradient.new_zeros(len(gradient), distances.shape[1])
        for rows in blocks(len(distances), max(1, _BLOCK_ENTRIES // distances.shape[1])):
            given = given + gradient[:, rows] @ distances[rows].to(gradient.dtype).square()
        return torch.zeros_like(given).index_copy(1, columns, given), None, None


def _tensor(array: np.ndarray[Any, Any]) -> torch.Tensor:
    """Return a copy of an array as a tensor; uint16 becomes int32, because PyTorch supports int32 better."""
    return torch.from_numpy(np.array(array, dtype=np.int32 if array.dtype == np.uint16 else array.dtype))
