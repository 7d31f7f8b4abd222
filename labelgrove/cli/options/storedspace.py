"""Provide the options that choose the metric space of a stored ontology."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import click

from labelgrove.cli.options.completers import files, ontologies
from labelgrove.cli.options.groups import option_group
from labelgrove.cli.options.labels import Find, finder, read_keys
from labelgrove.cli.options.workspace import name_and_version, with_workspace
from labelgrove.cli.waiting.answering import answer

if TYPE_CHECKING:
    from labelgrove.ontology.geometry import MetricSpace
    from labelgrove.ontology.labelgraph import LabelGraph
    from labelgrove.ontology.versions.workspace import Workspace

__all__ = ["StoredSpace", "by_option", "labels_option", "metric_option", "with_space"]

P = ParamSpec("P")

R = TypeVar("R")

metric_option = click.option(
    "--metric",
    type=click.Choice(["auto", "tree", "graph"]),
    default="auto",
    show_default=True,
    help="tree: lengths of paths over primary parents; graph: lengths of shortest paths over all edges; "
    "auto: tree if the hierarchy is a tree, else graph.",
)

labels_option = click.option(
    "--labels",
    "allowed",
    default="all",
    show_default=True,
    metavar="all|leaves|FILE|KEYS",
    shell_complete=files("all", "leaves"),
    help="The labels that may be an answer.",
)

by_option = click.option(
    "--by",
    type=click.Choice(["auto", "key", "name"]),
    default="auto",
    show_default=True,
    help="Whether labels are given by key or by name. A name that several labels share is an error; "
    "the message lists their keys.",
)

_space_options = option_group(
    click.argument("ontology", shell_complete=ontologies), metric_option, labels_option, by_option
)


@dataclass(frozen=True)
class StoredSpace:
    """The metric space of one version of an ontology.

    Attributes
    ----------
    workspace : Workspace
        The workspace that stores the ontology, and that runs jobs about it.
    ontology : str
        The name of the ontology.
    graph : LabelGraph
        The label graph of the version.
    metric : {"auto", "tree", "graph"}
        How the distances between labels are measured.
    labels : {"all", "leaves"} or tuple of str
        The labels that may be an answer.
    space : MetricSpace
        The space of `graph`, `metric` and `labels`.
    find : callable
        The function that finds the keys of labels that are given on the command line.
    """

    workspace: Workspace
    ontology: str
    graph: LabelGraph
    metric: Any
    labels: Any
    space: MetricSpace
    find: Find

    @classmethod
    def open(cls, workspace: Workspace, ontology: str, metric: Any, allowed: str, by: Any) -> StoredSpace:
        """Return the space that the options describe; `ontology` may be ``NAME@VERSION``."""
        from labelgrove.ontology.geometry import metric_space
        from labelgrove.workers.kinds.inputs import open_version

        name, version = name_and_version(ontology)
        graph = open_version(workspace.artifacts, workspace.catalog.version(name, version))
        find = finder(workspace, name, graph, by)
        labels = allowed if allowed in ("all", "leaves") else find(read_keys(allowed), "label")
        return cls(workspace, name, graph, metric, labels, metric_space(graph, metric, labels), find)

    def answer(self, title: str, kind: str, options: Mapping[str, Any]) -> str:
        """Return the digest of the result of a job on this space.

        `options` contains the parameters of the job, except those that describe the space: ontology, metric
        and labels. The other arguments and the errors are those of `cli.waiting.answering.answer`.
        """
        version = f"{self.ontology}@{self.graph.digest}"
        space = {"ontology": version, "metric": self.metric, "labels": self.labels}
        return answer(self.workspace, title, kind, {**space, **options})

    def keys(self, given: str | None, what: str = "label") -> tuple[str, ...]:
        """Return the keys of the labels that the value of an option names; none if the option was not given.

        `what` is the word for such a label in error messages.
        """
        return () if given is None else self.find(read_keys(given), what)

    def name(self, key: str) -> str:
        """Return the name of a label, or an empty text if it has none."""
        return self.graph.names[self.graph.keys.index(key)]

    def title(self, key: str) -> str:
        """Return the text for a label in sentences and pictures: its name, or its key if it has no name."""
        return self.name(key) or key

    def named(self, keys: Iterable[str]) -> list[dict[str, str]]:
        """Return a list of dictionaries for JSON: one for each key, with the entries ``key`` and ``name``."""
        listed = list(keys)
        names = self.graph.names.take(self.graph.keys.indices(listed))
        return [{"key": key, "name": name} for key, name in zip(listed, names, strict=True)]

    def examples(self, keys: Sequence[str], limit: int = 8) -> str:
        """Return labels as text: all of them, or `limit` of them and the number of all.

        If there are more than `limit` labels, those in the text are taken at equal steps from the first.
        """
        step = max(1, len(keys) // limit)
        chosen = list(keys)[::step][:limit]
        shown = ", ".join(f"{key} ({self.title(key)})" if self.title(key) != key else key for key in chosen)
        rest = f", ... ({len(keys):,} in all; --out FILE writes them)"
        return f"for example {shown}{rest}" if len(keys) > len(chosen) else shown

    def document(self) -> dict[str, Any]:
        """Return the entries that begin the JSON document of each command: ontology, version and space."""
        return {
            "ontology": self.ontology,
            "digest": self.graph.digest,
            "metric": self.space.kind,
            "n_labels": self.space.n_labels,
        }


def with_space(command: Callable[Concatenate[StoredSpace, P], R]) -> Callable[..., R]:
    """Add the options that choose a metric space, and pass the space to the command as first argument."""

    @functools.wraps(command)
    def run(
        workspace: Workspace,
        ontology: str,
        metric: Any,
        allowed: str,
        by: Any,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> R:
        stored = StoredSpace.open(workspace, ontology, metric, allowed, by)
        return command(stored, *args, **kwargs)

    return _space_options(with_workspace(run))
