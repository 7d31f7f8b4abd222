"""The kind `locus`: find the labels that observed labels can reach.

If a job has several units, each unit but the last computes one part: it finds the members of the locus among
some of the labels or, with the method ``pairs``, the labels that some pairs of observed labels reach. The
last unit joins the parts.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, comb
from typing import TYPE_CHECKING, Any

import numpy as np

from labelgrove.workers.kinds.describing import CERTAIN, labels_table, named_labels, version_fields
from labelgrove.workers.kinds.kind import (
    HEADER_BYTES,
    OPENING_SECONDS,
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
    from labelgrove.ontology.graph.results import GraphResult
    from labelgrove.ontology.versions.workspace import Workspace

__all__ = ["LOCUS"]

_BLOCK = 4096  # labels decided together
_MOST_PARTS = 10_000
_SECONDS_OF_PAIRS = 30  # of a unit, about
_SECONDS_PER_STEP = 2e-9  # to measure from one observed label across one label or edge of length 1
_SECONDS_PER_PAIR = {False: 3e-9, True: 4e-8}  # per label too; the second where lengths differ

_PARAMETERS = (
    *SPACE,
    Parameter("observed", "label keys, in the order of a model's columns", keys=True, ordered=True),
    Parameter("n_observed", "number of observed labels", filled=True),
    Parameter("method", "exact or pairs", "exact"),
    Parameter(
        "block", "a whole number, 1 or more: number of labels whose membership is decided together", _BLOCK
    ),
    Parameter(
        "parts",
        f"a whole number from 1 to {_MOST_PARTS}: number of units; by default, chosen by the size of the "
        "work",
        1,
    ),
)


def _complete(given: Mapping[str, Any], subject: Subject | None) -> dict[str, Any]:
    if subject is not None:
        given = {"n_observed": subject.n_keys.get("observed", 1), **given}
    found = Parameters.of_space("locus", given, _PARAMETERS)
    found.digests("observed")
    found.whole("n_observed", 1)
    found.choice("method", ("exact", "pairs"))
    found.whole("block", 1)
    found.whole("parts", 1, _MOST_PARTS)
    if subject is not None and "parts" not in given:
        found["parts"] = _n_parts(found, subject)
    rows = max(1, found["n_observed"] - 1)
    if found["method"] == "pairs" and found["parts"] > rows:
        rule = f"pairs of {found['n_observed']} observed labels make at most {rows} parts"
        raise found.wrong("parts", rule)
    return found


def _n_pairs(parameters: Mapping[str, Any]) -> int:
    return comb(parameters["n_observed"], 2)


def _n_parts(found: Mapping[str, Any], subject: Subject) -> int:
    """Return the number of parts in which a locus is computed, at most `_MOST_PARTS`.

    With the method ``pairs``, there are so many parts that each should take at most `_SECONDS_OF_PAIRS`
    seconds, but fewer parts than observed labels (1 part for 1 label). With the method ``exact``, there is
    one part for each group of ``block`` labels in a graph space, and 1 part in any other space.
    """
    n = subject.n_allowed(found)
    if found["method"] == "pairs":
        seconds = _n_pairs(found) * n * _SECONDS_PER_PAIR[subject.opened().is_weighted]
        most: int = min(max(1, found["n_observed"] - 1), _MOST_PARTS)
        return min(max(1, ceil(seconds / _SECONDS_OF_PAIRS)), most)
    if subject.space_kind(found) != "graph":  # closed forms
        return 1
    block: int = found["block"]
    return min(-(-n // block), _MOST_PARTS)


def _plan(parameters: Mapping[str, Any]) -> list[Step]:
    if parameters["parts"] == 1:
        return [Step(parameters)]
    parts = [Step({**parameters, "part": part}) for part in range(parameters["parts"])]
    return [*parts, Step(parameters, stage=1)]


def _execute(work: Work) -> Product:
    from labelgrove.workers.kinds.locus.units import execute

    return execute(work)


def _estimate(parameters: Mapping[str, Any], subject: Subject) -> Estimate:
    n_labels, n_edges = subject.n_labels, subject.n_edges
    units, n_observed, seconds = len(_plan(parameters)), parameters["n_observed"], None
    derived = (parameters["metric"], parameters["labels"], parameters["method"]) == ("tree", "all", "exact")
    a_member = 16 if derived else 8 * 5 + 12 * n_observed  # the witnesses of a tree are not written
    in_parts = a_member
    if parameters["method"] == "pairs":
        a_member, in_parts = 8 * 5 + 12 * 2, 41 * (units - 1)  # each part may reach all labels
        opening = (n_labels + n_edges) * (n_observed * _SECONDS_PER_STEP + OPENING_SECONDS)
        seconds = _n_pairs(parameters) * n_labels * _SECONDS_PER_PAIR[False] + units * opening
    a_label = a_member if units == 1 else a_member + in_parts
    n_bytes = (n_labels + 1) * a_label + 8 * n_observed + HEADER_BYTES * units
    return Estimate(units, n_bytes, 1 + n_observed + n_labels, seconds)


def _show(result: JobResult) -> GraphResult:
    from labelgrove.ontology.graph.results import Links
    from labelgrove.workers.kinds.locus.file import read_locus

    found = read_locus(result.artifacts, result.sha256, result.graph)
    allowed = found.space.allowed
    members = found.index if allowed is None else allowed[found.index]
    unique = np.isin(found.index, found.unique_index)
    return result.node(
        "Locus",
        {"size": len(found), "exact": found.status == "exact"},
        Links("OBSERVES", found.points, {}),
        Links("REACHES", members, {"unique": unique}),
    )


def _describe(workspace: Workspace, result: JobResult) -> Description:
    from labelgrove.workers.kinds.locus.file import read_locus

    found = read_locus(result.artifacts, result.sha256, result.graph)
    unique = set(found.unique)
    rows = [(key, name, key in unique) for key, name in named_labels(result.graph, found.members)]
    sizes = {"status": found.status, "size": len(rows), "n_unique": len(unique)}
    certain, only = CERTAIN[found.status], f"{len(unique):,} of them as the only answer"
    line = f"{len(rows):,} labels are reached, {only}, {certain}"
    return labels_table(line, version_fields(workspace, result) | sizes, ("key", "name", "unique"), rows)


LOCUS = JobKind(
    name="locus",
    version=4,
    complete=_complete,
    plan=_plan,
    execute=_execute,
    queue="lp",
    parameters=_PARAMETERS,
    estimate=_estimate,
    show=_show,
    describe=_describe,
)
"""Find the labels that observed labels can reach: `ontology.geometry.locus` as a job.

Parameters: those of `workers.kinds.parameters.Parameters.of_space`; ``observed``, an artifact with a JSON
list of keys, and their number ``n_observed``; ``method`` (exact, pairs); ``block``, the number of labels
decided together; and ``parts``, the number of units among which the blocks are divided, or the pairs of
observed labels with the method pairs. ``parts`` is 1 on trees and complete graphs. The result, read by
`workers.kinds.locus.file.read_locus`, is the same for any number of parts; another ``block`` may prove the
same members by other weights.
"""
