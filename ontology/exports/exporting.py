"""Write a label graph and its annotations in any of the formats, and say what a format cannot hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from labelgrove.ontology.annotations import Annotations
from labelgrove.ontology.errors import InputError
from labelgrove.ontology.exports.branch import branch_below
from labelgrove.ontology.exports.edgetable import EDGES, edge_lines
from labelgrove.ontology.exports.graphmlfile import GRAPHML, graphml_lines
from labelgrove.ontology.exports.holding import Holds, Losses
from labelgrove.ontology.exports.indented import OUTLINE, outline_lines
from labelgrove.ontology.exports.jsondocument import json_lines
from labelgrove.ontology.exports.labeltable import RECORDS, record_lines, with_cells_that_fit
from labelgrove.ontology.exports.oboterms import OBO, obo_lines
from labelgrove.ontology.exports.subjects import Content, Subject
from labelgrove.ontology.exports.turtle import SKOS, skos_in, skos_lines, with_one_name
from labelgrove.ontology.labelgraph import LabelGraph

__all__ = ["EXPORT_FORMATS", "Export", "ExportFormat", "export_graph"]


@dataclass(frozen=True)
class ExportFormat:
    """A format to export in.

    Attributes
    ----------
    name : str
        The name, as in ``--format NAME``.
    title : str
        Description in one line.
    ending : str
        Ending of the names of such files; empty if other files have it too.
    lines : callable
        Takes the content; returns the text in parts. Raises `InputError` at once, not while the text is made,
        if the format cannot hold the structure of the graph.
    holds : Holds or None
        What it can hold; None if it holds everything.
    refining : callable or None
        Takes the content; returns what further reduces, or refuses, a subject that `holds` has reduced.
    delimiter : str or None
        For a table, what separates its cells, as in `ontology.readers.text.cells`.
    """

    name: str
    title: str
    ending: str
    lines: Callable[[Content], Iterator[str]]
    holds: Holds | None
    refining: Callable[[Content], Callable[[Subject, Losses], Subject]] | None = None
    delimiter: str | None = None


EXPORT_FORMATS = {
    f.name: f
    for f in (
        ExportFormat("json", "one JSON document with everything", ".json", json_lines, None),
        ExportFormat(
            "records",
            "table of labels, separated by commas",
            ".csv",
            record_lines,
            RECORDS,
            with_cells_that_fit,
            delimiter="comma",
        ),
        ExportFormat(
            "edges", "table of edges, separated by tabs", ".tsv", edge_lines, EDGES, delimiter="tab"
        ),
        ExportFormat("skos", "SKOS in Turtle", ".ttl", skos_lines, SKOS, with_one_name),
        ExportFormat("obo", "OBO 1.4", ".obo", obo_lines, OBO),
        ExportFormat("graphml", "GraphML", ".graphml", graphml_lines, GRAPHML),
        ExportFormat("outline", "outline of a tree, indented by blanks", "", outline_lines, OUTLINE),
    )
}
"""Every format by its name; the first one holds everything."""


@dataclass(frozen=True)
class Export:
    """An ontology as text.

    Attributes
    ----------
    format : ExportFormat
    left_out : tuple of str
        What is not in the text, one message for each kind.

    Notes
    -----
    Iterating over it makes the text in parts, so that a large ontology is never one string in memory;
    ``str(export)`` is all of it.
    """

    format: ExportFormat
    left_out: tuple[str, ...]
    _content: Content

    def __iter__(self) -> Iterator[str]:
        return self.format.lines(self._content)

    def __str__(self) -> str:
        return "".join(self)


def export_graph(
    graph: LabelGraph,
    annotations: Annotations | None = None,
    *,
    name: str = "",
    format: str = "json",
    under: str | None = None,
    leave_out: bool = False,
    namespace: str | None = None,
) -> Export:
    r"""Return a label graph and its annotations as text.

    Parameters
    ----------
    graph : LabelGraph
        The graph to write.
    annotations : Annotations, optional
        The annotations of its labels, and of retired keys.
    name : str, optional
        Name of the ontology, for formats that state it.
    format : str, default="json"
        A name in `EXPORT_FORMATS`.
    under : str, optional
        Key of a label: only the branch of this label is written, as `branch_below` cuts it out.
    leave_out : bool, default=False
        Whether to leave out what the format cannot hold, rather than to refuse the export.
        `Export.left_out` lists it.
    namespace : str, optional
        SKOS: the start of the IRIs of keys that are not IRIs. By default it is one whose IRIs are read back
        as the keys; IRIs in another namespace are read back as they are.

    Raises
    ------
    InputError
        For another format or namespace; for content that the format cannot hold, if `leave_out` is False;
        and, whatever `leave_out` is, for a key or a structure that it cannot hold, such as undirected edges.
        All content is checked before the first line is written.
    UnknownLabelError
        If `under` is not a label.

    Examples
    --------
    >>> graph = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree")])
    >>> str(export_graph(graph, format="edges"))
    'child\tparent\nelm\ttree\noak\ttree\n'
    """
    if format not in EXPORT_FORMATS:
        raise InputError(f"format: {format!r} is unknown; use one of: {', '.join(EXPORT_FORMATS)}")
    chosen = EXPORT_FORMATS[format]
    if namespace is not None:
        if format != "skos":
            raise InputError(
                f"namespace: the format {format!r} does not have this option; omit it, or use skos"
            )
        lines = partial(skos_lines, namespace=namespace)
        chosen = replace(chosen, holds=skos_in(namespace), lines=lines)
    cut: tuple[str, ...] = ()
    if under is not None:
        branch = branch_below(graph, annotations, under)
        graph, annotations, cut = branch.graph, branch.annotations, branch.left_out
    content = Content(name, graph, annotations)
    if chosen.holds is None:
        return Export(chosen, cut, content)
    fit = _fitting(chosen, chosen.holds, content)
    losses = Losses()
    for subject in content:
        fit(subject, losses)
    if losses.listed() and not leave_out:
        raise InputError(
            f"{format}: the format cannot hold {'; '.join(losses.listed())}; export as json, or leave these "
            "out with leave_out=True (grove: --leave-out)"
        )
    held = replace(content, fit=lambda subject: fit(subject, Losses()))
    chosen.lines(held)  # refuses a structure that does not fit, before the first line
    return Export(chosen, cut + losses.listed(), held)


def _fitting(
    chosen: ExportFormat, holds: Holds, content: Content
) -> Callable[[Subject, Losses], Subject | None]:
    """Return what reduces a subject to what the format holds of it."""
    if chosen.refining is None:
        return holds.fit
    refine = chosen.refining(replace(content, fit=lambda subject: holds.fit(subject, Losses())))

    def fit(subject: Subject, losses: Losses) -> Subject | None:
        held = holds.fit(subject, losses)
        return None if held is None else refine(held, losses)

    return fit
