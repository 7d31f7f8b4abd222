"""Name labels for people."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from labelgrove.ontology.labelgraph import LabelGraph

__all__ = ["names_with_keys"]


def names_with_keys(graph: LabelGraph) -> Callable[[str], str]:
    """Return a function that turns the key of a label into its name with the key, or one if both are equal.

    >>> from labelgrove.ontology.labelgraph import LabelGraph
    >>> named = names_with_keys(LabelGraph.from_edges([("oak", "tree")], names={"oak": "Oak"}))
    >>> named("oak"), named("tree")
    ('Oak (oak)', 'tree')
    """

    def named(key: str) -> str:
        name = graph.names[graph.keys.index(key)]
        return key if name == key else f"{name} ({key})"

    return named
