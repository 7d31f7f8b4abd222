"""Compute one unit of a locus: the whole locus, one part of it, or the union of its parts.

A part contains the members of the locus among some of the labels or, with the method ``pairs``, the labels
that some pairs of observed labels reach.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.errors import InputError
from labelgrove.ontology.geometry import GraphSpace, Locus, MetricSpace, locus
from labelgrove.ontology.geometry.loci.general import GeneralLocus, general_locus, is_tolerant
from labelgrove.ontology.geometry.loci.pairs import (
    PairHulls,
    hull_members,
    joined_hulls,
    locus_of_hulls,
    shares_of_pairs,
)
from labelgrove.workers.kinds.inputs import counted_points, read_keys, read_space
from labelgrove.workers.kinds.kind import Product, Work
from labelgrove.workers.kinds.locus.file import pack_locus, pack_witnesses, unpack_witnesses

__all__ = ["execute"]

_PART_FORMAT = "labelgrove/locus-part/1"
_PAIRS_FORMAT = "labelgrove/locus-pairs/1"
_ROWS = 16  # observed labels whose pairs are taken between two checks whether the work is still wanted


def execute(work: Work) -> Product:
    """Compute a unit of the kind `locus`: the whole locus, one part of it, or the union of its parts."""
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
            f"locus: parts is {work.parameters['parts']}; in a {space.kind} space, a locus has 1 part; give 1"
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
    """Return the labels that pairs of observed labels reach.

    If the unit computes one part, only the pairs of this part count; otherwise all pairs count.
    """
    rows = shares_of_pairs(len(points), work.parameters["parts"])[work.parameters.get("part", 0)]
    # all columns in every part: on some graphs only they decide in which unit distances are whole numbers
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
    """Return the members of the locus among the labels of one part.

    They are searched for in one group of consecutive labels after another; the size of a group is the
    parameter ``block``. The witness of a member depends on the other labels of its group. Therefore the
    groups are the same for every number of parts, and a part consists of whole groups.
    """
    n, block, parts = space.n_labels, work.parameters["block"], work.parameters["parts"]
    starts = range(0, n, block)
    if parts > len(starts):
        raise InputError(
            f"locus: parts is {parts}; {n} labels make {len(starts)} blocks of {block}; give at most "
            f"{len(starts)} parts"
        )
    distances = space.distances(cols=points)
    decided = []
    for i in range(part * len(starts) // parts, (part + 1) * len(starts) // parts):
        work.check()
        some = np.arange(starts[i], min(starts[i] + block, n))
        decided.append(general_locus(distances, some, tolerant=is_tolerant(space)))
    return _joined(space, points, decided)


def _joined(space: MetricSpace, points: NDArray[np.int64], decided: Iterable[Any]) -> Locus:
    """Return one locus with the members of all loci in `decided`.

    The members of each of these loci come from another range of labels; the ranges ascend.
    """
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
    arrays = {"index": found.index, "unique_index": found.unique_index, **pack_witnesses(found.witnesses)}
    return Product(arrays, {"format": _PART_FORMAT, "tolerance": repr(float(found.tolerance))})


def _merged(work: Work, space: MetricSpace, points: NDArray[np.int64]) -> Locus:
    parts = []
    for digest in work.inputs:
        work.check()
        arrays, metadata = work.artifacts.open_arrays(digest)
        witnesses = unpack_witnesses(arrays, len(points))
        tolerance = float(metadata["tolerance"])
        parts.append(GeneralLocus(arrays["index"], arrays["unique_index"], witnesses, tolerance, {}))
    return _joined(space, points, parts)
