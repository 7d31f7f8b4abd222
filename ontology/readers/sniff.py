"""Which format a file is in, told from its name and first lines."""

from __future__ import annotations

from pathlib import Path

from ontology.readers.outline import looks_like_outline
from ontology.readers.superclass import looks_like_superclasses
from ontology.readers.wordnet import looks_like_wordnet

__all__ = ["sniff"]

_CATEGORY_FILES = ("hierarchy.txt", "cat_hier.txt", "hierarchywikimedium.txt", "hierarchywikilarge.txt")


def sniff(path: Path, start: bytes) -> str:
    """Return the name of the format that a file is most likely in.

    Parameters
    ----------
    path : Path
        Its name decides between edge lists and category hierarchies, which look alike.
    start : bytes
        Its first bytes, unpacked.

    Notes
    -----
    Whatever fits nothing else is taken for an edge list, whose reader says line by line what is wrong.
    """
    text = start.decode("utf-8", "replace").lstrip("\ufeff").replace("\r\n", "\n")
    lines = text.split("\n")
    if len(lines) > 1 and len(start) >= 1 << 16:
        lines.pop()  # cut off by the size of the sample
    if looks_like_wordnet(lines):
        return "wordnet"
    records = [line for line in lines if line.strip() and not line.startswith("#")]
    if text.lstrip()[:1] in ("{", "["):
        return "json"
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
