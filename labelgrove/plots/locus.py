"""Draw a hierarchy with marks for observed labels, for labels in the locus (reached) and for others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labelgrove.ontology.errors import InputError
from labelgrove.ontology.geometry.arguments import index_array
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.plots.backend import Axes, Figure, Line2D, LineCollection, Normalize, ScalarMappable
from labelgrove.plots.branches import Forest, Mark, chosen_marks, forest_of
from labelgrove.plots.figure import INK, PALETTE, QUIET, panels
from labelgrove.plots.names import Names

__all__ = ["locus_hierarchy"]

_MOST_MARKS = 2000
_MOST_FAR = 25
"""If there are at most this many observed labels, all are named, if need be with a line to the name."""
_SLOT = 0.052
"""The width in inches of a mark without marks below it, if the figure is wide enough."""
_COLORS = "Blues"
_STYLES: dict[str, dict[str, Any]] = {
    "no answer": {"s": 5, "marker": ".", "color": "#b5b5b5", "zorder": 3},
    "unreached": {"s": 16, "marker": "o", "facecolor": "white", "edgecolor": "#6f6f6f", "zorder": 3},
    "reached": {"s": 20, "marker": "o", "color": PALETTE[1], "zorder": 4},
    "observed": {"s": 46, "marker": "D", "facecolor": PALETTE[0], "edgecolor": INK, "lw": 0.7, "zorder": 6},
}
_LEGEND = {
    "observed": "observed",
    "reached": "reached, not observed",
    "unreached": "unreached",
    "no answer": "not allowed as an answer",
}
_NAMES = tuple(_STYLES)
_NO_ANSWER, _UNREACHED, _REACHED, _OBSERVED = range(4)
"""The states of a label, as indices into `_NAMES`."""

_Places = list[tuple[Mark, tuple[float, float]]]
"""Marks with their x and y coordinates."""


def locus_hierarchy(
    graph: LabelGraph,
    observed: ArrayLike,
    reached: ArrayLike,
    *,
    allowed: ArrayLike | None = None,
    limit: int = 1000,
    name: Callable[[str], str] = str,
    title: str = "What the classifier can answer",
) -> Figure:
    """Draw a hierarchy from its root down, with marks that show which labels are observed or reached.

    Parameters
    ----------
    graph : LabelGraph
        A hierarchy, which is drawn by primary parents, or an undirected tree, whose root is its first label.
    observed : array_like of int
        The indices of the observed labels.
    reached : array_like of int
        The indices of the labels in the locus.
    allowed : array_like of int, optional
        The indices of the labels that may be answers; all by default.
    limit : int, default=1000
        The largest number of marks, at most 2,000. If the hierarchy has more labels, a mark may represent
        whole branches; the number of their labels is written below it. Detail is given first to
        branches in which only some labels are reached.
    name : callable, default=str
        Turns the key of an observed or reached label into the text at its mark. Observed labels are named
        first, then the others from the root down, as long as there is room. Up to 25 observed labels are all
        named: if a name does not fit next to its mark, a line leads from the mark to the name.
    title : str
        The title of the figure.

    Returns
    -------
    figure : Figure
        The vertical axis is the depth, in edges from the root. The legend counts all labels, also those that
        share a mark.

    Raises
    ------
    InputError
        For an index that is not a label, a reached label that is not allowed, or a limit outside 1 to 2,000.
    SpaceError
        If the graph is undirected and not a tree.

    Notes
    -----
    The time is O(n_labels + limit log limit).
    """
    if not 1 <= limit <= _MOST_MARKS:
        raise InputError(f"limit: {limit} marks requested; draw 1 to {_MOST_MARKS}")
    state = _states(graph.n_labels, observed, reached, allowed)
    forest = forest_of(graph)
    by_position = state[forest.order]
    top, _ = chosen_marks(forest, by_position >= _REACHED, limit)
    places = _layout(forest, top)
    deepest = max(-y for _, (_, y) in places)
    slots = sum(not mark.below for mark, _ in places)
    figure, (ax,) = panels(
        1,
        width=float(np.clip(_SLOT * slots + 2, 8.5, 22)),
        height=float(np.clip(0.36 * deepest + 2, 5, 13)),
        title=title,
    )
    lines = _edges(ax, places)
    _labels(ax, forest, by_position, places)
    grouped = _branches(figure, ax, forest, by_position, places)
    ax.spines["bottom"].set_visible(False)
    ax.set_xticks([])
    ax.set_ylabel("depth (edges from the root)")
    step = max(1, int(deepest) // 12)
    depths = np.arange(0, int(deepest) + 1, step)
    ax.set_yticks(-depths, [str(d) for d in depths])
    ax.set_xlim(-1.5, slots + 0.5)
    ax.set_ylim(-deepest - 0.9, 0.6)
    _legend(figure, np.bincount(state, minlength=len(_NAMES)), grouped)
    _names(ax, graph, forest, by_position, places, lines, name)
    return figure


def _states(n: int, observed: ArrayLike, reached: ArrayLike, allowed: ArrayLike | None) -> NDArray[np.int64]:
    """Return the state of each label: observed, reached, unreached or not allowed, as index into `_NAMES`."""
    state = np.full(n, _UNREACHED if allowed is None else _NO_ANSWER, dtype=np.int64)
    if allowed is not None:
        state[index_array("allowed", allowed, n)] = _UNREACHED
    found = index_array("reached", reached, n)
    stray = found[state[found] == _NO_ANSWER]
    if len(stray):
        raise InputError(
            f"reached: label {stray[0]} is not an allowed label; a locus contains only allowed labels"
        )
    state[found] = _REACHED
    state[index_array("observed", observed, n)] = _OBSERVED
    return state


def _layout(forest: Forest, top: list[Mark]) -> _Places:
    """Return every mark with its x and y; a mark is centered above the marks below it."""
    order: list[Mark] = []
    stack = top[::-1]
    while stack:
        mark = stack.pop()
        order.append(mark)
        stack.extend(reversed(mark.below))
    across: dict[int, float] = {}
    slot = 0
    for mark in order:
        if not mark.below:
            across[id(mark)] = slot
            slot += 1
    for mark in reversed(order):
        if mark.below:
            across[id(mark)] = (across[id(mark.below[0])] + across[id(mark.below[-1])]) / 2
    return [(mark, (across[id(mark)], -float(forest.depth[mark.top]))) for mark in order]


def _edges(ax: Axes, places: _Places) -> list[list[tuple[float, float]]]:
    """Draw the lines between marks; return the corners of each line."""
    at = {id(mark): place for mark, place in places}
    lines = [
        [(x, y), (x, y - 0.5), (at[id(below)][0], y - 0.5), at[id(below)]]
        for mark, (x, y) in places
        for below in mark.below
    ]
    ax.add_collection(LineCollection(lines, colors="#d0d0d0", linewidths=0.7, zorder=1))
    return lines


def _labels(ax: Axes, forest: Forest, state: NDArray[np.int64], places: _Places) -> None:
    """Draw each label that has its own mark."""
    single = [(mark.top, place) for mark, place in places if _n_labels(forest, mark) == 1]
    for i, kind in enumerate(_NAMES):
        at = [place for top, place in single if state[top] == i]
        if at:
            ax.scatter(*zip(*at, strict=True), label=kind, **_STYLES[kind])


def _n_labels(forest: Forest, mark: Mark) -> int:
    """Return the number of labels that a mark represents."""
    return sum(int(forest.end[v]) - v for v in mark.branches) if mark.branches else 1


def _branches(
    figure: Figure, ax: Axes, forest: Forest, state: NDArray[np.int64], places: _Places
) -> dict[str, tuple[str, float]]:
    """Draw the marks of whole branches, and return what the legend says about them.

    The size of a mark depends on the number of its labels, and its color on the share of them that is
    reached. Each entry of the returned dictionary describes one kind of these marks: the key is the text of
    the legend, and the value is a pair with the color and the width of the rim of such marks.
    """
    grouped = [(mark, place) for mark, place in places if _n_labels(forest, mark) > 1]
    if not grouped:
        return {}
    before = np.concatenate([[0], np.cumsum(state >= _REACHED)])
    watched = np.concatenate([[0], np.cumsum(state == _OBSERVED)])
    count = np.array([_n_labels(forest, mark) for mark, _ in grouped])
    hit, seen = (
        np.array([sum(int(c[forest.end[v]] - c[v]) for v in mark.branches) for mark, _ in grouped])
        for c in (before, watched)
    )
    at = np.array([place for _, place in grouped])
    scale = Normalize(0, 100)
    ax.scatter(
        at[:, 0],
        at[:, 1],
        s=_branch_area(count),
        marker="v",
        c=100 * hit / count,
        cmap=_COLORS,
        norm=scale,
        edgecolors=[PALETTE[0] if s else QUIET for s in seen],
        linewidths=[1.6 if s else 0.7 for s in seen],
        label="branch",
        zorder=5,
    )
    if hit.any():
        bar = figure.colorbar(ScalarMappable(scale, _COLORS), ax=ax, shrink=0.6, pad=0.01, aspect=25)
        bar.set_label("reached labels in the branches at one ▼ (%)")
        for spine in bar.ax.spines.values():
            spine.set_visible(False)
    told = {"branches drawn as one mark, with their number of labels": (QUIET, 0.7)}
    if seen.any():
        told["the same, with observed labels among them"] = (PALETTE[0], 1.6)
    return told


def _branch_area(n_labels: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.asarray(16 + 8 * np.log2(n_labels))


def _names(
    ax: Axes,
    graph: LabelGraph,
    forest: Forest,
    state: NDArray[np.int64],
    places: _Places,
    lines: list[list[tuple[float, float]]],
    name: Callable[[str], str],
) -> None:
    """Write the names of observed labels, then the number of labels at each mark of branches.

    Last, write the names of reached labels.
    """
    count = np.array([_n_labels(forest, mark) for mark, _ in places])
    kind = np.array([state[mark.top] for mark, _ in places])
    style = [_STYLES[_NAMES[k]] for k in kind]
    area = np.where(count > 1, _branch_area(count), [s["s"] for s in style])
    names = Names(ax, [place for _, place in places], area, lines)
    depth = np.array([-y for _, (_, y) in places])
    far = int(np.count_nonzero(state == _OBSERVED)) <= _MOST_FAR

    def title(i: int) -> str:
        return name(graph.keys[int(forest.order[places[i][0].top])])

    for i in np.flatnonzero((kind == _OBSERVED) & (count == 1)).tolist():
        names.write(places[i][1], area[i], title(i), far=far, fontsize=7.5, color=INK, fontweight="bold")
    for i in np.argsort(-count, kind="stable")[: np.count_nonzero(count > 1)].tolist():
        names.write(places[i][1], area[i], f"{count[i]:,}", fontsize=7, color=INK)
    for i in np.argsort(depth, kind="stable").tolist():
        if kind[i] == _REACHED and count[i] == 1:
            names.write(places[i][1], area[i], title(i), fontsize=7, color=PALETTE[1])
    names.finish()


def _legend(figure: Figure, counts: NDArray[np.int64], grouped: dict[str, tuple[str, float]]) -> None:
    """Draw the legend: each kind of label with the number of its labels, and the marks of branches."""
    handles = []
    for kind, style in reversed(_STYLES.items()):
        count = counts[_NAMES.index(kind)]
        if kind == "no answer" and not count:
            continue
        handles.append(
            Line2D(
                [],
                [],
                linestyle="none",
                marker=style["marker"],
                markersize=style["s"] ** 0.5,
                markerfacecolor=style.get("facecolor", style.get("color")),
                markeredgecolor=style.get("edgecolor", style.get("color")),
                label=f"{_LEGEND[kind]}: {count:,} labels",
            )
        )
    shape: dict[str, Any] = {"linestyle": "none", "marker": "v", "markersize": 8, "markerfacecolor": "white"}
    for text, (color, rim) in grouped.items():
        handles.append(Line2D([], [], label=text, markeredgecolor=color, markeredgewidth=rim, **shape))
    for columns in (3, 2, 1):
        legend = figure.legend(
            handles=handles, loc="outside lower center", ncols=columns, frameon=False, fontsize=9.5
        )
        if legend.get_window_extent().width < figure.bbox.width or columns == 1:
            return
        legend.remove()
