"""The kinds `cover` and `selection`: which labels to observe, and which one next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from workers.kinds.graphresult import places, shown_result
from workers.kinds.inputs import open_graph, read_amounts, read_keys, read_space
from workers.kinds.kind import HEADER_BYTES, Estimate, JobKind, Product, Step, Work
from workers.kinds.parameters import SPACE, Parameter, Parameters

if TYPE_CHECKING:
    from collections.abc import Callable

    from ontology.artifacts import ArtifactStore
    from ontology.geometry import Cover, MetricSpace
    from ontology.graph.results import GraphResult
    from workers.states import Publication

__all__ = ["COVER", "SELECTION"]

_LISTS = ("required", "forbidden", "candidates")


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
    from ontology.results import pack_cover

    graph, space = read_space(work)
    method, identifying = work.parameters["method"], work.parameters["identifying"]
    work.check()
    found = _cover_finder(method, identifying)(space)
    return Product(*pack_cover(graph, space, found, method=method, identifying=identifying))


def _cover_finder(method: str, identifying: bool) -> Callable[[MetricSpace], Cover]:
    from ontology.geometry import minimum_locus_cover, phylogenetic_cover, small_cover

    if method == "minimum":
        return lambda space: minimum_locus_cover(space, identifying=identifying)
    return phylogenetic_cover if method == "phylogenetic" else small_cover


def _show_cover(artifacts: ArtifactStore, publication: Publication) -> GraphResult:
    from ontology.graph.results import Links
    from ontology.results import read_cover

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
"""Labels to observe so that every label can be reached: `ontology.geometry.minimum_locus_cover` as a job.

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
    Parameter("costs", "a JSON object of decimal strings by label key, or null", None),
    Parameter("observed", "label keys: the ones known already", None, keys=True),
    Parameter("required", "label keys: picked first, in any case", None, keys=True),
    Parameter("forbidden", "label keys: never picked", None, keys=True),
    Parameter("candidates", "label keys: picked among; null for all", None, keys=True),
)


def _normalise_selection(given: Mapping[str, Any]) -> dict[str, Any]:
    found = Parameters.of_space("selection", given, _OF_SELECTION)
    found.digests("observed", "costs", *_LISTS, optional=True)
    found.whole("n", 1, optional=True)
    found.choice("method", ("active", "uniform", "outside"))
    found.whole("seed", 0, 2**63 - 1)
    found.decimal("budget")
    return found


def _execute_selection(work: Work) -> Product:
    from ontology.geometry import select_classes
    from ontology.results import pack_selection

    wanted, artifacts = work.parameters, work.artifacts
    graph, space = read_space(work)
    work.check()
    found = select_classes(
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
    return Product(*pack_selection(graph, found, method=wanted["method"], seed=wanted["seed"]))


def _show_selection(artifacts: ArtifactStore, publication: Publication) -> GraphResult:
    from ontology.graph.results import Links
    from ontology.results import read_selection

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
    picks = parameters["n"] or n_labels
    return Estimate(len(_plan(parameters)), 8 * n_labels + 16 * picks + HEADER_BYTES, 1 + picks)


SELECTION = JobKind(
    name="selection",
    version=1,
    normalise=_normalise_selection,
    plan=_plan,
    execute=_execute_selection,
    show=_show_selection,
    queue="lp",
    parameters=_OF_SELECTION,
    estimate=_estimate_selection,
)
"""Which labels to observe next: `ontology.geometry.select_classes` as a job.

Parameters: those of `workers.kinds.parameters.Parameters.of_space`; ``observed``, ``required``, ``forbidden``
and ``candidates``, each null or an artifact with a JSON list of keys; ``n``, ``method``, ``seed``;
``budget``, null or a decimal string; and ``costs``, null or an artifact with a JSON object of decimal strings
by key. The result is `ontology.results.read_selection`.
"""
