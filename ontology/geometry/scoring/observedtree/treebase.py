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
        uses numba, if it is installed, as soon as the process has loaded numba or the scorer has done enough
        work to make loading numba worthwhile.
    """

    compiled_module: ClassVar[str]
    """Full name of the module with the compiled search."""

    def __init__(self, space: TreeSpace, observed: ArrayLike, *, compiled: bool | None = None) -> None:
        refuse_other_than(TreeSpace, "space", space, "or let make_scorer pick the scorer")
        self._space = space
        self._points = index_array("observed", observed, space.n_points)
        if not len(self._points):
            raise InputError("observed: empty; name at least one observed label")
        self.n_observed, self.n_labels = len(self._points), space.n_labels
        self._observed = Observed.of(space.tree, space.tree.positions(self._points))
        self._compiled = compiled
        self._compilation = Compilation(self.compiled_module, compiled, self.n_observed)

    def variance(self, weights: ArrayLike) -> NDArray[np.float64]:
        """Return the Fréchet variance of every allowed label, measuring one block of distances at a time."""
        return DenseScorer(RowsOnDemand(self._space, self._points)).variance(weights)

    def decision(self, order: NDArray[np.int64] | None = None) -> Decision | None:
        """Return a search that finds the same labels as `score` and takes rows of unchecked weights.

        Parameters
        ----------
        order : ndarray of shape (n_observed,), dtype=int64, optional
            For each observed label, its column in the rows of weights; by default the columns are in the
            order of the observed labels, as for `score`.

        Returns
        -------
        decision : Decision, or None
            None if this scorer does not use the compiled search, or does not use it yet.
        """
        module = self._compilation.module(0)
        return None if module is None else self._decision(module, order)

    @abstractmethod
    def _decision(self, module: Any, order: NDArray[np.int64] | None) -> Decision:
        """Return the result of `decision`, using the compiled search in `module`."""
