"""Read category hierarchies of large-scale text classification, from one or two files.

The file of the hierarchy has one edge a line, ``parent child``; each category is written as an integer.
Categories may have several parents; the largest published file contains cycles. A separate labels file shows
which categories are classes, that is, categories to which documents belong. This file has a header and then
one document a line, such as ``545, 32 8:1 18:2``: the classes of the document with commas between them, then
its features, which are not read.
"""

from __future__ import annotations

import re
from pathlib import Path

from labelgrove.ontology.readers.collect import Collector, Options
from labelgrove.ontology.readers.text.cells import split_pairs
from labelgrove.ontology.readers.text.integers import LARGEST, integer_key
from labelgrove.ontology.readers.text.lines import Lines

__all__ = ["read_lshtc"]

_FEATURE = re.compile(r"[0-9]+:[-+.0-9eE]+")
_LIST = re.compile(r"[^\s,]+(?:, ?[^\s,]+)*")


def read_lshtc(path: Path, into: Collector, options: Options) -> None:
    """Read a category hierarchy and, if `options` names it, its labels file into a collector."""
    for number, lines in Lines(path, into.recorder).blocks():
        plain = _plain_cells(lines)
        if plain:
            into.edges(plain[1::2], plain[0::2], number)
            continue
        for at, line in enumerate(lines, number):
            cells = line.split()
            if not cells or line[0] == "#":
                continue
            if len(cells) != 2:
                into.defect("columns", at, line)
                continue
            parent, child = (integer_key(cell, into.recorder, into.file, at) for cell in cells)
            if parent and child:
                into.edge(child, parent, at)
    if options.labels is not None:
        into.classes = _classes(options.labels, into)


def _plain_cells(lines: list[str]) -> list[str] | None:
    """Return the cells of `lines`, two a line, if a fast check finds that all are keys as they are.

    Return None if there may be anything else: the caller then reads the lines one by one.
    """
    cells = split_pairs(lines, " ")
    if cells is None or len(max(cells, key=len)) >= len(LARGEST):
        return None
    digits = "".join(cells)
    if not (digits.isascii() and digits.isdigit()):
        return None
    zeros = any(cell[0] == "0" and cell != "0" for cell in cells)
    return None if zeros else cells


def _classes(path: Path, into: Collector) -> tuple[str, ...]:
    """Return the classes in a labels file, sorted by key; report and leave out those not in the hierarchy."""
    source = Lines(path, into.recorder)
    above = into.parents()
    known = into.children() | above
    first: dict[str, int] = {}
    for number, lines in source.blocks():
        for at, line in enumerate(lines, number):
            if at == 1:
                if ":" not in line and not line.strip()[:1].isdigit():
                    continue
                into.recorder.add("labels-header", source.name, 1, line)
            if line and not line.isspace():
                for key in _line_classes(line, at, source.name, into):
                    first.setdefault(key, at)
    for key, at in list(first.items()):
        if key == "0" and key not in known:
            into.recorder.add("hidden-label", source.name, at, key)
            del first[key]
        elif key not in known:
            into.recorder.add("unknown-class", source.name, at, key)
            del first[key]
        elif key in above:
            into.recorder.add("class-not-leaf", source.name, at, key)
    return tuple(sorted(first))


def _line_classes(line: str, at: int, file: str, into: Collector) -> list[str]:
    """Return the classes that a line of the labels file gives to its document."""
    begin = line.find(":")
    listed = line if begin < 0 else line[:begin].rpartition(" ")[0]
    features = line[len(listed) :].split()
    if not listed.strip():
        into.recorder.add("no-label", file, at, line)
        return []
    if features and not all(map(_FEATURE.fullmatch, features)):
        into.recorder.add("feature", file, at, line)
    if not _LIST.fullmatch(listed.strip()):
        into.recorder.add("label-list", file, at, listed)
    classes = [integer_key(text, into.recorder, file, at) for text in listed.replace(",", " ").split()]
    found = [key for key in classes if key]
    if len(set(found)) < len(found):
        into.recorder.add("repeated-class", file, at, listed)
    return found
