"""The kinds `cover` and `selection`: which labels to observe, and which one next."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import ceil
from typing import TYPE_CHECKING, Any

from labelgrove.workers.kinds.graphresult import places, shown_result
from labelgrove.workers.kinds.inputs import open_graph, read_amounts, read_keys, read_space
from labelgrove.workers.kinds.kind import HEADER_BYTES, Estimate, JobKind, Product, Step, Work
from labelgrove.workers.kinds.parameters import SPACE, Parameter, Parameters, n_allowed

if TYPE_CHECKING:
    from labelgrove.ontology.geometry.selections.rounds import Standing
    from labelgrove.ontology.graph.results import GraphResult
    from labelgrove.ontology.labelgraph import LabelGraph
    from labelgrove.ontology.store.artifacts import ArtifactStore
    from labelgrove.workers.ledger.states import Publication

__all__ = ["COVER", "SELECTION"]

_LISTS = ("required", "forbidden", "candidates")

_PART_FORMAT = "labelgrove/selection-part/1"
_MOST_PARTS = 1000
_SECONDS_OF_PART = 30  # about
_MEASURED_PER_PICK = 16  # candidates, of a draw
_SECONDS_PER_PICK = 8e-6  # and label
_SECONDS_PER_OBSERVED = {False: 5e-7, True: 2e-7}  # and pick and label; on trees the latter


def _plan(parameters: Mapping[str, Any]) -> list[Step]:
    return [Step(parameters)]


# ---- cover ---------------------------------------------------------------------------------------------


_OF_COVER = (
    *SPACE,
    Parameter("method", "minimum, phylogenetic or small", "minimum"),
    Parameter("identifying", "true or false: whether every label must be reached uniquely", False),
)


def _normalise_cover(given: Mapping[str, Any]) -> dict[str, Any]:
    found = Parameters.of_space("cover", given, _OF_COVER)
    found.choice("method", ("minimum", "phylogenetic", "small"))
    found.flag("identifying")
    if found["identifying"] and found["method"] != "minimum":
        raise found.wrong("identifying", f"goes with the method minimum, not with {found['method']}")
    return found


def _execute_cover(work: Work) -> Product:
    from labelgrove.ontology.geometry import locus_cover
    from labelgrove.ontology.results import pack_cover

    graph, space = read_space(work)
    method, identifying = work.parameters["method"], work.parameters["identifying"]
    work.check()
    found = locus_cover(space, method=method, identifying=identifying)
    return Product(*pack_cover(graph, space, found, method=method, identifying=identifying))


def _show_cover(artifacts: ArtifactStore, publication: Publication) -> GraphResult:
    from labelgrove.ontology.graph.results import Links
    from labelgrove.ontology.results import read_cover

    asked = publication.parameters
    graph = open_graph(artifacts, asked)
    index = graph.keys.indices(read_cover(artifacts, publication.sha256, graph).keys)
    return shown_result(
        publication,
        graph,
        "Cover",
        {"kind": "identifying" if asked["identifying"] else asked["method"], "size": len(index)},
        Links("INCLUDES", index, {"rank": places(index)}),
    )


def _estimate_cover(parameters: Mapping[str, Any], n_labels: int, n_edges: int) -> Estimate:
    del n_edges
    return Estimate(len(_plan(parameters)), 16 * n_labels + HEADER_BYTES, 1 + n_labels)


COVER = JobKind(
    name="cover",
    version=1,
    normalise=_normalise_cover,
    plan=_plan,
    execute=_execute_cover,
    show=_show_cover,
    queue="lp",
    parameters=_OF_COVER,
    estimate=_estimate_cover,
)
"""Labels to observe so that every label can be reached: `ontology.geometry.locus_cover` as a job.

Parameters: those of `workers.kinds.parameters.Parameters.of_space`, ``method`` (minimum, phylogenetic, small)
and ``identifying``. The result is `ontology.results.read_cover`.
"""


# ---- selection -----------------------------------------------------------------------------------------


_OF_SELECTION = (
    *SPACE,
    Parameter("n", "a whole number from 1: how many to pick; null for all there are", None),
    Parameter("method", "active, uniform or outside", "active"),
    Parameter("seed", "a whole number from 0", 0),
    Parameter("budget", "a decimal number of 0 or more, or null", None),
    Parameter("costs", "a JSON object of decimal strings by label key, or null", None, amounts=True),
    Parameter("observed", "label keys: the ones known already", None, keys=True),
    Parameter("required", "label keys: picked first, in any case", None, keys=True),
    Parameter("forbidden", "label keys: never picked", None, keys=True),
    Parameter("candidates", "label keys: picked among; null for all", None, keys=True),
    Parameter("parts", f"a whole number from 1 to {_MOST_PARTS}: units, by size beside an ontology", 1),
)


def _normalise_selection(given: Mapping[str, Any]) -> dict[str, Any]:
    found = Parameters.of_space("selection", given, _OF_SELECTION)
    found.digests("observed", "costs", *_LISTS, optional=True)
    found.whole("n", 1, optional=True)
    found.choice("method", ("active", "uniform", "outside"))
    found.whole("seed", 0, 2**63 - 1)
    found.decimal("budget")
    found.whole("parts", 1, _MOST_PARTS)
    if found["method"] != "active" and found["parts"] > 1:
        raise found.wrong("parts", f"the method {found['method']} is one unit")
    if found["n"] is not None and found["parts"] > found["n"]:
        raise found.wrong("parts", f"{found['n']} picks make at most so many parts")
    return found


def _fit_selection(given: Mapping[str, Any], graph: LabelGraph, counts: Mapping[str, int]) -> dict[str, Any]:
    """Cut what measures loci for every pick into parts; where the whole order is found at once, nothing."""
    found = _normalise_selection(given)
    on_tree = found["metric"] == "tree" or (found["metric"] == "auto" and graph.is_tree)
    complete = found["metric"] == "auto" and graph.layout == "complete"
    at_once = (on_tree or complete) and found["labels"] == "all"
    if "parts" in given or at_once or found["method"] != "active":
        return found
    n_labels = n_allowed(found, graph, counts)
    picks = found["n"] or counts.get("candidates", n_labels) + counts.get("required", 0)
    n_observed = counts.get("observed", 0) + picks // 2  # on the way, on average
    seconds = picks * n_labels * (_SECONDS_PER_PICK + n_observed * _SECONDS_PER_OBSERVED[on_tree])
    if not on_tree:  # bounds are weak there, and every candidate that is named may be measured
        seconds *= max(1.0, counts.get("candidates", 0) / _MEASURED_PER_PICK)
    found["parts"] = min(max(1, ceil(seconds / _SECONDS_OF_PART)), picks, _MOST_PARTS)
    return found


def _plan_selection(parameters: Mapping[str, Any]) -> list[Step]:
    """Return a chain of steps, each of which goes on from the picks of the one before."""
    last = parameters["parts"] - 1
    return [*(Step({**parameters, "part": part}, part) for part in range(last)), Step(parameters, last)]


def _execute_selection(work: Work) -> Product:
    from labelgrove.ontology.geometry.selections.request import checked_request
    from labelgrove.ontology.geometry.selections.rounds import SelectionRun
    from labelgrove.ontology.geometry.selections.selection import selection_of
    from labelgrove.ontology.results import pack_selection

    wanted, artifacts = work.parameters, work.artifacts
    standing = _read_standing(work)
    if standing is not None and standing.upper_bound is not None and "part" in wanted:
        return _standing_product(standing)  # it has ended; another hundred parts may have to say so
    graph, space = read_space(work)
    request = checked_request(
        space,
        read_keys(artifacts, wanted["observed"]),
        wanted["n"],
        costs=read_amounts(artifacts, wanted["costs"]),
        budget=None if wanted["budget"] is None else float(wanted["budget"]),
        required=read_keys(artifacts, wanted["required"]),
        forbidden=read_keys(artifacts, wanted["forbidden"]),
        candidates=None if wanted["candidates"] is None else read_keys(artifacts, wanted["candidates"]),
        method=wanted["method"],
        seed=wanted["seed"],
    )
    work.check()
    run = SelectionRun(request, standing)
    until = (wanted.get("part", 0) + 1) * request.most // wanted["parts"]
    while not run.ended and (run.n_picks < until or "part" not in wanted):
        work.check()
        run.go_on(1)
    if "part" in wanted:
        return _standing_product(run.standing)
    found = selection_of(run)
    return Product(*pack_selection(graph, found, method=wanted["method"], seed=wanted["seed"]))


def _standing_product(standing: Standing) -> Product:
    arrays = {"index": standing.index, "gains": standing.gains, "members": standing.members}
    metadata = {
        "format": _PART_FORMAT,
        "size_before": str(standing.size_before),
        "left": repr(float(standing.left)),
        "draw": json.dumps(standing.draw, sort_keys=True),
        "upper_bound": json.dumps(standing.upper_bound),
    }
    return Product(arrays, metadata)


def _read_standing(work: Work) -> Standing | None:
    """Return where the part before this one stopped; None for the first."""
    from labelgrove.ontology.geometry.selections.rounds import Standing

    for digest in work.inputs:
        arrays, metadata = work.artifacts.open_arrays(digest)
        return Standing(
            arrays["index"],
            arrays["gains"],
            arrays["members"],
            size_before=int(metadata["size_before"]),
            left=float(metadata["left"]),
            draw=json.loads(metadata["draw"]),
            upper_bound=json.loads(metadata["upper_bound"]),
        )
    return None


def _show_selection(artifacts: ArtifactStore, publication: Publication) -> GraphResult:
    from labelgrove.ontology.graph.results import Links
    from labelgrove.ontology.results import read_selection

    graph = open_graph(artifacts, publication.parameters)
    found = read_selection(artifacts, publication.sha256, graph)
    return shown_result(
        publication,
        graph,
        "Selection",
        {"objective": publication.parameters["method"]},
        Links("PICKS", found.index, {"round": places(found.index), "gain": found.gains}),
    )


def _estimate_selection(parameters: Mapping[str, Any], n_labels: int, n_edges: int) -> Estimate:
    del n_edges
    units, picks = parameters["parts"], parameters["n"] or n_labels
    n_bytes = units * (8 * n_labels + 16 * picks + HEADER_BYTES)
    return Estimate(units, n_bytes, 1 + picks)


SELECTION = JobKind(
    name="selection",
    version=2,
    normalise=_normalise_selection,
    plan=_plan_selection,
    execute=_execute_selection,
    show=_show_selection,
    queue="lp",
    parameters=_OF_SELECTION,
    fit=_fit_selection,
    estimate=_estimate_selection,
)
"""Which labels to observe next: `ontology.geometry.select_classes` as a job.

Parameters: those of `workers.kinds.parameters.Parameters.of_space`; ``observed``, ``required``, ``forbidden``
and ``candidates``, each null or an artifact with a JSON list of keys; ``n``, ``method``, ``seed``;
``budget``, null or a decimal string; ``costs``, null or an artifact with a JSON object of decimal strings by
key; and ``parts``, the units, each of which goes on from the picks of the one before. The result,
`ontology.results.read_selection`, is the same for any number of parts.
"""
