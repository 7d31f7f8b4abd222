"""Evaluating files of outputs."""

from __future__ import annotations

from typing import Any

from tests.benchmarks.pages.section import Run, Section, graph_line, number, table

ABOUT = """\
`python -m tests.benchmarks.bench_evaluation`: `adapter.evaluate` on a `.npy` file of float32, all rules
with intervals of 1,000 resamples and the verdict. *Memory* is the peak of the process, followed by what it
held before: graph, bundle and truths. The file is memory-mapped: the parts read last may be counted as
well, but never more than a block. Where all 325,056 labels are observed, a block has 12 rows, and CRM is
left out. Rows without a zero take longer there: many labels are tied with the best five, and each of them
takes a sum over all columns."""


def section(runs: list[Run]) -> Section:
    """Write the part."""
    (run,) = runs
    cases = run["document"]["cases"]
    rows = [[case, *_cells(figures)] for case, figures in cases.items()]
    columns = ["case", "rows", "file", "seconds", "rows a second", "memory, of it before"]
    graphs = dict.fromkeys(graph_line(figures["graph"]) for figures in cases.values())
    return Section("Evaluation", runs, ABOUT, [], [table(columns, rows), *(f"{g}." for g in graphs)])


def _cells(figures: dict[str, Any]) -> list[str]:
    return [
        f"{figures['n_rows']:,}",
        f"{figures['file_mb']:,} MB",
        number(figures["processor_s"]),
        number(round(figures["n_rows"] / figures["processor_s"], 1)),
        f"{figures['peak_mb']:,} MB, {figures['before_mb']:,} MB",
    ]
