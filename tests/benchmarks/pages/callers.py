"""What callers pay for a call of an adapter."""

from __future__ import annotations

from tests.benchmarks.pages.section import Goal, Run, Section, graph_line, number, paragraph, table

WANTED_MS = {
    "logits, float32": 2.5,
    "probabilities, float16": 2,
    "probabilities, bfloat16": 2,
    "probabilities, Fortran order": 2,
    "probabilities, every other column": 2,
    "probabilities, top 5": 3,
}
WANTED_US = {"logits": 12, "probabilities, top 5": 25}
WANTED_AFTER_PRODUCT_US = 100
WANTED_SHARE, WANTED_THREADS = 1.2, 1.8
SEARCH, USUAL = "the compiled search alone", "probabilities, float32"

ABOUT = """\
`python -m tests.benchmarks.bench_callers`: a call of an adapter of a tree, for every form of outputs.
*Cold* calls come after the caches of the processor were filled with other data, *warm* calls follow one
another; both in milliseconds of processor time, medians of nine. Answers of all forms equal those for
float64. *Top 5* includes the plain sums of the five labels and their keys as text."""

PROFILE = """\
a batch of `top_k` spends a third of its time on plain sums, a third on the search for finalists and a fifth
on decoding keys; a single row spends it on the steps between these in Python."""


PRODUCTS = """\
In a model server, a row comes from a product that fills the caches with weights: here of 1 x {n_hidden:,}
with {n_hidden:,} x {n_observed:,} numbers in float32. Each call of `Adapter.predict` is timed alone;
*graph* is a bundle of a graph, with a block of distances."""


def section(runs: list[Run]) -> Section:
    """Write the part."""
    (run,) = runs
    found = run["document"]
    batches, single, products = found["batches_ms"], found["one_row_us"], found.get("one_row_in_a_server_us")
    threads = found.get("shared_ms", found["threads"])  # an earlier document keeps these times as its threads
    many = f"{found['shared_rows']:,} rows"
    share = batches[USUAL]["warm"] / found["beside_ms"][SEARCH]["warm"]
    goals = [
        Goal(f"{USUAL}: time over that of {SEARCH}", WANTED_SHARE, round(share, 2), "times"),
        *(Goal(f"{form}: a cold call", ms, batches[form]["cold"], "ms") for form, ms in WANTED_MS.items()),
        *(Goal(f"one row, {form}", us, single[form], "us") for form, us in WANTED_US.items()),
        *(
            Goal(f"one row after a product, {form}", WANTED_AFTER_PRODUCT_US, us["after a product"], "us")
            for form, us in (products or {}).items()
        ),
        *(
            Goal(f"{form}: {many}, one thread over two", WANTED_THREADS, rates["ratio"], "x")
            for form, rates in threads.items()
        ),
    ]
    size = f"{found['n_samples']:,} rows of {found['n_observed']:,} outputs"
    body = [
        f"{graph_line(found['graph'])}; {size}.",
        _times(found["beside_ms"]),
        _times(batches),
        table(["one row, us", "warm"], [[form, number(us)] for form, us in single.items()]),
        *([] if products is None else [paragraph(PRODUCTS.format(**found)), _in_a_server(products)]),
        table(
            [f"{many}, ms", "one thread", "two threads", "ratio"],
            [
                [form, *(number(rates[k]) for k in ("threads_1_ms", "threads_2_ms", "ratio"))]
                for form, rates in threads.items()
            ],
        ),
    ]
    return Section("What callers pay", runs, ABOUT, goals, body, PROFILE)


def _times(found: dict[str, dict[str, float] | None]) -> str:
    unknown = {"cold": None, "warm": None}  # what it needs is not installed
    rows = [[what, *(number((t or unknown)[way]) for way in ("cold", "warm"))] for what, t in found.items()]
    return table(["ms", "cold", "warm"], rows)


def _in_a_server(found: dict[str, dict[str, float]]) -> str:
    ways = ("cold", "after a product", "warm")
    return table(
        ["one row, us", *ways], [[form, *(number(us[way]) for way in ways)] for form, us in found.items()]
    )
