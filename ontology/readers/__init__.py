r"""Readers: one file per source format, each giving a LabelGraph and every defect with file and line.

>>> import pathlib, tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     file = pathlib.Path(folder) / "animals.csv"
...     _ = file.write_text("parent,child\nanimal,dog\nanimal,cat\n")
...     result = read(file)
>>> result.graph.leaves, result.report.counts["edges"]
(('cat', 'dog'), 2)
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ontology.errors import DefectsError, GroveError, InputError, NotFoundError
from ontology.labelgraph import LabelGraph
from ontology.readers.assemble import assemble
from ontology.readers.collect import Collector, Options
from ontology.readers.edgelist import read_edges
from ontology.readers.jsontree import read_json
from ontology.readers.lines import foreign_kind, head
from ontology.readers.lshtc import read_lshtc
from ontology.readers.outline import read_outline
from ontology.readers.report import Defect, Recorder, Report, printable
from ontology.readers.rules import RULES, Rule, resolve_policies
from ontology.readers.sniff import sniff
from ontology.readers.superclass import read_superclasses
from ontology.readers.wordnet import data_file, find_wordnet, read_wordnet

__all__ = ["RULES", "Defect", "Format", "ReadResult", "Report", "Rule", "find_wordnet", "formats", "read"]


@dataclass(frozen=True)
class Format:
    """A source format.

    Attributes
    ----------
    name : str
        As in ``--format NAME``.
    title : str
        What it is, in a line.
    options : tuple of str
        Keyword arguments of `read` that it takes; every format takes ``root``.
    policies : mapping of code to policy
        Where its defaults differ from the table of rules.
    """

    name: str
    title: str
    reader: Callable[[Path, Collector, Options], None]
    options: tuple[str, ...] = ()
    policies: Mapping[str, str] = field(default_factory=dict)


_FORMATS = {
    f.name: f
    for f in (
        Format("wordnet", "WordNet database: data.noun, data.verb, or their folder", read_wordnet, ("part",)),
        Format(
            "edges",
            "edge list split by blanks, tabs or commas; header, weights and ranks optional",
            read_edges,
            ("direction", "header", "delimiter"),
        ),
        Format("lshtc", "category hierarchy of integers, and its class list", read_lshtc, ("labels",)),
        Format(
            "superclass",
            "lines of `superclass TAB class, class`",
            read_superclasses,
            policies={"roots": "virtual"},
        ),
        Format("outline", "outline indented by blanks, tabs or dashes", read_outline),
        Format("json", 'nested tree of {"name": ..., "children": [...]}', read_json),
    )
}


@dataclass(frozen=True)
class ReadResult:
    """What came out of a source.

    Attributes
    ----------
    graph : LabelGraph or None
        None where a defect stopped the source.
    report : Report
        Every defect, with file and line.
    definitions : dict of key to text
        Definitions of labels, where the format has them.
    classes : tuple of str or None
        Keys of the labels that are classes, sorted, where a labels file names them.
    """

    graph: LabelGraph | None
    report: Report
    definitions: dict[str, str]
    classes: tuple[str, ...] | None = None


def formats() -> tuple[Format, ...]:
    """Return the formats that `read` knows."""
    return tuple(_FORMATS.values())


def read(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    direction: str | None = None,
    policies: Mapping[str, str] | None = None,
    strict: bool = True,
    header: bool | None = None,
    delimiter: str | None = None,
    labels: str | os.PathLike[str] | None = None,
    part: str | None = None,
    root: str = "root",
) -> ReadResult:
    """Read a label hierarchy.

    Parameters
    ----------
    path : path
        A file, plain or gzip, or a WordNet folder.
    format : str, optional
        Name of a format of `formats`; told from the file's name and first lines unless given.
    direction : {"parent-child", "child-parent", "undirected"}, optional
        Edge lists: what the first two columns are; the header's words, else parent-child, unless given.
    policies : mapping of code to policy, optional
        What a defect leads to; ``{"all": "fix"}`` repairs what can be repaired. docs/formats.md lists all.
    strict : bool, default=True
        Whether defects of severity error raise. If not, the result comes with ``graph=None``.
    header : bool, optional
        Edge lists: whether the first line is a header; told by its words unless given.
    delimiter : {"space", "tab", "comma"}, optional
        Edge lists: told by the first lines unless given.
    labels : path, optional
        Category hierarchies: the file that names the classes.
    part : {"noun", "verb"}, optional
        WordNet folders: which file; nouns unless given.
    root : str, default="root"
        Key of the virtual root (policy ``roots=virtual``).

    Returns
    -------
    ReadResult
        Graph, report, definitions, classes. The graph does not depend on the order of lines, their ends,
        repetitions, compression or a byte order mark.

    Raises
    ------
    DefectsError
        If a defect of severity error remains; its ``report`` lists every defect, not only the first.
    NotFoundError
        If there is no such file.
    InputError
        For an unknown format, option or policy, or a path that is no file.

    Notes
    -----
    863,261 edges take a few seconds; memory grows with labels and edges, not with the text.
    """
    source = Path(path)
    options = Options(
        direction, header, delimiter, None if labels is None else Path(labels), part or "noun", root
    )
    file = _existing_file(source, options.part)
    if options.labels is not None:
        _existing_file(options.labels)
    start = head(file)
    name = format or ("wordnet" if source.is_dir() else sniff(file, start))
    if name not in _FORMATS:
        raise InputError(f"format: {name!r} is unknown; choose from: {', '.join(_FORMATS)}")
    chosen = _FORMATS[name]
    given = {"direction": direction, "header": header, "delimiter": delimiter, "labels": labels, "part": part}
    foreign = sorted(
        name for name, value in given.items() if value is not None and name not in chosen.options
    )
    if foreign:
        takes = ", ".join((*chosen.options, "root"))
        raise InputError(f"{foreign[0]}: format {chosen.name!r} does not take it; it takes: {takes}")
    recorder = Recorder(resolve_policies(policies, chosen.policies))
    if options.direction == "undirected" and recorder.policy("roots") == "virtual":
        raise InputError(
            "policies: roots='virtual' needs a directed hierarchy; choose error, largest or keep"
        )
    found = Collector(str(file), recorder)
    graph = None
    if kind := foreign_kind(start):
        found.defect("foreign-file", 1, kind)
    else:
        chosen.reader(file, found, options)
        graph = assemble(found, root=root, direction_is_open="direction" in chosen.options)
    report = recorder.report(
        str(source),
        chosen.name,
        labels=graph.n_labels if graph else 0,
        edges=graph.n_edges if graph else 0,
        roots=len(graph.roots) if graph and graph.directed else 0,
    )
    if strict and graph is None:
        raise DefectsError(_summary(report), report=report)
    kept = set(graph.keys) if graph else set()
    return ReadResult(
        graph,
        report,
        {key: text for key, text in found.definitions.items() if key in kept},
        None if found.classes is None else tuple(key for key in found.classes if key in kept),
    )


def _existing_file(path: Path, part: str | None = None) -> Path:
    """Return the readable file that a path names, inside a WordNet folder if it is one."""
    shown = printable(str(path))
    try:
        if not path.exists():
            raise NotFoundError(f"{shown}: there is no such file; check the path")
        file = data_file(path, part) if part and path.is_dir() else path
        if not file.is_file():
            raise InputError(f"{shown}: is a folder or device; give a file")
        with file.open("rb"):
            return file
    except (OSError, ValueError) as error:
        if isinstance(error, GroveError):
            raise
        raise InputError(f"{shown}: cannot be opened ({error}); give a file that you may read") from error


def _summary(report: Report) -> str:
    """Return the message of a read that defects stop: the first kinds, each with its first place."""
    errors = report.errors
    parts = []
    for defect in errors[:3]:
        file, line, text = defect.examples[0]
        more = f" and {defect.count - 1} more" if defect.count > 1 else ""
        parts.append(
            f"{defect.code} at {printable(file)}:{line}{more} ({defect.message}; {text}): {defect.remedy}"
        )
    rest = f"; and {len(errors) - 3} more kinds, see the report" if len(errors) > 3 else ""
    return f"{printable(report.source)}: {'; '.join(parts)}{rest}"
