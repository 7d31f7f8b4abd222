"""Compilation: a class that decides when a scorer uses compiled loops.

Compiled loops need numba and take a while to load.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from labelgrove.ontology.errors import MissingExtraError

__all__ = ["Compilation"]

# in rows of up to 1,024 columns
_WORTH_COMPILING = 1 << 14
_COLUMNS_OF_A_ROW = 1 << 10
_ROWS_OF_A_CALL = 50  # as many rows as take as long as an empty call


class Compilation:
    """Counts the rows of weights that a scorer has scored, to load a compiled module once it is worth it.

    Parameters
    ----------
    module : str
        Full name of a module that imports numba.
    wanted : bool or None
        Whether to use the module. None: if numba is installed, use the module as soon as the process has
        loaded numba, or this scorer has scored about 16,000 rows of up to a thousand columns (fewer if the
        rows are wider). Loading numba earlier would take longer than scoring these rows without it.
    n_columns : int
        Number of weights in a row.
    """

    def __init__(self, module: str, wanted: bool | None, n_columns: int) -> None:
        self._name, self._wanted = module, wanted
        self._work_of_a_row = max(1.0, n_columns / _COLUMNS_OF_A_ROW)
        self._work = 0.0

    def module(self, n_rows: int) -> Any:
        """Count the next `n_rows` rows; return the module, or None if they should be scored without it.

        Raises
        ------
        MissingExtraError
            If `wanted` is True and numba is not installed.
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
