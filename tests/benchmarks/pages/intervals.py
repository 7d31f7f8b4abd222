"""Intervals that hold under skew, and the verdict that depends on them."""

from __future__ import annotations

from typing import Any

from tests.benchmarks.pages.section import Goal, Run, Section, paragraph, table

ABOUT = """\
`python -m tests.benchmarks.bench_intervals`: how often intervals of 95 % miss the mean of the gain of one
rule over another, by five methods from the same samples. *One more sample* is the method of
`adapter.evaluate`; here, its extremes are the smallest and the largest possible value. A cell has the
percentage of intervals that lie wholly below the mean and wholly above it; both are 2.5 where the method is
exact. An interval above the mean makes a rule look better than it is. Widths are means, relative to the
width of Student's t, for {size} samples."""

VERDICTS = """\
How often `adapter.evaluate` says `use it`, in percent, on a line of 60 labels: 00 and 50 are observed, the
outputs are (0.501, 0.499), the Fréchet mean answers 25, argmax 00 and the constant 59. Where 10 and 50 are
observed, they answer 30, 10 and 59. A truth is 00 with the probability at the head of the column, and
otherwise as the first column says. With {worse:g} %, the Fréchet mean is worse than argmax, and every `use
it` is wrong; with the other probabilities it is better. Nothing is drawn here: every possible number of
truths that are 00 is evaluated, and counts with its binomial probability."""

USUAL = """\
A model that is right except for noise of one label, on a line of 15 labels with 0, 7 and 14 observed and
truths anywhere: E[d²] is 1.2, and 4.6 for argmax. The table shows how often the verdict is `use it`, and
how often the interval of the difference to argmax, as `adapter.evaluate` computes it, lies below the mean
and above it, in percent:"""

ALLOWED = 3.0
WIDTHS_AT = "120"


def section(runs: list[Run]) -> Section:
    """Write the part."""
    (run,) = runs
    document = run["document"]
    shares = [100 * share for share in document["shares"]]
    wrong = [of_size[0] for found in document["verdicts"].values() for of_size in found.values()]
    misses = [
        100 * cell["one more sample"][side]
        for sizes in document["intervals"].values()
        for cell in sizes.values()
        for side in ("low", "high")
    ]
    goals = [
        Goal('wrong "use it" on the line, at most', ALLOWED, round(100 * max(wrong), 2), "%"),
        Goal("misses of *one more sample* on a side, at most", 4.0, round(max(misses), 2), "%"),
    ]
    columns = ["truths that are not 00", "samples", *(f"{share:g} % are 00" for share in shares)]
    rows = [
        [said, f"{int(n):,}", *(f"{100 * chance:.1f}" for chance in chances)]
        for said, found in document["verdicts"].items()
        for n, chances in found.items()
    ]
    usual = [
        [n, *(f"{100 * found[name]:.1f}" for name in ("used", "low", "high"))]
        for n, found in document["usual_model"].items()
    ]
    about = ABOUT.format(size=WIDTHS_AT)
    body = [*(_table(name, sizes) for name, sizes in document["intervals"].items())]
    return Section(
        "Intervals and the verdict",
        runs,
        f"{about} Each cell has {document['trials']:,} trials.",
        goals,
        [
            *body,
            paragraph(VERDICTS.format(worse=shares[0])),
            table(columns, rows),
            paragraph(USUAL),
            table(["samples", "use it", "below", "above"], usual),
        ],
    )


def _table(name: str, sizes: dict[str, Any]) -> str:
    usual = sizes[WIDTHS_AT]["Student's t"]["width"]
    rows = [
        [
            method,
            *(
                f"{100 * cell[method]['low']:.1f} / {100 * cell[method]['high']:.1f}"
                for cell in sizes.values()
            ),
            f"{sizes[WIDTHS_AT][method]['width'] / usual:.2f}",
        ]
        for method in sizes[WIDTHS_AT]
    ]
    columns = ["method", *(f"{n} samples" for n in sizes), "width"]
    return f"{name[0].upper()}{name[1:]}:\n\n{table(columns, rows)}"
