"""Model outputs and truths as people keep them, in files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from labelgrove.adapter.outputs.outputfiles import OutputFile, is_number
from labelgrove.adapter.outputs.truthfile import read_truth

__all__ = ["is_number", "read_outputs", "read_truth"]


def read_outputs(path: Path) -> tuple[NDArray[Any], list[str] | None]:
    """Read one row of probabilities or weights per sample.

    Parameters
    ----------
    path : Path
        As `adapter.outputs.outputfiles.OutputFile` reads it.

    Returns
    -------
    outputs : ndarray of shape (n_samples, n_columns)
    columns : list of str or None
        Names of the columns; None where the file has none.

    Raises
    ------
    NotFoundError
        When there is no such file.
    InputError
        Naming file and, for ``.csv``, line and column of the first cell that is not a number.
    """
    file = OutputFile(path)
    return file.read(), None if file.columns is None else list(file.columns)
