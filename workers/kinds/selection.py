"""The kind `selection`: choose labels to observe next, a few picks at a time."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from labelgrove.workers.kinds.describing import labels_table, named_labels, places, version_fields
from labelgrove.workers.kinds.inputs import read_amounts, read_keys, read_space
from labelgrove.workers.kinds.kind import (
    HEADER_BYTES,
    Description,
    Estimate,
    JobKind,
    JobResult,
    Product,
    Step,
    Subject,
    Work,
)
from labelgrove.workers.kinds.parameters import SPACE, Parameter, Parameters

if TYPE_CHECKING:
    from labelgrove.ontology.geometry import Selection
    from labelgrove.ontology.geometry.selections.rounds import Standing
    from labelgrove.ontology.graph.results import GraphResult
    from labelgrove.ontology.labelgraph import LabelGraph
    from labelgrove.ontology.results.layout import Packed
    from labelgrove.ontology.store.artifacts import ArtifactStore
    from labelgrove.ontology.versions.workspace import Workspace

__all__ = ["SELECTION", "pack_selection", "read_selection"]

_FORMAT = "labelgrove/selection/1"
_PART_FORMAT = "labelgrove/selection-part/1"
_MOST_PARTS = 1000
_SECONDS_OF_PART = 30  # about
_MEASURED_PER_PICK = 16  # candidates of a draw
_SECONDS_PER_PICK = 8e-6  # per label too
_SECONDS_PER_OBSERVED = {False: 5e-7, True: 2e-7}  # per pick and label too; the second on trees

_PARAMETERS = (
    *SPACE,
    Parameter(
        "n",
        "a whole number, 1 or more: number of labels to pick; null: pick until no further label would "
        "add any label to the locus, but pick all labels if method is uniform",
        None,
    ),
    Parameter("method", "active, uniform or outside", "active"),
    Parameter("seed", "a whole number, 0 or more: seed of the draws", 0),
    Parameter("budget", "a decimal number of 0 or more: the largest total cost of all picks; or null", None),
    Parameter(
        "costs",
        "a JSON object with the cost of each label key, as a decimal string; or null",
        None,
        amounts=True,
    ),
    Parameter("observed", "keys of the labels that are observed already", None, keys=True, ordered=True),
    Parameter("required", "keys of labels that must be picked; they are picked first", None, keys=True),
    Parameter("forbidden", "keys of labels never to pick", None, keys=True),
    Parameter("candidates", "keys of the labels to pick from; null for all", None, keys=True),
    Parameter(
        "parts",
        f"a whole number from 1 to {_MOST_PARTS}: number of units; by default, chosen by the size of the "
        "work",
        1,
    ),
)


def _complete(given: Mapping[str, Any], subject: Subject | None) -> dict[str, Any]:
    found = Parameters.of_space("selection", given, _PARAMETERS)
    found.digests("observed", "costs", "required", "forbidden", "candidates", optional=True)
    found.whole("n", 1, optional=True)
    found.choice("method", ("active", "uniform", "outside"))
    found.whole("seed", 0, 2**63 - 1)
    found.decimal("budget")
    found.whole("parts", 1, _MOST_PARTS)
    if subject is not None and "parts" not in given:
        found["parts"] = _n_parts(found, subject)
    if found["method"] != "active" and found["parts"] > 1:
        raise found.wrong("parts", f"a selection with the method {found['method']} has 1 part")
    if found["n"] is not None and found["parts"] > found["n"]:
        raise found.wrong("parts", f"{found['n']} picks make at most {found['n']} parts")
    return found


def _n_parts(found: Mapping[str, Any], subject: Subject) -> int:
    """Return in how many parts a selection is computed: in one if a single computation yields all picks.

    Otherwise the number depends on the size of the work, and may be one too.
    """
    space, n_keys = subject.space_kind(found), subject.n_keys
    on_tree = space == "tree"
    at_once = space != "graph" and found["labels"] == "all"
    if at_once or found["method"] != "active":
        return 1
    n_labels = subject.n_allowed(found)
    picks: int = found["n"] or n_keys.get("candidates", n_labels) + n_keys.get("required", 0)
    n_observed = n_keys.get("observed", 0) + picks // 2  # on average over the picks
    seconds = picks * n_labels * (_SECONDS_PER_PICK + n_observed * _SECONDS_PER_OBSERVED[on_tree])
    if not on_tree:  # bounds are weak there, and every named candidate may be measured
        seconds *= max(1.0, n_keys.get("candidates", 0) / _MEASURED_PER_PICK)
    return min(max(1, ceil(seconds / _SECONDS_OF_PART)), picks, _MOST_PARTS)


def _plan(parameters: Mapping[str, Any]) -> list[Step]:
    """Return the plan of a selection: one step for each part.

    Each part continues from the picks of the part before.
    """
    last = parameters["parts"] - 1
    return [*(Step({**parameters, "part": part}, part) for part in range(last)), Step(parameters, last)]


def _execute(work: Work) -> Product:
    from labelgrove.ontology.geometry.selections.request import checked_request
    from labelgrove.ontology.geometry.selections.rounds import SelectionRun
    from labelgrove.ontology.geometry.selections.selection import selection_of

    wanted, artifacts = work.parameters, work.artifacts
    standing = _read_standing(work)
    if standing is not None and standing.upper_bound is not None and "part" in wanted:
        return _standing_product(standing)  # it has ended; a hundred more parts may have to repeat this
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
    """Return the state of the selection at the end of the previous part; None for the first part."""
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


def _estimate(parameters: Mapping[str, Any], subject: Subject) -> Estimate:
    units, picks = parameters["parts"], parameters["n"] or subject.n_labels
    n_bytes = units * (8 * subject.n_labels + 16 * picks + HEADER_BYTES)
    return Estimate(units, n_bytes, 1 + picks)


# ---- the file ------------------------------------------------------------------------------------------


def pack_selection(graph: LabelGraph, found: Selection, *, method: str, seed: int) -> Packed:
    """Return the arrays and the metadata of a file with a selection.

    Parameters
    ----------
    graph : LabelGraph
        The label graph of the version; `found.space` is a metric space on it.
    found : Selection
        The selection.
    method : {"active", "uniform", "outside"}
        How the selection was made.
    seed : int
        Seed of the random draws.
    """
    from labelgrove.ontology.results.layout import pack_space

    arrays, metadata = pack_space(graph, found.space)
    arrays |= {"index": found.index, "gains": found.gains}
    metadata |= {
        "format": _FORMAT,
        "method": method,
        "seed": str(seed),
        "status": found.status,
        "size_before": str(found.size_before),
        "upper_bound": str(found.upper_bound),
        "spent": repr(float(found.spent)),
    }
    return arrays, metadata


def read_selection(artifacts: ArtifactStore, digest: str, graph: LabelGraph) -> Selection:
    """Return a selection written by `pack_selection`.

    Parameters
    ----------
    artifacts, digest, graph
        See `ontology.results.layout.ResultFile`.

    Raises
    ------
    NotFoundError, ArtifactError
        If the artifact is missing, or is not a selection of the version in `graph`.
    """
    from labelgrove.ontology.geometry import Selection
    from labelgrove.ontology.results.layout import ResultFile

    file = ResultFile(artifacts, digest, graph, _FORMAT)
    index, gains = file.index("index", graph.n_labels), file.array("gains", np.int64)
    if len(index) != len(gains) or (gains < 0).any():
        raise file.fault(
            f"{len(gains)} gains for {len(index)} picks; each pick must have one gain, of 0 or more"
        )
    upper_bound, status = file.whole("upper_bound"), file.status()
    if gains.sum() > upper_bound or (status == "exact") != (gains.sum() == upper_bound):
        raise file.fault(
            f"gains of {gains.sum()}, an upper bound of {upper_bound} and status {status} contradict each "
            "other"
        )
    return Selection(
        space=file.space,
        index=index,
        gains=gains,
        size_before=file.whole("size_before"),
        upper_bound=upper_bound,
        spent=file.number("spent"),
        status=status,
    )


# ---- showing and describing ----------------------------------------------------------------------------


def _show(result: JobResult) -> GraphResult:
    from labelgrove.ontology.graph.results import Links

    found = read_selection(result.artifacts, result.sha256, result.graph)
    links = Links("PICKS", found.index, {"round": places(found.index), "gain": found.gains})
    return result.node("Selection", {"objective": result.parameters["method"]}, links)


def _describe(workspace: Workspace, result: JobResult) -> Description:
    found = read_selection(result.artifacts, result.sha256, result.graph)
    picks = zip(named_labels(result.graph, found.keys), found.gains.tolist(), strict=True)
    rows = [(place, *named, gain) for place, (named, gain) in enumerate(picks, start=1)]
    sizes = {
        "status": found.status,
        "size_before": found.size_before,
        "gain": int(found.gains.sum()),
        "upper_bound": found.upper_bound,
        "spent": found.spent,
    }
    line = f"{len(rows):,} picks add {sizes['gain']:,} labels to the {found.size_before:,} reached before"
    columns = ("round", "key", "name", "gain")
    return labels_table(line, version_fields(workspace, result) | sizes, columns, rows)


SELECTION = JobKind(
    name="selection",
    version=2,
    complete=_complete,
    plan=_plan,
    execute=_execute,
    queue="lp",
    parameters=_PARAMETERS,
    estimate=_estimate,
    show=_show,
    describe=_describe,
)
"""Choose labels to observe next: `ontology.geometry.select_classes` as a job.

Parameters: those of `workers.kinds.parameters.Parameters.of_space`; ``observed``, ``required``, ``forbidden``
and ``candidates``, each null or an artifact with a JSON list of keys; ``n``, ``method``, ``seed``;
``budget``, null or a decimal string; ``costs``, null or an artifact with a JSON object of decimal strings by
key; and ``parts``, the number of units, each of which continues from the picks of the unit before. The
result, read by `read_selection`, is the same for any number of parts.
"""
