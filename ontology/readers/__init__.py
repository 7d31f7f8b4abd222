r"""Readers: turn a source into a LabelGraph, and report every defect with file and line.

Each of these modules imports only modules after it in this list: `reading` (reads a source), `assemble`
(checks a hierarchy as a whole), `asking` (checks the arguments of a read), `detection` (finds the format of a
file), `formats` (interprets lines, columns or objects, in one module per format), `collect` (stores what a
reader found), `text` (turns bytes into checked lines), `defects` (records what is wrong).

>>> import pathlib, tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     file = pathlib.Path(folder) / "animals.csv"
...     _ = file.write_text("parent,child\nanimal,dog\nanimal,cat\n")
...     result = read(file)
>>> result.graph.leaves, result.report.counts["edges"]
(('cat', 'dog'), 2)
"""

from __future__ import annotations

from labelgrove.ontology.readers.asking import READER_VERSION, Format
from labelgrove.ontology.readers.defectrules import RULES, Rule
from labelgrove.ontology.readers.defects import Defect, Report
from labelgrove.ontology.readers.formats.wordnet import find_wordnet
from labelgrove.ontology.readers.reading import ReadResult, fingerprint, formats, read

__all__ = [
    "READER_VERSION",
    "RULES",
    "Defect",
    "Format",
    "ReadResult",
    "Report",
    "Rule",
    "find_wordnet",
    "fingerprint",
    "formats",
    "read",
]
