"""What the commands on the geometry of an ontology share: its metric space, and the labels that are named."""

from __future__ import annotations

import csv
import functools
import io
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import click

from labelgrove.cli.common import (
    as_csv,
    check_safe,
    name_and_version,
    read_keys,
    safe_option,
    with_hint_on_lines,
    with_workspace,
    write_file,
)
from labelgrove.cli.completion import files, ontologies

if TYPE_CHECKING:
    from labelgrove.ontology.geometry import MetricSpace
    from labelgrove.ontology.labelgraph import LabelGraph
    from labelgrove.ontology.versions.workspace import Workspace

__all__ = [
    "KEYS",
    "StoredSpace",
    "finder",
    "out_option",
    "read_costs",
    "share",
    "with_space",
    "write_rows",
]

P = ParamSpec("P")
R = TypeVar("R")

Find = Callable[[Sequence[str], str], tuple[str, ...]]
"""Finds the keys of labels; the text is what errors call each of them."""

KEYS = "FILE|KEYS"
"""How help calls an option that names labels: a file with one per line, - for stdin, or key,key,..."""

_OPTIONS = (
    click.argument("ontology", shell_complete=ontologies),
    click.option(
        "--metric",
        type=click.Choice(["auto", "tree", "graph"]),
        default="auto",
        show_default=True,
        help="tree: paths over primary parents; graph: shortest paths over all edges; auto: tree where the "
        "hierarchy is one, else graph.",
    ),
    click.option(
        "--labels",
        "allowed",
        default="all",
        show_default=True,
        metavar="all|leaves|FILE|KEYS",
        shell_complete=files("all", "leaves"),
        help="The labels that may be an answer.",
    ),
    click.option(
        "--by",
        type=click.Choice(["auto", "key", "name"]),
        default="auto",
        show_default=True,
        help="Whether labels are given by key or name; a name of several labels is refused with candidates.",
    ),
)


def out_option(command: Callable[..., R]) -> Callable[..., R]:
    """Add the options of `write_rows`, refused before anything is computed where they do not fit."""

    @functools.wraps(command)
    def run(*args: Any, out: Path | None, safe: bool, **kwargs: Any) -> R:
        if out is not None:
            _check_ending(out)
        check_safe(safe, out is not None and out.suffix == ".csv", "name a .csv file with --out")
        return command(*args, out=out, safe=safe, **kwargs)

    option = click.option(
        "--out", type=click.Path(dir_okay=False, path_type=Path), help="File to write: .csv, or .json."
    )
    wrapped: Callable[..., R] = option(safe_option(run))
    return wrapped


@dataclass(frozen=True)
class StoredSpace:
    """The metric space of a version of an ontology."""

    ontology: str
    graph: LabelGraph
    space: MetricSpace
    find: Find

    def keys(self, given: str | None, what: str = "label") -> tuple[str, ...]:
        """Return the keys of the labels that an option names; none at all where it was not given.

        `what` is what errors call each of them.
        """
        return () if given is None else self.find(read_keys(given), what)

    def name(self, key: str) -> str:
        """Return the name of a label, empty where it has none."""
        return self.graph.names[self.graph.keys.index(key)]

    def title(self, key: str) -> str:
        """Return what to call a label in text and pictures: its name, or its key where it has none."""
        return self.name(key) or key

    def named(self, keys: Iterable[str]) -> list[dict[str, str]]:
        """Return keys with their names, as documents hold them."""
        return [{"key": key, "name": self.name(key)} for key in keys]

    def examples(self, keys: Sequence[str], limit: int = 8) -> str:
        """Return some of many labels as text, spread over their order."""
        step = max(1, len(keys) // limit)
        chosen = list(keys)[::step][:limit]
        shown = [f"{key} ({self.title(key)})" if self.title(key) != key else key for key in chosen]
        return ", ".join(shown) + (f", ... ({len(keys):,} in all)" if len(keys) > len(chosen) else "")

    def document(self) -> dict[str, Any]:
        """Return what every document begins with: which ontology, which version, which space."""
        return {
            "ontology": self.ontology,
            "digest": self.graph.digest,
            "metric": self.space.kind,
            "n_labels": self.space.n_labels,
        }


def finder(workspace: Workspace, ontology: str, graph: LabelGraph, by: Any) -> Find:
    """Return what finds the keys of labels that are given by key or name, as `by` says."""
    from labelgrove.adapter import find_labels
    from labelgrove.adapter.columns.labelnames import describe_graph

    definitions = functools.cache(lambda: workspace.definitions(ontology, graph.digest))

    def definition(i: int) -> str:
        found = definitions()
        return "" if found is None else found[i]

    def find(given: Sequence[str], what: str) -> tuple[str, ...]:
        describe = describe_graph(graph, definition)
        with with_hint_on_lines(given):
            found = find_labels(given, graph.keys, graph.names, by=by, describe=describe, what=what)
        return graph.keys.take(found)

    return find


def with_space(command: Callable[Concatenate[StoredSpace, P], R]) -> Callable[..., R]:
    """Add the options that choose a metric space, and pass it as the first argument."""

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
        from labelgrove.ontology.geometry import metric_space

        ontology, version = name_and_version(ontology)
        graph = workspace.label_graph(ontology, version)
        find = finder(workspace, ontology, graph, by)
        labels: Any = allowed if allowed in ("all", "leaves") else find(read_keys(allowed), "label")
        stored = StoredSpace(ontology, graph, metric_space(graph, metric, labels), find)
        return command(stored, *args, **kwargs)

    wrapped: Callable[..., R] = with_workspace(run)
    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped


def share(part: int, whole: int) -> str:
    """Return a number of labels with its share.

    >>> share(1234, 82115)
    '1,234 of 82,115 labels (1.50 %)'
    """
    return f"{part:,} of {whole:,} labels ({100 * part / whole:.2f} %)"


def write_rows(
    out: Path,
    document: dict[str, Any],
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    safe: bool,
) -> None:
    """Write what ``--out`` asks for: the document to a .json file, the rows to a .csv file."""
    _check_ending(out)
    if out.suffix == ".json":
        write_file(out, (json.dumps(document, ensure_ascii=False, indent=2) + "\n").encode(), "the document")
    else:
        listed = list(rows)
        write_file(out, (as_csv(columns, listed, safe=safe) + "\n").encode(), f"{len(listed):,} rows")


def _check_ending(out: Path) -> None:
    from labelgrove.ontology.errors import InputError

    if out.suffix not in (".csv", ".json"):
        raise InputError(f"--out {out}: name a .csv or a .json file")


def read_costs(stored: StoredSpace, source: str | None) -> dict[str, float] | None:
    """Read what observing a label costs: a CSV file with a header and the columns label and cost."""
    from labelgrove.adapter.outputs.outputfiles import is_number
    from labelgrove.ontology.errors import InputError, NotFoundError

    if source is None:
        return None
    try:
        text = Path(source).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise NotFoundError(f"--costs {source}: there is no such file; check the path") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"--costs {source}: cannot be read: {error}") from error
    rows = list(csv.reader(io.StringIO(text)))
    if rows and is_number(rows[0][-1]):
        raise InputError(
            f"{source}:1: {','.join(rows[0])!r} is not a header; begin with a line such as label,cost"
        )
    labels, costs = [], []
    for line, row in enumerate(rows[1:], start=2):
        try:
            label, cost = row
            costs.append(float(cost))
        except ValueError:
            raise InputError(
                f"{source}:{line}: {','.join(row)!r}; after the header, a line is a label and its cost"
            ) from None
        labels.append(label)
    return dict(zip(stored.find(labels, "label"), costs, strict=True))
