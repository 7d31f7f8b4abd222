"""search_cover: find a small locus cover of any space, starting with the labels that every cover contains.

The search starts with the labels that every cover contains (`ontology.geometry.covers.required`). If only the
leaves of a taxonomy are allowed, the labels that every cover contains are often a cover already; then no
other cover is as small. Otherwise the search adds one label at a time. The score of a label is the number of
labels that are not reached yet and lie on a shortest path between this label and an observed label. The
search adds the label with the highest score; among labels with equal scores, the label farthest from the
observed labels. When the labels are a cover, the search goes through them one by one, and drops a label if
the remaining labels are still a cover. At every step, `ontology.geometry.loci.general` decides exactly which
labels are reached.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.errors import SpaceError
from labelgrove.ontology.geometry.covers.checks import Cover
from labelgrove.ontology.geometry.covers.required import EXACT_LABELS, Reaching, required_rows
from labelgrove.ontology.geometry.loci.general import is_tolerant
from labelgrove.ontology.geometry.spaces.matrixspace import MatrixSpace
from labelgrove.ontology.geometry.spaces.metricspace import MetricSpace
from labelgrove.ontology.geometry.spaces.points import allowed_points
from labelgrove.ontology.geometry.spaces.treespace import TreeSpace
from labelgrove.ontology.geometry.ties import TIE_RELATIVE

__all__ = ["search_cover"]

_TRIALS = 200
_RIVALS = 64


def search_cover(space: MetricSpace, *, identifying: bool = False) -> Cover:
    """Return a small locus cover made of allowed labels, with a proved lower bound on its size.

    Parameters
    ----------
    space : MetricSpace
        A space with at most `ontology.geometry.covers.required.EXACT_LABELS` allowed labels. Every allowed
        label must be a point, so that it can be observed. (In a `MatrixSpace`, some allowed labels may not be
        points.)
    identifying : bool, default=False
        Whether every label must be uniquely reachable.

    Returns
    -------
    cover : Cover
        The labels in canonical order; if any one of them is left out, the others are not a cover. The lower
        bound is the number of labels that every cover contains, plus one for each of several disjoint sets:
        every cover must contain a label of each set. The cover is exact if the labels that every cover
        contains are themselves a cover, if its size equals the lower bound, or if all smaller sets could be
        tried.

    Raises
    ------
    SpaceError
        If there are more than `EXACT_LABELS` labels, an allowed label is not a point of the space, or an
        identifying cover is requested but some labels are tied under all weights.

    Notes
    -----
    O(n_labels^2) memory. For most labels, comparisons of distances decide whether every cover contains them.
    For the others, and for each label that the search adds or drops, exact locus tests are needed. Among
    equally good labels, the one with the lowest canonical index is chosen.

    Examples
    --------
    >>> from labelgrove.ontology.geometry.spaces.choosing import metric_space
    >>> from labelgrove.ontology.labelgraph import LabelGraph
    >>> square = metric_space(LabelGraph.grid((2, 2)))
    >>> search_cover(square)
    Cover(keys=('0,0', '1,1'), status='exact', lower_bound=2)
    """
    points = allowed_points(space)
    n = len(points)
    if n > EXACT_LABELS:
        way = "allow fewer with labels=... (grove: --labels FILE)"
        if not isinstance(space, TreeSpace):
            way += ", or measure on the tree of primary parents: metric='tree' (grove: --metric tree)"
        raise SpaceError(
            f"{n:,} labels: the search for a small cover compares all pairs of labels, so it takes at most "
            f"{EXACT_LABELS:,} labels; {way}"
        )
    distances = space.distances(cols=points)
    between, tolerant = not isinstance(space, MatrixSpace), is_tolerant(space)
    search = _Search(distances, between and not identifying, Reaching(distances, identifying, tolerant))
    if identifying:
        lost = search.missing(np.arange(n))
        if len(lost):
            raise SpaceError(
                f"no set of observed labels identifies every label: {len(lost)} labels, the first "
                f"{space.keys[int(lost[0])]!r}, tie with another label under all weights; if labels "
                "are at distance 0 from each other, allow only one of them"
            )
    required = required_rows(distances, between=between, identifying=identifying, tolerant=tolerant)
    chosen = search.drop(search.grow(required), required)
    more = max(_disjoint_needs(distances, required, identifying), int(len(chosen) > len(required)))
    # a single label reaches only the labels at distance 0 from it
    least = max(len(required) + more, 1 if (distances == 0).all(axis=0).any() else 2)
    chosen, least = search.try_smaller(chosen, required, least)
    return Cover.of(space, points[chosen], least)


def _disjoint_needs(distances: NDArray[Any], required: NDArray[np.int64], identifying: bool) -> int:
    """Return a proved lower bound on the number of labels that every cover contains besides `required`.

    For two labels u and z, every cover contains a label that is not strictly closer to z than to u: otherwise
    z is better than u under all weights. (An identifying cover contains a label that is strictly closer to
    u.) So each pair (u, z) gives a set from which every cover contains a label. The bound is the number of
    such sets that the function finds to be disjoint from each other and from `required`. Smaller sets are
    taken first, and only labels z near u are tried, because they give small sets.
    """
    taken = np.zeros(len(distances), dtype=bool)
    taken[required] = True
    needs = []
    for u, own in enumerate(distances):
        rivals = np.argsort(own, kind="stable")[: _RIVALS + 1]
        theirs = distances[rivals[rivals != u]]
        need = own < theirs if identifying else own <= theirs * (1 + TIE_RELATIVE)
        need = need[~need[:, taken].any(axis=1)]
        if len(need):
            needs.append(need[np.count_nonzero(need, axis=1).argmin()])
    count = 0
    for need in sorted(needs, key=np.count_nonzero):
        if not taken[need].any():
            taken |= need
            count += 1
    return count


class _Search:
    """The steps of the search for a cover.

    A label is given as its row index in the square matrix of distances; a cover is an ascending array of such
    indices.
    """

    def __init__(self, distances: NDArray[Any], between: bool, reaching: Reaching) -> None:
        self._distances, self._between, self._reaching = distances, between, reaching
        self._every = np.arange(len(distances))
        # labels that are reached when they are observed, by all weight on themselves; uniquely only if no
        # other label is at distance 0
        alone = np.count_nonzero(distances == 0, axis=1) == 1
        self._own = alone if reaching.identifying else np.ones(len(distances), dtype=bool)

    def is_cover(self, chosen: NDArray[np.int64]) -> bool:
        """Return whether weights over `chosen` reach every label."""
        return len(self.missing(chosen)) == 0

    def missing(self, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the labels that no weights over `chosen` reach, ascending."""
        return self._missing(chosen, np.setdiff1d(self._every, chosen[self._own[chosen]]))

    def _missing(self, chosen: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.int64]:
        if not len(rows):
            return rows
        return np.setdiff1d(rows, self._reaching.reached(chosen, rows))

    def grow(self, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return `chosen` with enough labels added to make it a cover."""
        if not len(chosen):
            chosen = np.array([self._distances.max(axis=1).argmax()])
        missing = self.missing(chosen)
        on_path = np.eye(len(self._every), dtype=bool)  # [c, u]: u is c, or between c and a chosen label
        for label in chosen.tolist():
            on_path |= self._between_it_and(label)
        while len(missing):
            gain = np.count_nonzero(on_path[:, missing], axis=1)
            gain[chosen] = -1
            best = np.flatnonzero(gain == gain.max())
            label = int(best[self._distances[np.ix_(best, chosen)].min(axis=1).argmax()])
            chosen = np.append(chosen, label)
            if gain[label] > 1:
                missing = missing[~on_path[label, missing]]
            if self._own[label]:
                missing = missing[missing != label]
            if gain[label] <= 1 or not len(missing):
                missing = self._missing(chosen, missing)
            on_path |= self._between_it_and(label)
        return np.sort(chosen)

    def _between_it_and(self, label: int) -> NDArray[np.bool_]:
        own = self._distances[label].astype(np.float64)
        if not self._between:
            return np.zeros(self._distances.shape, dtype=bool)
        return np.asarray(self._distances + own == own[:, None])

    def drop(self, chosen: NDArray[np.int64], keep: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the cover `chosen` without labels that it does not need.

        The labels that are not in `keep` are tried one by one, in canonical order. A label is dropped if the
        remaining labels are still a cover.
        """
        for label in np.setdiff1d(chosen, keep).tolist():
            rest = chosen[chosen != label]
            if len(rest) and not len(self._missing(rest, np.array([label]))) and self.is_cover(rest):
                chosen = rest
        return chosen

    def try_smaller(
        self, chosen: NDArray[np.int64], required: NDArray[np.int64], least: int
    ) -> tuple[NDArray[np.int64], int]:
        """Search for a cover smaller than `chosen` by trying every set that contains the `required` labels.

        The sets are tried in ascending order of size, beginning with sets of `least` labels. The search ends
        at the first size for which there are more than `_TRIALS` sets. Returns the smallest cover known, and
        the proved lower bound on the size of any cover.
        """
        free = np.setdiff1d(self._every, required)
        while least < len(chosen) and math.comb(len(free), least - len(required)) <= _TRIALS:
            for more in itertools.combinations(free.tolist(), least - len(required)):
                trial = np.sort(np.append(required, np.array(more, dtype=np.int64)))
                if self.is_cover(trial):
                    return trial, least
            least += 1
        return chosen, least
