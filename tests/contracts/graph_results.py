"""Results of jobs, made up for the tests of the graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from labelgrove.ontology.geometry import summarize
from labelgrove.ontology.graph.results import GraphResult, Links, Supernodes
from labelgrove.ontology.graph.resultschema import result_schema
from labelgrove.ontology.labelgraph import LabelGraph

FIGURES = [name for name, kind in result_schema().properties["Evaluation"].items() if kind is float]


def digest_of(number: int) -> str:
    return f"{number:064x}"[::-1]


def summary_of(graph: LabelGraph, number: int, target: int, seed: int = 0) -> GraphResult:
    found = summarize(graph, target, seed=seed)
    return GraphResult(
        job=digest_of(number),
        kind="summary",
        graph=graph,
        label="Summary",
        id=digest_of(100 + number),
        properties={"target": target, "size": found.n_supernodes, "largest_share": found.largest_share},
        supernodes=Supernodes(
            found.sizes, found.assignment.astype(np.int64), found.edges.astype(np.int64), found.weights
        ),
    )


def one_result_of_each_label(graph: LabelGraph) -> list[GraphResult]:
    """Return one result for each label of result nodes."""
    rng = np.random.default_rng(5)
    n = graph.n_labels
    some, more = rng.permutation(n)[: n // 2], rng.permutation(n)[: n - 1]
    properties: dict[str, dict[str, Any]] = {
        "Locus": {"size": len(more), "exact": True},
        "Cover": {"kind": "minimum", "size": len(some)},
        "Selection": {"objective": "locus"},
        "Distances": {"metric": "tree", "n_labels": n, "n_columns": 3},
        "Bundle": {"metric": "tree", "n_labels": n, "n_observed": 3},
        "Evaluation": {"model": "resnet50", "n_samples": 30, "verdict": "use it"}
        | {name: float(i) for i, name in enumerate(FIGURES)},
    }
    links = {
        "Locus": (
            Links("OBSERVES", some, {}),
            Links("REACHES", more, {"unique": rng.integers(0, 2, len(more)).astype(bool)}),
        ),
        "Cover": (Links("INCLUDES", some, {"rank": np.arange(len(some))}),),
        "Selection": (
            Links(
                "PICKS",
                some,
                {"round": np.arange(len(some)) // 2, "gain": rng.integers(0, 99, len(some)).astype(np.int32)},
            ),
        ),
    }
    found = [
        GraphResult(
            job=digest_of(i),
            kind=label.lower(),
            graph=graph,
            label=label,
            id=digest_of(50 + i),
            properties=properties[label],
            links=links.get(label, ()),
            created="2031-02-03T04:05:06+00:00" if i % 2 else None,
        )
        for i, label in enumerate(properties)
    ]
    return [*found, summary_of(graph, len(found), target=4)]
