"""Read superclass lists, with lines ``superclass TAB class, class``.

A class on one line may be the superclass on another line. If there are several superclasses that are not
classes on any line, a root is added by default, and these superclasses become its children. The hierarchy
then has two levels or more below the root.
"""

from __future__ import annotations

from pathlib import Path

from labelgrove.ontology.readers.collect import Collector, Options
from labelgrove.ontology.readers.text.lines import Lines, is_record

__all__ = ["looks_like_superclasses", "read_superclasses"]


def looks_like_superclasses(lines: list[str]) -> bool:
    """Return whether every line contains one tab, and at least one line has a comma after its tab."""
    return all(line.count("\t") == 1 for line in lines) and any(
        "," in line.partition("\t")[2] for line in lines
    )


def read_superclasses(path: Path, into: Collector, _options: Options) -> None:
    """Read a superclass list into a collector."""
    superclasses: set[str] = set()
    for number, lines in Lines(path, into.recorder).blocks():
        for at, line in enumerate(lines, number):
            if not is_record(line):
                continue
            cells = line.split("\t")
            if len(cells) != 2:
                into.defect("columns", at, line)
                continue
            superclass = cells[0].strip()
            if not superclass:
                into.defect("empty-key", at, line)
                continue
            if superclass in superclasses:
                into.defect("repeated-superclass", at, line)
            superclasses.add(superclass)
            into.labels.setdefault(superclass, at)
            if not cells[1].strip():
                into.defect("no-classes", at, line)
                continue
            for cell in cells[1].split(","):
                label = cell.strip()
                if label:
                    into.place(label, superclass, at)
                else:
                    into.defect("empty-key", at, line)
