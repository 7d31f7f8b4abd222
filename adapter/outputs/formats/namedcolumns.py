"""Tell the column that names the samples from the columns of numbers."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self, TypeVar

from labelgrove.ontology.errors import InputError, first_few

__all__ = ["NamedColumns", "without_names"]

T = TypeVar("T")

_ID_COLUMNS = ("id", "", "__index_level_0__")
"""Names of columns that number or name samples; pandas writes an index under the last two."""


@dataclass(frozen=True)
class NamedColumns:
    """The columns of a table: those with numbers, and perhaps one with the names of the samples.

    Attributes
    ----------
    header : tuple of str
        The names of all columns, in the order of the file.
    id_index : int or None
        Index, in `header`, of the column that names the samples; None if no column does.
    """

    header: tuple[str, ...]
    id_index: int | None

    @classmethod
    def of(
        cls, path: Path, header: tuple[str, ...], id_column: str | None, labels: Container[str] | None
    ) -> Self:
        """Find the column that names the samples; `OutputFile` describes `id_column` and `labels`.

        Raises
        ------
        InputError
            If not exactly one column is called `id_column`.
        """
        found = [] if id_column is None else [i for i, name in enumerate(header) if name == id_column]
        if id_column is not None and len(found) != 1:
            raise InputError(
                f"id_column: {path} has {len(found) or 'no'} columns named {id_column!r}; its columns "
                f"are {first_few([repr(name) for name in header])}; choose the one that names the rows"
            )
        if id_column is None and labels is not None:
            named = [name.lower() if name not in labels else None for name in header]
            found = [named.index(name) for name in _ID_COLUMNS if name in named]
        return cls(header, found[0] if found else None)

    @property
    def id_column(self) -> str | None:
        """The name of the column that names the samples, if there is one."""
        return None if self.id_index is None else self.header[self.id_index]

    @property
    def numbers(self) -> tuple[str, ...]:
        """The names of the columns with numbers."""
        return self.without_id(self.header)

    def without_id(self, cells: Sequence[T]) -> tuple[T, ...]:
        """Return `cells`, of which each column has one, without the cell of the column `id_column`."""
        if self.id_index is None:
            return tuple(cells)
        return (*cells[: self.id_index], *cells[self.id_index + 1 :])


def without_names(path: Path, id_column: str) -> InputError:
    """Return the error for an `id_column` that was given for a file without column names."""
    return InputError(
        f"id_column: {id_column!r} given for {path}, whose columns have no names; leave out id_column"
    )
