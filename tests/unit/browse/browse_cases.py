"""Random hierarchies of one and of several parents, and names of their labels."""

from collections.abc import Iterable
from typing import NamedTuple

from hypothesis import strategies as st

from labelgrove.ontology.annotations import Annotations, Description, Name
from labelgrove.ontology.labelgraph import LabelGraph

__all__ = ["NameRow", "annotated", "hierarchies"]

NUMBERS = st.integers(1, 14).map(lambda n: [f"{i:02d}" for i in range(n)])


@st.composite
def hierarchies(
    draw: st.DrawFn,
    keys: st.SearchStrategy[list[str]] = NUMBERS,
    names: st.SearchStrategy[str] | None = None,
) -> LabelGraph:
    """Return a hierarchy: a forest, a tree, or one with several parents for a label.

    The labels have `keys`; a parent comes before its children in them. Some labels have a name drawn from
    `names`, if it is given.
    """
    labels = draw(keys)
    most = draw(st.sampled_from([1, 1, 3]))
    pairs = [
        (labels[c], labels[p])
        for c in range(1, len(labels))
        for p in draw(st.lists(st.integers(0, c - 1), min_size=0, max_size=most, unique=True))
    ]
    lengths = st.sampled_from([1.0, 2.0, 0.5] if draw(st.booleans()) else [1.0])
    return LabelGraph.from_edges(
        pairs,
        weights=[draw(lengths) for _ in pairs],
        ranks=[draw(st.integers(0, 2)) for _ in pairs],
        names={} if names is None else {label: draw(names) for label in labels if draw(st.booleans())},
        labels=labels,
    )


class NameRow(NamedTuple):
    """A name of the label with an index."""

    label: int
    text: str
    kind: str = "exact"
    language: str = ""
    use: int = 0


def annotated(graph: LabelGraph, rows: Iterable[NameRow] = (), deprecated: Iterable[int] = ()) -> Annotations:
    """Return annotations with the names of `rows` and some deprecated labels."""
    names: dict[str, list[Name]] = {}
    for label, *name in rows:
        names.setdefault(graph.keys[label], []).append(Name(*name))
    gone = {graph.keys[label] for label in deprecated}
    described = {
        key: Description(tuple(names.get(key, ())), deprecated=key in gone) for key in gone | {*names}
    }
    return Annotations.of(graph, described)
