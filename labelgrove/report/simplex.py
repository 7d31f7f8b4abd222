"""Compute which label answers each probability vector of a model of three classes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from labelgrove.adapter.scorer import Adapter
from labelgrove.ontology.geometry.simplexregions import exact_regions
from labelgrove.report.picturedata import Region, Regions

__all__ = ["regions_of"]

_MOST_DISTINCT = 1_000  # exact polygons take time in the square of this number


def regions_of(adapter: Adapter, named: Callable[[str], str] = str) -> Regions | None:
    """Return the exact regions of an adapter, the largest first.

    Parameters
    ----------
    adapter : Adapter
    named : callable, default=str
        Turns the key of a label into the text for it.

    Returns
    -------
    regions : Regions or None
        None if there are not three observed labels, if the exponent is not 2, or if the labels have more than
        1,000 different triples of distances to the observed ones. If several labels tie in a whole region,
        the region has the name of the first one and the number of the others. Labels that are answers only on
        lines and at points, where they tie, are left out.
    """
    if adapter.n_observed != 3 or adapter.beta != 2:
        return None
    distances = adapter.distances(np.arange(adapter.n_labels))
    if len(np.unique(distances, axis=0)) > _MOST_DISTINCT:
        return None
    observed = adapter.bundle.observed_keys
    found = []
    for region in exact_regions(distances):
        if not region.area:
            continue
        first, others = adapter.keys[region.labels[0]], len(region.labels) - 1
        corners = tuple((float(a), float(b), float(c)) for a, b, c in region.corners)
        name = f"{named(first)} +{others}" if others else named(first)
        found.append(Region(name, corners, float(region.area), first in observed))
    found.sort(key=lambda region: -region.share)
    a, b, c = map(named, observed)
    return Regions("Answers over the triangle of three classes", (a, b, c), tuple(found))
