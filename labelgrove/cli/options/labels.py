"""Read labels from the command line: from a file, stdin or a comma-separated list, by key or by name."""

from __future__ import annotations

import errno
import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labelgrove.ontology.labelgraph import LabelGraph
    from labelgrove.ontology.versions.workspace import Workspace

__all__ = ["KEYS", "Find", "LabelLines", "finder", "read_keys", "with_hint_on_lines"]

_NO_SUCH_NAME = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG)


class LabelLines(list[str]):
    """A list of labels that came from a file with one label per line, not from the command line itself."""


def read_keys(source: str) -> list[str]:
    """Return the label keys in a file with one key per line (``-`` for stdin) or in a comma-separated list.

    Keys from a file are returned as `LabelLines`.
    """
    from labelgrove.adapter.plainfile import decoded
    from labelgrove.ontology.errors import InputError, no_such_file

    in_words = False
    if source == "-":
        lines = sys.stdin.read().splitlines()
    else:
        try:
            with open(source, "rb") as file:  # also a pipe, as in <(command)
                lines = decoded(file).splitlines()
        except (OSError, ValueError) as error:
            if not isinstance(error, OSError) or error.errno not in _NO_SUCH_NAME:
                raise InputError(f"cannot read label keys from {source!r}: {error}") from error
            if "," not in source and ("/" in source or "." in source):
                raise no_such_file(source) from None
            lines, in_words = source.split(","), True
    keys = [k.strip() for k in lines if k.strip() and not k.startswith("#")]
    if not keys:
        raise InputError(f"{source!r} contains no label; give a file with one key per line, or key,key,...")
    return keys if in_words else LabelLines(keys)


@contextmanager
def with_hint_on_lines(given: object) -> Iterator[None]:
    """If the ``with`` block raises a `BindingError`, add a hint about the probable mistake in the file.

    The mistake may be a header, or several labels in one line. `given` contains the labels that the user
    gave. A hint is added only if they came from a file (`LabelLines`).
    """
    from labelgrove.adapter.columns.labelnames import header_hint
    from labelgrove.ontology.errors import BindingError

    try:
        yield
    except BindingError as error:
        hint, unknown = "", list(error.unknown)
        if isinstance(given, LabelLines) and unknown == given and all("," in line for line in unknown):
            hint = f"one label per line; {'this line has' if len(given) == 1 else 'these lines have'} commas"
        elif isinstance(given, LabelLines) and unknown == given[:1]:
            hint = header_hint(unknown[0])
        if not hint:
            raise
        raise BindingError(f"{error}\n{hint}", unknown) from None


Find = Callable[[Sequence[str], str], tuple[str, ...]]
"""A function that finds the keys of labels; its second argument is what error messages call a label."""

KEYS = "FILE|KEYS"
"""The metavar of options that name labels: a file with one label per line, - for stdin, or key,key,..."""


def finder(workspace: Workspace, ontology: str, graph: LabelGraph, by: Any) -> Find:
    """Return a function that turns labels into keys; `by` says whether labels are given by key or by name.

    A text that is neither key nor name means the label that has it as a synonym or as a former key, letter by
    letter. The label index is opened only for such a text.
    """
    from labelgrove.adapter import find_labels
    from labelgrove.adapter.columns.labelnames import describe_graph

    definition = workspace.definition_of(ontology, graph.digest)
    index = functools.cache(lambda: workspace.label_index(ontology, graph.digest))

    def synonyms(text: str) -> Sequence[int]:
        return index().search.named(text, folded=False)

    def find(given: Sequence[str], what: str) -> tuple[str, ...]:
        describe = describe_graph(graph, definition)
        with with_hint_on_lines(given):
            found = find_labels(
                given, graph.keys, graph.names, by=by, describe=describe, synonyms=synonyms, what=what
            )
        return graph.keys.take(found)

    return find
