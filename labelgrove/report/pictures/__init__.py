"""Draw each type of picture as SVG, without any library; the style sheet of the page sets the colors."""

from __future__ import annotations

from labelgrove.report.picturedata import (
    Branches,
    Differences,
    Histogram,
    Panel,
    Picture,
    Regions,
)
from labelgrove.report.pictures.branches import draw_branches
from labelgrove.report.pictures.curves import draw_panel
from labelgrove.report.pictures.differences import draw_differences
from labelgrove.report.pictures.histogram import draw_histogram
from labelgrove.report.pictures.regions import draw_regions
from labelgrove.report.pictures.reliability import draw_reliability
from labelgrove.report.svg import Drawing

__all__ = ["draw"]


def draw(picture: Picture) -> Drawing:
    """Return the drawing of a picture, with its legend."""
    if isinstance(picture, Panel):
        return draw_panel(picture)
    if isinstance(picture, Histogram):
        return draw_histogram(picture)
    if isinstance(picture, Branches):
        return draw_branches(picture)
    if isinstance(picture, Differences):
        return draw_differences(picture)
    if isinstance(picture, Regions):
        return draw_regions(picture)
    return draw_reliability(picture)
