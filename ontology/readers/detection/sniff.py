"""Recognize a file's format from its name and first lines."""

from __future__ import annotations

import re
from pathlib import Path

from labelgrove.ontology.readers.detection.looks import Look
from labelgrove.ontology.readers.formats.outline import looks_like_outline
from labelgrove.ontology.readers.formats.superclass import looks_like_superclasses
from labelgrove.ontology.readers.text.head import Head

__all__ = ["sniff"]

_CATEGORY_FILES = ("hierarchy.txt", "cat_hier.txt", "hierarchywikimedium.txt", "hierarchywikilarge.txt")


def sniff(path: Path, start: Head, look: Look | None) -> str:
    """Return the name of the format that a file is most likely in.

    Parameters
    ----------
    path : Path
        Path of the file. Its name distinguishes category hierarchies from edge lists, which look alike.
    start : Head
        First bytes of the file.
    look : Look or None
        The recognized kind of the file. If files of this kind can be read in a format, that format is
        returned.

    Notes
    -----
    A file that fits no format is taken for an edge list, because the reader of edge lists reports what is
    wrong in each line.
    """
    if look is not None and look.reader is not None:
        return look.reader
    if re.match(r"\s*(\{(?!\})|\[[^\w&])", start.text):  # damaged JSON
        return "json"
    records = start.records
    if not records:
        return "edges"
    if looks_like_superclasses(records):
        return "superclass"
    integers = all(len(cells) == 2 and all(c.isdigit() for c in cells) for cells in map(str.split, records))
    name = path.name.lower().removesuffix(".gz")
    if integers and name in _CATEGORY_FILES:
        return "lshtc"
    if looks_like_outline(records):
        return "outline"
    return "edges"
