"""Read a source of any format: the function `read`, and its result."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from labelgrove.ontology.annotations import Annotations
from labelgrove.ontology.errors import DefectsError, InputError, counted
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.readers.asking import FORMATS, Format, ask
from labelgrove.ontology.readers.assemble import assemble
from labelgrove.ontology.readers.collect import Collector
from labelgrove.ontology.readers.defects import Recorder, Report, place, printable

__all__ = ["ReadResult", "fingerprint", "formats", "read"]


@dataclass(frozen=True, repr=False)
class ReadResult:
    """The result of reading a source.

    Attributes
    ----------
    graph : LabelGraph or None
        The graph; None if a defect of severity error was found.
    report : Report
        Every defect, with file and line.
    annotations : Annotations or None
        Synonyms, definitions and other texts of the labels; None if there is no graph.
    classes : tuple of str or None
        Sorted keys of the classes, which are the labels that documents have. Only the labels file of a
        category hierarchy names them; without this file, None.
    reading : (str, str) or None
        A pair: the `fingerprint` of the source and the digest of its graph. Only
        `ontology.versions.sources.read_once` sets it, and only if the source did not change while it was
        read; otherwise it is None.
    """

    graph: LabelGraph | None
    report: Report
    annotations: Annotations | None
    classes: tuple[str, ...] | None = None
    reading: tuple[str, str] | None = None

    def of_part(self, graph: LabelGraph) -> ReadResult:
        """Return the result with `graph`, which has some of its labels, in place of its graph."""
        if self.graph is None or self.annotations is None:
            raise InputError("this result has no graph, so it has no part; see its report")
        return replace(self, graph=graph, annotations=self.annotations.moved(self.graph, graph))

    @cached_property
    def definitions(self) -> dict[str, str]:
        """The definitions of the labels that have one, by key."""
        if self.graph is None or self.annotations is None:
            return {}
        texts = zip(self.graph.keys, self.annotations.definitions, strict=False)  # retired keys come last
        return {key: text for key, text in texts if text}

    def __repr__(self) -> str:
        classes = "" if self.classes is None else f", {counted(len(self.classes), 'class', 'classes')}"
        return f"ReadResult({self.graph!r}, {self.report!r}, {self.annotations!r}{classes})"


def formats() -> tuple[Format, ...]:
    """Return the formats that `read` knows."""
    return tuple(FORMATS.values())


def read(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    direction: str | None = None,
    policies: Mapping[str, str] | None = None,
    strict: bool = True,
    header: bool | None = None,
    delimiter: str | None = None,
    relation: str | None = None,
    namespace: str | None = None,
    labels: str | os.PathLike[str] | None = None,
    part: str | None = None,
    root: str = "root",
    columns: Mapping[str, str] | None = None,
    separator: str | None = None,
    levels: Iterable[str] | None = None,
    key: str | None = None,
    language: str | None = None,
    scheme: str | None = None,
    vocabulary: str | None = None,
) -> ReadResult:
    """Read a label hierarchy.

    Parameters
    ----------
    path : path
        A file, plain or gzip, or the folder of a WordNet database or taxonomy dump.
    format : str, optional
        A name that `formats` returns. By default, the format is recognized from the file's name and first
        lines.
    direction : {"parent-child", "child-parent", "undirected"}, optional
        Edge lists: the meaning of the first two columns. By default the words of the header decide; if there
        is no header, the first column is the parent and the second the child.
    policies : mapping of code to policy, optional
        What the reader does about each kind of defect. The code of a kind is the key, and a policy such as
        ``fix`` is the value. ``{"all": "fix"}`` repairs every kind that can be repaired, except those whose
        default policy is ``warn``. docs/formats.md lists all codes and policies.
    strict : bool, default=True
        Whether defects of severity error raise `DefectsError`. If False, they give a result with
        ``graph=None``.
    header : bool, optional
        Edge lists: whether the first line is a header; by default recognized from its words.
    delimiter : {"space", "tab", "comma", "semicolon"}, optional
        Edge lists and records: the delimiter; by default recognized from the first lines.
    relation : str, optional
        Edge lists and records with a column ``relation``, and Open Images: the relation whose edges are kept;
        by default all edges are. OBO and RDF: the relations that make the hierarchy, separated by commas,
        such as ``is_a,part_of`` and ``subClassOf,part_of``; by default the first of these.
    namespace : str, optional
        OBO: the namespace whose terms are labels; by default all terms are.
    labels : path, optional
        Category hierarchies: the labels file, which names the categories of each document (the classes).
        Open Images: the file with the name of each key, ``class-descriptions.csv``.
    part : {"noun", "verb"}, optional
        WordNet folders: the part to read; nouns by default.
    root : str, default="root"
        Key of the virtual root, which the policy ``roots=virtual`` adds above all roots.
    columns : mapping of role to str, optional
        Records: the word of the header, or the member, for each role that the known words do not tell, such
        as ``{"key": "Code", "name": "Titel", "name:en": "Title"}``. docs/formats.md lists the roles.
    separator : str, optional
        Records: what separates the values in a cell; ``""`` if cells have one value. Label paths: what
        separates the labels of a path. By default, it is recognized.
    levels : iterable of str, optional
        Taxonomy dumps, and records with a column of levels such as ``taxonRank``: the levels, such as
        ``species``, whose labels are kept. The children of the others move up. By default all are kept.
    key : {"iri", "curie", "local", "notation"}, optional
        RDF: what the keys of labels are made of; IRIs by default.
    language : str, optional
        RDF: the language of the names that the graph has, such as ``"de"``. By default English if there is a
        name in English, else the language in which most labels have a name.
    scheme : str, optional
        SKOS: the scheme whose concepts are labels; by default the concepts of all schemes are.
    vocabulary : {"skos", "classes"}, optional
        RDF: whether the labels are SKOS concepts or classes; by default the file decides.

    Returns
    -------
    ReadResult
        Graph, report, annotations, classes. The graph does not depend on the order or repetition of lines, on
        line endings, compression or a byte order mark.

    Raises
    ------
    DefectsError
        If a defect of severity error remains; its ``report`` lists every defect, not only the first.
    NotFoundError
        If there is no such file.
    InputError
        For an unknown format, option or policy, or a path that is not a file.

    Notes
    -----
    863,261 edges take a few seconds; memory grows with labels and edges, not with the text.
    """
    asked = ask(
        path,
        format=format,
        direction=direction,
        policies=policies,
        header=header,
        delimiter=delimiter,
        relation=relation,
        namespace=namespace,
        labels=labels,
        part=part,
        root=root,
        columns=columns,
        separator=separator,
        levels=levels,
        key=key,
        language=language,
        scheme=scheme,
        vocabulary=vocabulary,
    )
    recorder = Recorder(asked.policies)
    found = Collector(str(asked.file), recorder)
    graph = None
    if asked.is_foreign:
        found.defect("foreign-file", 1, str(asked.look))
    else:
        options = replace(asked.options, labels=None) if asked.has_foreign_labels else asked.options
        asked.format.reader(asked.file, found, options)
        if asked.has_foreign_labels:
            recorder.add("foreign-file", str(asked.options.labels), 1, str(asked.labels_look))
            found.classes = ()
        graph = assemble(found, root=root, direction_is_open="direction" in asked.format.options)
    report = recorder.report(
        str(asked.source),
        asked.format.name if format is not None or not asked.is_foreign else "unknown",
        labels=graph.n_labels if graph else 0,
        edges=graph.n_edges if graph else 0,
        roots=len(graph.roots) if graph and graph.directed else 0,
    )
    if strict and graph is None:
        raise DefectsError(_summary(report), report=report)
    kept = set(graph.keys) if graph and found.classes else set()
    return ReadResult(
        graph,
        report,
        None if graph is None else _annotations(graph, found),
        None if found.classes is None else tuple(key for key in found.classes if key in kept),
    )


def _annotations(graph: LabelGraph, found: Collector) -> Annotations:
    return found.annotations.of(graph, names=found.names, definitions=found.definitions, lines=found.labels)


def fingerprint(path: str | os.PathLike[str], **options: Any) -> str:
    """Return a digest of all that determines the result of `read`: source, options, version of the readers.

    The options and errors are those of `read`, but ``strict`` is not an option. The bytes of the source are
    read once, and not parsed.
    """
    return ask(path, **options).fingerprint()


def _summary(report: Report) -> str:
    """Return the message of a `DefectsError`: the first three kinds of errors, each with its first place."""
    errors = report.errors
    parts = []
    for defect in errors[:3]:
        file, line, text = defect.examples[0]
        more = f" and {defect.count - 1} more" if defect.count > 1 else ""
        at = place(printable(file), line)
        parts.append(f"{defect.code} at {at}{more} ({defect.message}; {text}): {defect.remedy}")
    left = len(errors) - 3
    rest = f"; and {counted(left, 'more kind')}, see the report" if left > 0 else ""
    return f"{printable(report.source)}: {'; '.join(parts)}{rest}"
