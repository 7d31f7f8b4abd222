"""The kind `locus`: what observed labels can reach, decided some labels at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ontology.errors import InputError
from workers.kinds.graphresult import shown_result
from workers.kinds.inputs import counted_points, open_graph, read_keys, read_space
from workers.kinds.kind import HEADER_BYTES, Estimate, JobKind, Product, Step, Work
from workers.kinds.parameters import SPACE, Parameter, Parameters

if TYPE_CHECKING:
    from ontology.artifacts import ArtifactStore
    from ontology.geometry import Locus, MetricSpace
    from ontology.graph.results import GraphResult
    from ontology.labelgraph import LabelGraph
    from workers.states import Publication

__all__ = ["LOCUS"]

_PART_FORMAT = "labelgrove/locus-part/1"
_BLOCK = 4096  # labels decided together
_MOST_PARTS = 10_000

_PARAMETERS = (
    *SPACE,
    Parameter("observed", "label keys, in the order of a model's columns", keys=True),
    Parameter("n_observed", "how many these are", filled=True),
    Parameter("method", "exact or pairs", "exact"),
    Parameter("block", "a whole number from 1: labels decided together", _BLOCK),
    Parameter("parts", f"a whole number from 1 to {_MOST_PARTS}: units, by size beside an ontology", 1),
)


def _normalise(given: Mapping[str, Any]) -> dict[str, Any]:
    found = Parameters.of_space("locus", given, _PARAMETERS)
    found.digests("observed")
    found.whole("n_observed", 1)
    found.choice("method", ("exact", "pairs"))
    found.whole("block", 1)
    found.whole("parts", 1, _MOST_PARTS)
    if found["method"] == "pairs" and found["parts"] > 1:
        raise found.wrong("parts", "the method pairs is one unit")
    return found


def _fit(given: Mapping[str, Any], graph: LabelGraph, counts: Mapping[str, int]) -> dict[str, Any]:
    """Count the observed labels, and cut what takes a linear programme a label into parts."""
    found = _normalise({"n_observed": counts.get("observed", 1), **given})
    quick = found["metric"] == "tree" or found["method"] == "pairs"
    if found["metric"] == "auto":
        quick = quick or graph.is_tree or graph.layout == "complete"
    if not quick and "parts" not in given:
        n = counts.get("labels", 1)
        if found["labels"] in ("all", "leaves"):
            n = graph.n_labels if found["labels"] == "all" else int(graph.leaf_mask.sum())
        found["parts"] = min(-(-n // found["block"]), _MOST_PARTS)
    return found


def _plan(parameters: Mapping[str, Any]) -> list[Step]:
    if parameters["parts"] == 1:
        return [Step(parameters)]
    parts = [Step({**parameters, "part": part}) for part in range(parameters["parts"])]
    return [*parts, Step(parameters, stage=1)]


def _execute(work: Work) -> Product:
    from ontology.geometry import GraphSpace, locus, pairwise_locus
    from ontology.results import pack_locus

    graph, space = read_space(work)
    keys, method = read_keys(work.artifacts, work.parameters["observed"]), work.parameters["method"]
    points = counted_points(space, keys, "observed", work.parameters["n_observed"])
    if not isinstance(space, GraphSpace) and work.parameters["parts"] > 1:
        raise InputError(
            f"locus: parts is {work.parameters['parts']}; in a {space.kind} space a locus is one unit: 1"
        )
    work.check()
    if "part" in work.parameters:
        return _part_product(_decided(work, space, points, work.parameters["part"]))
    if method == "pairs":
        found = pairwise_locus(space, keys)
    elif not isinstance(space, GraphSpace):
        found = locus(space, keys)
    elif work.inputs:
        found = _merged(work, space, points)
    else:
        found = _decided(work, space, points, 0)
    return Product(*pack_locus(graph, found, method=method))


def _decided(work: Work, space: MetricSpace, points: NDArray[np.int64], part: int) -> Locus:
    """Decide the blocks of one part.

    Which weights prove a member depends on what is decided in one go, so the blocks are the same however many
    of them make a unit.
    """
    from ontology.geometry import general_locus

    n, block, parts = space.n_labels, work.parameters["block"], work.parameters["parts"]
    starts = range(0, n, block)
    if parts > len(starts):
        raise InputError(
            f"locus: parts is {parts}; {n} labels make {len(starts)} blocks of {block}, at most so many parts"
        )
    distances = space.distances(cols=points)
    decided = []
    for i in range(part * len(starts) // parts, (part + 1) * len(starts) // parts):
        work.check()
        decided.append(general_locus(distances, np.arange(starts[i], min(starts[i] + block, n))))
    return _joined(space, points, decided)


def _joined(space: MetricSpace, points: NDArray[np.int64], decided: Iterable[Any]) -> Locus:
    """Return several loci over disjoint, ascending labels as one."""
    from ontology.geometry import Locus

    parts = list(decided)
    return Locus(
        space,
        points,
        np.concatenate([part.index for part in parts]),
        np.concatenate([part.unique_index for part in parts]),
        "exact",
        list(chain.from_iterable(part.witnesses for part in parts)),
        parts[0].tolerance,
    )


def _part_product(found: Locus) -> Product:
    from ontology.results.loci import pack_witnesses

    arrays = {"index": found.index, "unique_index": found.unique_index, **pack_witnesses(found.witnesses)}
    return Product(arrays, {"format": _PART_FORMAT, "tolerance": repr(float(found.tolerance))})


def _merged(work: Work, space: MetricSpace, points: NDArray[np.int64]) -> Locus:
    from ontology.geometry import GeneralLocus
    from ontology.results.loci import unpack_witnesses

    parts = []
    for digest in work.inputs:
        work.check()
        arrays, metadata = work.artifacts.open_arrays(digest)
        witnesses = unpack_witnesses(arrays, len(points))
        tolerance = float(metadata["tolerance"])
        parts.append(GeneralLocus(arrays["index"], arrays["unique_index"], witnesses, tolerance, {}))
    return _joined(space, points, parts)


def _show(artifacts: ArtifactStore, publication: Publication) -> GraphResult:
    from ontology.graph.results import Links
    from ontology.results import read_locus

    graph = open_graph(artifacts, publication.parameters)
    found = read_locus(artifacts, publication.sha256, graph)
    allowed = found.space.allowed
    members = found.index if allowed is None else allowed[found.index]
    unique = np.isin(found.index, found.unique_index)
    return shown_result(
        publication,
        graph,
        "Locus",
        {"size": len(found), "exact": found.status == "exact"},
        Links("OBSERVES", found.points, {}),
        Links("REACHES", members, {"unique": unique}),
    )


def _estimate(parameters: Mapping[str, Any], n_labels: int, n_edges: int) -> Estimate:
    del n_edges
    units, n_observed = len(_plan(parameters)), parameters["n_observed"]
    written = 1 if units == 1 else 2
    derived = (parameters["metric"], parameters["labels"], parameters["method"]) == ("tree", "all", "exact")
    a_member = 16 if derived else 8 * 5 + 12 * n_observed  # a tree's witnesses are not written
    n_bytes = ((n_labels + 1) * a_member + 8 * n_observed) * written + HEADER_BYTES * units
    return Estimate(units, n_bytes, 1 + n_observed + n_labels)


LOCUS = JobKind(
    name="locus",
    version=1,
    normalise=_normalise,
    plan=_plan,
    execute=_execute,
    show=_show,
    queue="lp",
    parameters=_PARAMETERS,
    fit=_fit,
    estimate=_estimate,
)
"""What observed labels can reach: `ontology.geometry.locus` as a job.

Parameters: those of `workers.kinds.parameters.Parameters.of_space`; ``observed``, an artifact with a JSON
list of keys, and their number ``n_observed``; ``method`` (exact, pairs); ``block``, the labels decided
together, and ``parts``, the units that share the blocks, 1 on trees and complete graphs. The result,
`ontology.results.read_locus`, is the same for any number of parts; another ``block`` may prove the same
members by other weights.
"""
