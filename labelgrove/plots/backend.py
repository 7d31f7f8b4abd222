"""The one import of matplotlib, so that its absence is told with the command that installs it."""

from __future__ import annotations

from ontology.errors import MissingExtraError

try:
    from matplotlib.axes import Axes
    from matplotlib.colors import to_rgb
    from matplotlib.figure import Figure
    from matplotlib.patches import Polygon
    from matplotlib.patheffects import withStroke
except ImportError as error:
    raise MissingExtraError.of("matplotlib", "plots", "drawing pictures") from error

__all__ = ["Axes", "Figure", "Polygon", "to_rgb", "withStroke"]
