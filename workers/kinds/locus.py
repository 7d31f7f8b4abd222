"""The kind `locus`: what observed labels can reach, decided some labels or some pairs of them at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from math import ceil, comb
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.errors import InputError
from labelgrove.workers.kinds.graphresult import shown_result
from labelgrove.workers.kinds.inputs import counted_points, open_graph, read_keys, read_space
from labelgrove.workers.kinds.kind import (
    HEADER_BYTES,
    OPENING_SECONDS,
    Estimate,
    JobKind,
    Product,
    Step,
    Work,
)
from labelgrove.workers.kinds.parameters import SPACE, Parameter, Parameters, n_allowed

if TYPE_CHECKING:
    from labelgrove.ontology.geometry import Locus, MetricSpace
    from labelgrove.ontology.geometry.loci.pairs import PairHulls
    from labelgrove.ontology.graph.results import GraphResult
    from labelgrove.ontology.labelgraph import LabelGraph
    from labelgrove.ontology.store.artifacts import ArtifactStore
    from labelgrove.workers.ledger.states import Publication

__all__ = ["LOCUS"]

_PART_FORMAT = "labelgrove/locus-part/1"
_BLOCK = 4096  # labels decided together
_MOST_PARTS = 10_000
_ROWS = 16  # observed labels whose pairs are taken between two looks at whether the work is still wanted
_PAIRS_FORMAT = "labelgrove/locus-pairs/1"
_SECONDS_OF_PAIRS = 30  # of a unit, about
_SECONDS_PER_STEP = 2e-9  # of measuring from one observed label across one label or edge of length 1
_SECONDS_PER_PAIR = {False: 3e-9, True: 4e-8}  # and label; where lengths differ, the latter

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
    rows = max(1, found["n_observed"] - 1)
    if found["method"] == "pairs" and found["parts"] > rows:
        rule = f"pairs of {found['n_observed']} observed labels make at most {rows} parts"
        raise found.wrong("parts", rule)
    return found


def _fit(given: Mapping[str, Any], graph: LabelGraph, counts: Mapping[str, int]) -> dict[str, Any]:
    """Count the observed labels, and cut what takes long into parts."""
    found = _normalise({"n_observed": counts.get("observed", 1), **given})
    if "parts" in given:
        return found
    n = n_allowed(found, graph, counts)
    closed_form = found["metric"] == "tree"
    if found["metric"] == "auto":
        closed_form = graph.is_tree or graph.layout == "complete"
    if found["method"] == "pairs":
        seconds = _n_pairs(found) * n * _SECONDS_PER_PAIR[graph.is_weighted]
        most = min(max(1, found["n_observed"] - 1), _MOST_PARTS)
        found["parts"] = min(max(1, ceil(seconds / _SECONDS_OF_PAIRS)), most)
    elif not closed_form:
        found["parts"] = min(-(-n // found["block"]), _MOST_PARTS)
    return found


def _n_pairs(parameters: Mapping[str, Any]) -> int:
    return comb(parameters["n_observed"], 2)


def _plan(parameters: Mapping[str, Any]) -> list[Step]:
    if parameters["parts"] == 1:
        return [Step(parameters)]
    parts = [Step({**parameters, "part": part}) for part in range(parameters["parts"])]
    return [*parts, Step(parameters, stage=1)]


def _execute(work: Work) -> Product:
    from labelgrove.ontology.geometry import GraphSpace, locus
    from labelgrove.ontology.geometry.loci.pairs import locus_of_hulls
    from labelgrove.ontology.results import pack_locus

    graph, space = read_space(work)
    keys, method = read_keys(work.artifacts, work.parameters["observed"]), work.parameters["method"]
    points = counted_points(space, keys, "observed", work.parameters["n_observed"])
    work.check()
    if method == "pairs":
        hulls = _merged_pairs(work, space) if work.inputs else _reached_by_pairs(work, space, points)
        if "part" in work.parameters:
            return _pairs_product(hulls)
        return Product(*pack_locus(graph, locus_of_hulls(space, points, hulls), method=method))
    if not isinstance(space, GraphSpace) and work.parameters["parts"] > 1:
        raise InputError(
            f"locus: parts is {work.parameters['parts']}; in a {space.kind} space a locus is one unit: 1"
        )
    if "part" in work.parameters:
        return _part_product(_decided(work, space, points, work.parameters["part"]))
    if not isinstance(space, GraphSpace):
        found = locus(space, keys)
    else:
        found = _merged(work, space, points) if work.inputs else _decided(work, space, points, 0)
    return Product(*pack_locus(graph, found, method=method))


# ---- every two observed labels -------------------------------------------------------------------------


def _reached_by_pairs(work: Work, space: MetricSpace, points: NDArray[np.int64]) -> PairHulls:
    """Take the pairs of one part, or all."""
    from labelgrove.ontology.geometry.loci.general import is_tolerant
    from labelgrove.ontology.geometry.loci.pairs import hull_members, joined_hulls, shares_of_pairs

    rows = shares_of_pairs(len(points), work.parameters["parts"])[work.parameters.get("part", 0)]
    # all columns in every part: on some graphs they alone decide in which unit distances are whole numbers
    distances = space.distances(cols=points)

    def shares() -> Iterator[PairHulls]:
        for start in range(rows.start, max(rows.stop, rows.start + 1), _ROWS):
            work.check()
            some = range(start, min(start + _ROWS, rows.stop))
            yield hull_members(distances, some, tolerant=is_tolerant(space))

    return joined_hulls(shares())


def _pairs_product(hulls: PairHulls) -> Product:
    index = np.flatnonzero(hulls.member)
    arrays = {
        "index": index,
        "unique": hulls.unique[index],
        "columns": hulls.columns[index],
        "weights": hulls.weights[index],
    }
    return Product(arrays, {"format": _PAIRS_FORMAT})


def _merged_pairs(work: Work, space: MetricSpace) -> PairHulls:
    from labelgrove.ontology.geometry.loci.pairs import PairHulls, joined_hulls

    def share(digest: str) -> PairHulls:
        work.check()
        arrays, _ = work.artifacts.open_arrays(digest)
        index, weights = arrays["index"], arrays["weights"]
        whole = PairHulls(
            np.zeros(space.n_labels, dtype=bool),
            np.zeros(space.n_labels, dtype=bool),
            np.zeros((space.n_labels, 2), dtype=np.int64),
            np.zeros((space.n_labels, 2), dtype=weights.dtype),
        )
        whole.member[index], whole.unique[index] = True, arrays["unique"]
        whole.columns[index], whole.weights[index] = arrays["columns"], weights
        return whole

    return joined_hulls(map(share, work.inputs))


# ---- all of them together ------------------------------------------------------------------------------


def _decided(work: Work, space: MetricSpace, points: NDArray[np.int64], part: int) -> Locus:
    """Decide the blocks of one part.

    Which weights prove a member depends on what is decided in one go, so the blocks are the same however many
    of them make a unit.
    """
    from labelgrove.ontology.geometry.loci.general import general_locus, is_tolerant

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
        some = np.arange(starts[i], min(starts[i] + block, n))
        decided.append(general_locus(distances, some, tolerant=is_tolerant(space)))
    return _joined(space, points, decided)


def _joined(space: MetricSpace, points: NDArray[np.int64], decided: Iterable[Any]) -> Locus:
    """Return several loci over disjoint, ascending labels as one."""
    from labelgrove.ontology.geometry import Locus

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
    from labelgrove.ontology.results.loci import pack_witnesses

    arrays = {"index": found.index, "unique_index": found.unique_index, **pack_witnesses(found.witnesses)}
    return Product(arrays, {"format": _PART_FORMAT, "tolerance": repr(float(found.tolerance))})


def _merged(work: Work, space: MetricSpace, points: NDArray[np.int64]) -> Locus:
    from labelgrove.ontology.geometry.loci.general import GeneralLocus
    from labelgrove.ontology.results.loci import unpack_witnesses

    parts = []
    for digest in work.inputs:
        work.check()
        arrays, metadata = work.artifacts.open_arrays(digest)
        witnesses = unpack_witnesses(arrays, len(points))
        tolerance = float(metadata["tolerance"])
        parts.append(GeneralLocus(arrays["index"], arrays["unique_index"], witnesses, tolerance, {}))
    return _joined(space, points, parts)


def _show(artifacts: ArtifactStore, publication: Publication) -> GraphResult:
    from labelgrove.ontology.graph.results import Links
    from labelgrove.ontology.results import read_locus

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
    units, n_observed, seconds = len(_plan(parameters)), parameters["n_observed"], None
    derived = (parameters["metric"], parameters["labels"], parameters["method"]) == ("tree", "all", "exact")
    a_member = 16 if derived else 8 * 5 + 12 * n_observed  # a tree's witnesses are not written
    in_parts = a_member
    if parameters["method"] == "pairs":
        a_member, in_parts = 8 * 5 + 12 * 2, 41 * (units - 1)  # each part may reach all labels
        opening = (n_labels + n_edges) * (n_observed * _SECONDS_PER_STEP + OPENING_SECONDS)
        seconds = _n_pairs(parameters) * n_labels * _SECONDS_PER_PAIR[False] + units * opening
    a_label = a_member if units == 1 else a_member + in_parts
    n_bytes = (n_labels + 1) * a_label + 8 * n_observed + HEADER_BYTES * units
    return Estimate(units, n_bytes, 1 + n_observed + n_labels, seconds)


LOCUS = JobKind(
    name="locus",
    version=3,
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
together, and ``parts``, the units that share the blocks, 1 on trees and complete graphs, or, with pairs, the
pairs of observed labels. The result, `ontology.results.read_locus`, is the same for any number of parts;
another ``block`` may prove the same members by other weights.
"""
