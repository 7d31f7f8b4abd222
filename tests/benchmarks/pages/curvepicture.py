"""The scoring curves as a picture, drawn from the kept document."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.benchmarks.pages.curves import BESIDE, WAYS, curve_over
from tests.benchmarks.pages.section import Run

__all__ = ["PICTURE", "draw"]

PICTURE = Path(__file__).parents[3] / "docs" / "pictures" / "scoring_curves.svg"
_AXES = {"n_labels": "labels N", "n_observed": "observed labels K", "n_samples": "rows B"}
_STYLE = {"svg.fonttype": "none", "svg.hashsalt": "labelgrove", "font.family": "sans-serif", "font.size": 8}
_MARKERS = "os^Dv<>pX*"


def draw(runs: list[Run], path: Path = PICTURE) -> Path:
    """Write the picture; the same document gives the same bytes under one version of matplotlib."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    (run,) = runs
    points = run["document"]["points"]
    with rc_context(_STYLE):
        figure = Figure(figsize=(10.5, 3.6), layout="constrained")
        figure.suptitle("Scoring through an adapter, one thread: microseconds for each row")
        for ax, (field, name) in zip(figure.subplots(1, len(_AXES), sharey=True), _AXES.items(), strict=True):
            for marker, (way, (x, y)) in zip(_MARKERS, _lines(points, field).items(), strict=False):
                ax.loglog(x, y, marker=marker, markersize=4, label=way if x else None)
            ax.set_xlabel(name)
            ax.minorticks_off()  # most of the file otherwise
        shown = {
            way: line for ax in figure.axes for line, way in zip(*ax.get_legend_handles_labels(), strict=True)
        }
        figure.legend(shown.values(), shown.keys(), loc="outside right center", frameon=False)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})
    return path


def _lines(points: list[dict[str, Any]], field: str) -> dict[str, tuple[list[float], list[float]]]:
    """Return a line for each way; one that was not measured at two sizes or more is empty."""
    lines = {}
    for way in WAYS + BESIDE:
        known = [point for point in curve_over(points, field) if point[way] is not None]
        few = len(known) < 2
        x = [] if few else [float(point[field]) for point in known]
        lines[way] = x, [] if few else [1e3 * point[way] / point["n_samples"] for point in known]
    return lines
