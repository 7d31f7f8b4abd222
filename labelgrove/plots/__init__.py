"""Pictures: functions that take arrays and return matplotlib figures, one module for each family.

No module here touches ``pyplot`` or changes matplotlib's global settings, so that drawing inside a server, a
notebook or a test leaves nothing behind. Names are handed out on first use, and matplotlib loaded with them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labelgrove.plots.backend import Figure
    from labelgrove.plots.families import paper_families
    from labelgrove.plots.figure import save
    from labelgrove.plots.grid import grid_errors
    from labelgrove.plots.histogram import error_histogram
    from labelgrove.plots.locus import locus_hierarchy
    from labelgrove.plots.selection import selection_curves
    from labelgrove.plots.simplex import prediction_regions, region_panels

__all__ = [
    "Figure",
    "error_histogram",
    "grid_errors",
    "locus_hierarchy",
    "paper_families",
    "prediction_regions",
    "region_panels",
    "save",
    "selection_curves",
]

_HOMES = {
    "Figure": "backend",
    "error_histogram": "histogram",
    "grid_errors": "grid",
    "locus_hierarchy": "locus",
    "paper_families": "families",
    "prediction_regions": "simplex",
    "region_panels": "simplex",
    "save": "figure",
    "selection_curves": "selection",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"labelgrove.plots.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'labelgrove.plots' has no attribute {name!r}")
