"""Intervals that hold under skew, and the verdict that rests on them."""

from __future__ import annotations

from typing import Any

from tests.benchmarks.pages.section import Goal, Run, Section, paragraph, table

ABOUT = """\
`python -m tests.benchmarks.bench_intervals`: how often intervals of 95 % miss the mean, of what one rule
saves against another, by five methods from the same samples; *one more sample* is that of `adapter.evaluate`,
here with the least and the largest value that there can be as its extremes.
A cell has the percentage of intervals wholly below the mean, and of those wholly above it, 2.5 each where the
method keeps its word; an interval above the mean is what lets a rule look better than it is. Widths are
beside that of Student's t, in the mean, for {size} samples."""

VERDICTS = """\
How often `adapter.evaluate` says `use it`, in per cent, on a line of 60 labels: 00 and 50 are observed, the
outputs are (0.501, 0.499), the Fréchet mean answers 25, argmax 00 and the constant 59. Where 10 and 50 are
observed they answer 30, 10 and 59. A truth is 00 with the probability at the head of the column, else as the
first column says. With {worse:g} % of them the Fréchet mean is worse than argmax and every `use it` is wrong;
with the others it is better. These are no draws: all numbers of truths that are 00 are evaluated, and count
with their binomial probability."""

USUAL = """\
A model that is right but for noise of one label, on a line of 15 labels with 0, 7 and 14 observed and truths
anywhere: E[d²] is 1.2 and that of argmax 4.6. How often `use it` comes, and how often the interval of the
difference to argmax, as `adapter.evaluate` makes it, lies below the mean and above it, in per cent:"""

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
        Goal("misses of one more sample on a side, at most", 4.0, round(max(misses), 2), "%"),
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
