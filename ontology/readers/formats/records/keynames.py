"""Read the names of labels from a table beside the hierarchy: a key and a name in each line.

Open Images is published in this form: the hierarchy has keys alone, ``class-descriptions.csv`` their names.
"""

from __future__ import annotations

from pathlib import Path

from labelgrove.ontology.errors import InputError
from labelgrove.ontology.readers.collect import Collector, Options
from labelgrove.ontology.readers.text.cells import split_cells
from labelgrove.ontology.readers.text.lines import Lines

__all__ = ["read_names", "refuse_names"]

_HEADERS = (["labelname", "displayname"], ["key", "name"])


def refuse_names(options: Options, into: Collector) -> None:
    """Refuse the option `labels` for records that have their names in them.

    Raises
    ------
    InputError
        If the option is given.
    """
    if options.labels is not None:
        raise InputError(
            f"labels: {into.file} is not a hierarchy of Open Images, whose names are in a second file; omit "
            "the option, and give the column or member of names with the option columns (name=WORD)"
        )


def read_names(path: Path, into: Collector) -> None:
    """Name the labels that the collector has; the names of other keys are left out.

    The file has the lines ``key,name``, with or without a header. Labels without a name are reported.
    """
    source, record = Lines(path, into.recorder), into.recorder.add
    for first, lines in source.blocks():
        for at, line in enumerate(lines, first):
            if not line or line.isspace():
                continue
            cells = split_cells(line, "comma")
            if cells is None:
                record("quote", source.name, at, line)
                continue
            if len(cells) != 2:
                record("columns", source.name, at, line)
                continue
            key, name = (cell.strip() for cell in cells)
            if at == 1 and [key.casefold(), name.casefold()] in _HEADERS:
                continue
            if cells != [key, name]:
                record("padded-cell", source.name, at, line)
            if not key:
                record("empty-key", source.name, at, line)
            elif key in into.labels and name:
                into.name(key, name, at, source.name)
    into.report_unnamed()
