"""Compilation: when a scorer turns to compiled loops, which need numba and take a while to load."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.errors import MissingExtraError

__all__ = ["Compilation", "Decision"]

Decision = Callable[[NDArray[Any]], NDArray[np.int64] | None]
"""Takes rows as a model emits them and returns the label of each, or None for rows that are to be scored.

Rows are float32 or float64 of shape (n_samples, n_observed), C-contiguous, aligned and writable: every other
kind of array would be compiled for once more. None is said of rows that may break a rule."""

# in rows of up to 1,024 columns
_WORTH_COMPILING = 1 << 14
_COLUMNS_OF_A_ROW = 1 << 10
_ROWS_OF_A_CALL = 50  # rows that take as long as a call without any


class Compilation:
    """Counts the work that one scorer was asked for, and hands out a compiled module when it is worth it.

    Parameters
    ----------
    module : str
        Full name of a module that imports numba.
    wanted : bool or None
        None: where numba is installed, once the process has loaded it or some 16,000 rows of a thousand
        columns were asked for, fewer the wider they are; loading it takes longer than a few batches.
    n_columns : int
        Of a row.
    """

    def __init__(self, module: str, wanted: bool | None, n_columns: int) -> None:
        self._name, self._wanted = module, wanted
        self._work_of_a_row = max(1.0, n_columns / _COLUMNS_OF_A_ROW)
        self._work = 0.0

    def module(self, n_rows: int) -> Any:
        """Return the module, or None where the next `n_rows` rows are to be scored without it.

        Raises
        ------
        MissingExtraError
            Where it is wanted and numba is not installed.
        """
        if n_rows:
            self._work += n_rows * self._work_of_a_row + _ROWS_OF_A_CALL
        wanted = self._wanted
        if wanted is None:
            wanted = "numba" in sys.modules or self._work > _WORTH_COMPILING
        if not wanted:
            return None
        try:
            import_module("numba")
        except ImportError:
            if self._wanted:
                raise MissingExtraError.of("numba", "science", "a compiled search") from None
            self._wanted = False
            return None
        return import_module(self._name)
