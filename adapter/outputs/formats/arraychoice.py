"""Choose the array of outputs in a file that may contain several arrays."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from labelgrove.ontology.errors import InputError, first_few

__all__ = ["chosen_array"]


def chosen_array(path: Path, shapes: Mapping[str, tuple[int, ...]], array: str | None) -> str:
    """Return the name of the array to read: `array`, or by default the only array of two axes.

    Parameters
    ----------
    path : Path
        The file, for messages.
    shapes : mapping of str to tuple of int
        The shape of each array in the file, by its name.
    array : str or None
        The name that the user gave, if any.

    Raises
    ------
    InputError
        If there is no array called `array`; and, without a name, if not exactly one array has two axes.

    Examples
    --------
    >>> chosen_array(Path("p.npz"), {"P": (10, 3), "truth": (10,)}, None)
    'P'
    """
    listed = [f"{name!r} of shape {shape}" for name, shape in shapes.items()]
    if array is not None:
        if array not in shapes:
            raise InputError(
                f"array: {path} has no array {array!r}; name one that it has: {first_few(listed)}"
            )
        return array
    tables = [name for name, shape in shapes.items() if len(shape) == 2]
    if len(tables) != 1:
        raise InputError(
            f"{path}: {len(tables)} arrays of two axes, expected one; the file contains "
            f"{first_few(listed) or 'no array'}; name one with array=... (grove: --array NAME)"
        )
    return tables[0]
