"""Select the records of one relation, and report a table whose records have several."""

from __future__ import annotations

from collections.abc import Iterable

from labelgrove.ontology.errors import InputError, counted
from labelgrove.ontology.readers.collect import Collector

__all__ = ["Relations"]


class Relations:
    """The relations of the records of one table.

    Parameters
    ----------
    into : Collector
    wanted : str or None
        The only relation whose edges are wanted; None if all are.
    """

    def __init__(self, into: Collector, wanted: str | None) -> None:
        self._into, self._wanted = into, wanted
        self._found: dict[str, tuple[int, int]] = {}  # number of records, and the first line

    def is_wanted(self, relation: str, at: int, child: str, parents: Iterable[object]) -> bool:
        """Count a record from line `at`, and return whether its edges are wanted; if not, report them."""
        number, first = self._found.get(relation, (0, at))
        self._found[relation] = number + 1, min(first, at)
        if self._wanted in (None, relation):
            return True
        listed = ", ".join(map(str, parents))
        self._into.defect("other-relation", at, f"{child} {relation} {listed}")
        return False

    def report(self, *, has_column: bool) -> None:
        """Report several relations, unless one of them was requested.

        Raises
        ------
        InputError
            If a relation was requested of a table without a column of relations.
        """
        into = self._into
        if self._wanted is not None:
            if not has_column:
                raise InputError(
                    f"relation: {into.file} has no column named relation, so the edges of "
                    f"{self._wanted!r} cannot be selected; omit the option, or name the column in "
                    "the header"
                )
            return
        by_number = sorted(self._found, key=lambda name: (-self._found[name][0], name))
        for name in by_number[1:]:
            number, line = self._found[name]
            into.defect(
                "several-relations",
                line,
                f"{name!r} in {counted(number, 'record')}; the most frequent relation is {by_number[0]!r}",
            )
