"""locus_cover: find labels that reach every label, by a chosen method."""

from __future__ import annotations

from typing import Literal, get_args

from labelgrove.ontology.errors import InputError
from labelgrove.ontology.geometry.covers.checks import Cover
from labelgrove.ontology.geometry.covers.minimum import minimum_locus_cover
from labelgrove.ontology.geometry.covers.phylogenetic import phylogenetic_cover
from labelgrove.ontology.geometry.covers.search import search_cover
from labelgrove.ontology.geometry.spaces.metricspace import MetricSpace

__all__ = ["CoverMethod", "locus_cover"]

CoverMethod = Literal["minimum", "phylogenetic", "small"]
"""The method of finding a cover; see `locus_cover`."""


def locus_cover(space: MetricSpace, *, method: CoverMethod = "minimum", identifying: bool = False) -> Cover:
    """Return a locus cover made of allowed labels.

    Parameters
    ----------
    space : MetricSpace
        A space in which every allowed label is a point, so that it can be observed. (In a `MatrixSpace`, some
        allowed labels may not be points.)
    method : {"minimum", "phylogenetic", "small"}, default="minimum"
        ``"minimum"``: a smallest cover if one is known, otherwise a small one, see `minimum_locus_cover`.
        ``"phylogenetic"``: the source paper's Algorithm 1, see `phylogenetic_cover`. ``"small"``: only the
        search, without the rules that ``"minimum"`` has for some kinds of spaces, see
        `ontology.geometry.covers.search.search_cover`.
    identifying : bool, default=False
        Whether every label must be uniquely reachable; allowed only with the method ``"minimum"``.

    Raises
    ------
    InputError
        If the method is unknown or does not support `identifying`.
    SpaceError
        If an allowed label is not a point, or the space is too large for the method.

    Examples
    --------
    >>> from labelgrove.ontology.geometry import metric_space
    >>> from labelgrove.ontology.labelgraph import LabelGraph
    >>> locus_cover(metric_space(LabelGraph.grid((4, 5))))
    Cover(keys=('0,0', '3,4'), status='exact', lower_bound=2)
    """
    if method not in get_args(CoverMethod):
        raise InputError(f"method: {method!r} given; choose 'minimum', 'phylogenetic' or 'small'")
    if method == "minimum":
        return minimum_locus_cover(space, identifying=identifying)
    if identifying:
        raise InputError(f"identifying: works only with the method 'minimum', not with {method!r}")
    return phylogenetic_cover(space) if method == "phylogenetic" else search_cover(space)
