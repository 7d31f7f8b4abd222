"""docs/benchmarks.md is what the kept documents say, and a verdict is on the right side of its goal."""

from __future__ import annotations

import pytest

from tests.benchmarks.pages import PAGE, PARTS, measured, render
from tests.benchmarks.pages.section import Goal

NEW = {"first_calls", "numpy_alone"}
"""Parts that the page leaves out until the whole is measured again."""


def test_the_page_is_what_the_documents_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == render(), "run: python -m tests.benchmarks --render"


@pytest.mark.parametrize("part", [part for part in PARTS if part not in NEW])
def test_every_part_is_measured_and_its_verdicts_are_on_the_page(part: str) -> None:
    section = PARTS[part](measured(part))
    page = PAGE.read_text(encoding="utf-8")
    assert f"## {section.title}\n" in page
    for goal in section.goals:
        assert f"| {' | '.join(goal.cells())} |" in page


@pytest.mark.parametrize(
    ("unit", "measured_figure", "met"),
    [("ms", 99.0, True), ("ms", 100.0, True), ("ms", 101.0, False), ("x", 99.0, False), ("x", 101.0, True)],
)
def test_times_stay_below_their_goal_and_ratios_above(unit: str, measured_figure: float, met: bool) -> None:
    goal = Goal("some work", 100, measured_figure, unit)
    assert goal.met is met
    assert goal.cells()[-1] == ("met" if met else "**missed**")
