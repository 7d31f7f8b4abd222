"""OnTree: the base class of the scorers that search a tree."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labelgrove.ontology.errors import InputError
from labelgrove.ontology.geometry.arguments import index_array, refuse_other_than
from labelgrove.ontology.geometry.scoring.compilation import Compilation
from labelgrove.ontology.geometry.scoring.decision import Decision
from labelgrove.ontology.geometry.scoring.dense.densescorer import DenseScorer, RowsOnDemand
from labelgrove.ontology.geometry.scoring.frechetscorer import Scorer
from labelgrove.ontology.geometry.scoring.observedtree.observedlabels import Observed
from labelgrove.ontology.geometry.spaces.treespace import TreeSpace

__all__ = ["OnTree"]


class OnTree(Scorer):
    """A scorer that searches a tree, with a compiled search if loading numba is worth it.

    Parameters
    ----------
    space : TreeSpace
        The tree.
    observed : array_like of shape (n_observed,), dtype=int
        Point indices of the observed labels, in the order of the columns of the weights. A label listed twice
        counts twice.
    compiled : bool, optional
        Whether to search with numba; the answers are the same without it. By default, the scorer
        uses numba, if it is installed, as soon as the process has loaded the compiled search, which happens
        in the background once it is worth it (see `Compilation`).
    """

    compiled_module: ClassVar[str]
    """Full name of the module with the compiled search."""
    rehearsal: ClassVar[str]
    """Name of the rehearsal (see `ontology.geometry.rehearsals`) that calls all kernels of this search."""

    def __init__(self, space: TreeSpace, observed: ArrayLike, *, compiled: bool | None = None) -> None:
        refuse_other_than(TreeSpace, "space", space, "or let make_scorer pick the scorer")
        self._space = space
        self._points = index_array("observed", observed, space.n_points)
        if not len(self._points):
            raise InputError("observed: empty; name at least one observed label")
        self.n_observed, self.n_labels = len(self._points), space.n_labels
        self._observed = Observed.of(space.tree, space.tree.positions(self._points))
        self._compiled = compiled
        self._compilation = Compilation(self.compiled_module, self.rehearsal, compiled)

    def variance(self, weights: ArrayLike) -> NDArray[np.float64]:
        """Return the Fréchet variance of every allowed label, measuring one block of distances at a time."""
        return DenseScorer(RowsOnDemand(self._space, self._points)).variance(weights)

    def decision(self, order: NDArray[np.int64] | None = None) -> Decision | None:
        """Return the compiled search, or None if it is not used yet; see `Scorer.decision`."""
        module = self._compilation.module()
        return None if module is None else self._decision(module, order)

    def warm(self, top: int = 1) -> None:
        """Prepare all that requests for `top` labels need; see `Scorer.warm`."""
        self._compilation.warm()
        super().warm(top)

    @abstractmethod
    def _decision(self, module: Any, order: NDArray[np.int64] | None) -> Decision:
        """Return the result of `decision`, using the compiled search in `module`."""
