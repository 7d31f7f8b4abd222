"""Close the gaps that records leave which were not asked for: their children move up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from labelgrove.ontology.readers.chains import kept_ancestors
from labelgrove.ontology.readers.collect import Collector
from labelgrove.ontology.readers.text.cellvalues import Cell, separator_of, split_values

__all__ = ["lift_children"]


def lift_children(into: Collector, left_out: Mapping[str, Sequence[Cell]], separator: str | None) -> None:
    """Put each child of a record that was left out below the nearest ancestors that are labels.

    Parameters
    ----------
    into : Collector
    left_out : mapping of key to cells
        The records that were left out, with the cells of their parents.
    separator : str or None
        What separates the parents in a cell; None if the cells tell.
    """
    shared = separator_of(cell for cells in left_out.values() for cell in cells)
    mark = shared if separator is None else separator
    above = kept_ancestors(
        {
            key: [parent for cell in cells for parent in split_values(cell, mark, left_out)]
            for key, cells in left_out.items()
        }
    )
    first: dict[str, str] = {}
    more: dict[str, list[str]] = {}
    gone: set[str] = set()
    keys = list(into.numbers)
    for key in {keys[number] for number in set(into.parent)} & left_out.keys():
        found = above(key)
        if found:
            first[key], more[key] = found[0], found[1:]
        else:
            gone.add(key)
    for i, number in enumerate(list(into.parent)):
        for parent in more.get(keys[number], ()):
            rank, weight = into.rank.get(i, 0), into.weight.get(i, 1.0)
            into.edge(keys[into.child[i]], parent, into.line[i], rank, weight)
    into.move_children(first)
    if gone:
        keys = list(into.numbers)
        into.keep([i for i, number in enumerate(into.parent) if keys[number] not in gone])
