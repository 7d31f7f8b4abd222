"""The one import of matplotlib, so that its absence is told with the command that installs it."""

from __future__ import annotations

from ontology.errors import MissingExtraError

try:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize, to_rgb
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine
    from matplotlib.patches import Polygon
    from matplotlib.patheffects import withStroke
except ImportError as error:
    raise MissingExtraError.of("matplotlib", "plots", "drawing pictures") from error

__all__ = [
    "Axes",
    "ConstrainedLayoutEngine",
    "Figure",
    "Normalize",
    "Polygon",
    "ScalarMappable",
    "to_rgb",
    "withStroke",
]
