"""One part of the page: what was measured, on what, and its goals."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Run = dict[str, Any]  # {"date", "others_kept_busy", "document"}: one benchmark, run once

AT_LEAST = ("x", "units/s")
"""Units of which more is better."""


@dataclass(frozen=True)
class Goal:
    """A figure to reach: at most `wanted` of a time or a size, at least `wanted` of a ratio or a rate."""

    what: str
    wanted: float
    measured: float
    unit: str

    @property
    def met(self) -> bool:
        """Whether the measured figure is on the right side of the wanted one."""
        return self.measured >= self.wanted if self.unit in AT_LEAST else self.measured <= self.wanted

    def cells(self) -> list[str]:
        """Return what a table shows of it."""
        side = ">=" if self.unit in AT_LEAST else "<="
        unit = "x" if self.unit == "x" else f" {self.unit}"
        return [
            self.what,
            f"{side} {self.wanted:,g}{unit}",
            f"{number(self.measured)}{unit}",
            f"{self.measured / self.wanted:z.2f}",  # zero without a sign
            "met" if self.met else "**missed**",
        ]


@dataclass(frozen=True)
class Section:
    """One part: `body` are paragraphs and tables, `profile` says where the time of missed goals goes."""

    title: str
    runs: list[Run]
    about: str
    goals: list[Goal]
    body: list[str]
    profile: str = ""

    def text(self) -> str:
        """Return the Markdown of the part."""
        parts = [f"## {self.title}", paragraph(self.about), *map(condition, self.runs)]
        if self.goals:
            parts.append(
                table(["goal", "wanted", "measured", "factor", "verdict"], [g.cells() for g in self.goals])
            )
        if self.profile and not all(goal.met for goal in self.goals):
            parts.append(paragraph(f"Where a goal is missed: {self.profile}"))
        return "\n\n".join([*parts, *self.body]) + "\n"


def paragraph(words: str) -> str:
    """Words in lines of one width."""
    return textwrap.fill(words, 108, break_long_words=False, break_on_hyphens=False)


def condition(run: Run) -> str:
    """When one run was made, what else the machine did, on how many threads, from which seeds."""
    document, others = run["document"], run["others_kept_busy"]
    said = [
        f"Run `{document['benchmark']}`: {run['date']}",
        run.get("note", "carried over from an earlier page")
        if others is None
        else f"other processes kept {others} cores busy",
        f"threads: {document['threads']}",
        f"seed {document['seed']}",
    ]
    if document["blas_kernels_pinned_to"]:
        said.append(f"BLAS kernels pinned to {document['blas_kernels_pinned_to']}")
    return "; ".join(said) + "."


def graph_line(graph: dict[str, Any]) -> str:
    """Name, sizes and digest of a graph."""
    return (
        f"{graph['graph']}: {graph['n_labels']:,} labels, {graph['n_edges']:,} edges, "
        f"depth {graph['depth']}, largest degree {graph['largest_degree']:,}, digest `{graph['digest'][:16]}`"
    )


def number(value: float | None) -> str:
    """A figure as tables show it: thousands parted, decimals as it was kept with; None is a dash."""
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) or value % 1 else f"{int(value):,}"


def table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a Markdown table."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(str(cell) for cell in line)} |" for line in lines)
