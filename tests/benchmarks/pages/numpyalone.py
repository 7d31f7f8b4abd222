"""What callers pay where numba is not installed."""

from __future__ import annotations

from tests.benchmarks.pages.section import Run, Section, graph_line, number, table

ABOUT = """\
`python -m tests.benchmarks.bench_numpy_alone`: an adapter in a process in which numba cannot be imported; all
answers equal those with numba. Ratios are the adapter's time over that of numpy's softmax of as many logits
in float64, in the same process. *graph* is a bundle of a graph, with a block of distances."""


def section(runs: list[Run]) -> Section:
    """Write the part."""
    (run,) = runs
    found = run["document"]
    size = f"{found['n_samples']:,} rows of {found['n_observed']:,} outputs"
    softmax = f"numpy's softmax: {found['softmax_batch_ms']} ms, one row {found['softmax_one_row_us']} us"
    fields = ("batch_ms", "ratio_batch", "one_row_us", "ratio_one_row")
    columns = ["", f"{found['n_samples']:,} rows, ms", "over softmax", "one row, us", "over softmax"]
    rows = [[form, *(number(taken[field]) for field in fields)] for form, taken in found["bundles"].items()]
    body = [f"{graph_line(found['graph'])}; {size}; {softmax}.", table(columns, rows)]
    return Section("numpy alone", runs, ABOUT, [], body)
