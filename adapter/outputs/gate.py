"""The rules that the outputs of a model must obey, and the error message of each rule.

Arrays, sparse matrices, files and the tensors of a framework are all checked here, so a mistake gives the
same message for every form of input. Each message begins with the source of the outputs: ``P``, or the file.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.adapter.outputs.outputkinds import IF_LOGITS, IF_LOGITS_OR_LOGS, LARGEST_LOG, OutputKind
from labelgrove.ontology.errors import InputError, WeightError, counted, first_few
from labelgrove.ontology.geometry.ties import TOTALS
from labelgrove.ontology.geometry.weightfaults import (
    NO_NAN,
    NO_WEIGHT,
    bad_row,
    refuse_cells,
    refuse_totals,
    weight_faults,
)

__all__ = [
    "ragged",
    "refuse_dtype",
    "refuse_faults",
    "rows_at_once",
    "wrong_axes",
    "wrong_dtype",
    "wrong_length",
    "wrong_width",
]

_ROWS_AT_ONCE = 4096
_VALUES_AT_ONCE = 1 << 22


def rows_at_once(n_columns: int) -> int:
    """Return how many rows of `n_columns` numbers are read and checked together.

    >>> rows_at_once(1000), rows_at_once(1 << 20)
    (4096, 4)
    """
    return max(1, min(_ROWS_AT_ONCE, _VALUES_AT_ONCE // n_columns))


# ---- shape and dtype -------------------------------------------------------------------------------------


def wrong_axes(name: str, shape: tuple[int, ...]) -> WeightError:
    """Return the error for outputs that are not a table of rows and columns."""
    return WeightError(f"{name}: shape {tuple(shape)} given; give two axes, samples x columns")


def wrong_width(
    name: str, shape: tuple[int | None, ...], n_columns: int, columns: tuple[str, ...] = ()
) -> WeightError:
    """Return the error for a table with a wrong number of columns.

    In `shape`, None stands for an unknown number of rows. The message lists the first few keys in `columns`.
    """
    named = f", in this order: {first_few(columns)}" if columns else ""
    turned = f"give {name}.T" if name.isidentifier() else "save its transpose"  # an argument, or a file
    transposed = f"; it looks transposed: {turned}" if len(shape) == 2 and shape[0] == n_columns else ""
    return WeightError(
        f"{name}: {counted(shape[-1] or 0, 'column')} given, expected {n_columns}: one for each class of the "
        f"model{named}{transposed}"
    )


def wrong_length(n_truth: int, n_rows: int | None, *, more: bool = False, name: str = "truth") -> InputError:
    """Return the error for true labels whose number differs from the number of rows of the outputs.

    `n_rows` is the number of rows, or None if it is unknown. If `more` is true, the outputs have at least
    `n_rows` rows. `name` is the argument or file that contains the true labels.
    """
    rows = "the outputs" if n_rows is None else f"{counted(n_rows, 'row')} of the outputs"
    return InputError(
        f"{name}: {counted(n_truth, 'label')} for {rows}{' or more' if more else ''}; give one label per "
        "row, and at least one"
    )


def ragged(name: str, detail: object) -> WeightError:
    """Return the error for rows of different lengths."""
    return WeightError(f"{name}: rows of different lengths ({detail}); give rows of equal length")


def refuse_dtype(name: str, dtype: np.dtype[Any], kinds: str = "iuf") -> None:
    """Raise `WeightError` if ``dtype.kind``, a letter, is not one of the letters in `kinds`.

    The letters "iuf" accept all real numbers, and "iu" only whole numbers.
    """
    if dtype.kind not in kinds:
        raise wrong_dtype(name, dtype, "whole" if kinds == "iu" else "real", boolean=dtype.kind == "b")


def wrong_dtype(
    name: str, dtype: object, wanted: str = "real", *, boolean: bool = False, advice: str = ""
) -> WeightError:
    """Return the error for a wrong dtype.

    `wanted` says which numbers are expected: ``"real"`` or ``"whole"``. `boolean` is true if the dtype is
    bool. `advice` is added to the message.
    """
    if boolean:
        advice = "to use its values, convert it with .astype(float)"
    return WeightError(f"{name}: dtype {dtype} given; give {wanted} numbers{'; ' if advice else ''}{advice}")


# ---- cells and rows --------------------------------------------------------------------------------------


def refuse_faults(
    kind: OutputKind,
    block: NDArray[Any],
    *,
    name: str = "P",
    first: int = 0,
    columns: tuple[str, ...] = (),
    independent: bool = False,
    limits: tuple[float, float] = TOTALS,
) -> None:
    """Raise `WeightError` for the first cell or row of a block that breaks a rule.

    Parameters
    ----------
    kind : {"probabilities", "log_probabilities", "logits"}
        Kind of the outputs.
    block : ndarray of shape (n_rows, n_columns)
        Outputs in any real dtype; their columns are in the order of the model.
    name : str
        Name of the source; messages begin with it.
    first : int
        Row number, in the source, of the first row of the block. Messages state row numbers in the source.
    columns : tuple of str
        Keys of the columns.
    independent : bool
        Whether each number is a separate probability. If true, no number may be above 1, and a row may be all
        zero.
    limits : tuple of float
        Least and largest sum of a row of probabilities.

    Examples
    --------
    >>> refuse_faults("probabilities", np.array([[1.0, 0.0], [0.5, -0.5]]), first=7, columns=("oak", "elm"))
    Traceback (most recent call last):
        ...
    labelgrove.ontology.errors.WeightError: P: row 8, column 1 ('elm') holds -0.5; a row must have no nega...
    """
    with np.errstate(over="ignore"):
        rows = block.astype(np.float64, order="C")  # in which numpy adds every row in the same way
    refuse_cells(name, block, _cell_faults(kind, rows, independent), first, columns)
    if independent:
        return
    if kind == "probabilities":
        refuse_totals(name, rows, limits, first)
        return
    largest = rows.max(axis=1)
    if np.isneginf(largest).any():
        raise bad_row(name, np.isneginf(largest), "has the maximum -inf", NO_WEIGHT, first)


def _cell_faults(
    kind: OutputKind, rows: NDArray[np.float64], independent: bool
) -> list[tuple[NDArray[np.bool_], str]]:
    """Return, for each rule, a mask of the cells that break the rule, and the text of the rule."""
    if kind == "probabilities":
        faults = weight_faults(rows, IF_LOGITS_OR_LOGS)
        if independent:
            faults.append((rows > 1, f"no probability above 1; {IF_LOGITS_OR_LOGS}"))
        return faults
    faults = [(np.isnan(rows), NO_NAN)]
    faults.append((rows == np.inf, "finite numbers, or minus infinity where the probability is 0"))
    if kind == "log_probabilities":
        faults.append((rows > LARGEST_LOG, f"no log-probability above 0; {IF_LOGITS}"))
    return faults
