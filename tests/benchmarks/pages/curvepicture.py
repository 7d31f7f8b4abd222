"""The scoring curves as a picture, drawn from the kept document."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.benchmarks.pages.curves import BESIDE, WAYS, curve_over
from tests.benchmarks.pages.section import Run

__all__ = ["PICTURE", "draw"]

PICTURE = Path(__file__).parents[3] / "docs" / "pictures" / "scoring_curves.svg"
_AXES = {"n_labels": "labels N", "n_observed": "observed labels K", "n_samples": "rows B"}
_STYLE = {"svg.fonttype": "none", "svg.hashsalt": "labelgrove", "font.family": "sans-serif"}


def draw(runs: list[Run], path: Path = PICTURE) -> Path:
    """Write the picture; the same document gives the same bytes under one version of matplotlib."""
    from matplotlib import rc_context

    from labelgrove.experiments.experiment import Panel
    from labelgrove.plots.curves import curve_panels

    (run,) = runs
    points = run["document"]["points"]
    panels = [
        Panel(f"over {name}", name, "microseconds for each row", _lines(points, field), True, True)
        for field, name in _AXES.items()
    ]
    with rc_context(_STYLE):
        figure = curve_panels(panels, title="Scoring through an adapter, one thread")
        for ax in figure.axes:
            ax.minorticks_off()  # most of the file otherwise
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})
    return path


def _lines(points: list[dict[str, Any]], field: str) -> tuple[Any, ...]:
    """One line for each way that was measured at two sizes or more."""
    from labelgrove.experiments.experiment import Line

    lines = []
    for way in WAYS + BESIDE:
        known = [point for point in curve_over(points, field) if point[way] is not None]
        if len(known) > 1:
            x = tuple(float(point[field]) for point in known)
            y = tuple(1e3 * point[way] / point["n_samples"] for point in known)
            lines.append(Line(way, x, y, y, y))
    return tuple(lines)
