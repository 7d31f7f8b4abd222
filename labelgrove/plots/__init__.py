"""Pictures: functions that take arrays and return matplotlib figures, one module for each family.

No module here touches ``pyplot`` or changes matplotlib's global settings, so that drawing inside a server, a
notebook or a test leaves nothing behind.
"""

from __future__ import annotations

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
