"""Import matplotlib in one place, so that an error can name the command that installs it."""

from __future__ import annotations

from labelgrove.ontology.errors import MissingExtraError

try:
    from matplotlib.axes import Axes
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.cm import ScalarMappable
    from matplotlib.collections import LineCollection
    from matplotlib.colors import Normalize, to_rgb
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch, Polygon
    from matplotlib.patheffects import withStroke
    from matplotlib.text import Text
    from matplotlib.ticker import MaxNLocator
except ImportError as error:
    raise MissingExtraError.of("matplotlib", "plots", "drawing pictures") from error

__all__ = [
    "Axes",
    "ConstrainedLayoutEngine",
    "Figure",
    "FigureCanvasAgg",
    "Line2D",
    "LineCollection",
    "MaxNLocator",
    "Normalize",
    "Patch",
    "Polygon",
    "ScalarMappable",
    "Text",
    "to_rgb",
    "withStroke",
]
