"""docs/evaluation.md: its examples run, and the figures it names are those of the code."""

import doctest
from pathlib import Path

from labelgrove.adapter.evaluation import RULES, evaluating
from labelgrove.adapter.evaluation.evidence import bootstrap, trial, verdict
from labelgrove.adapter.evaluation.measures import calibrationerror
from labelgrove.adapter.outputs import gate
from labelgrove.adapter.outputs.outputfiles import FORMATS
from labelgrove.report.evaluation import _TONES

DOCUMENT = Path(__file__).parents[3] / "docs" / "evaluation.md"


def test_the_examples_run():
    found = doctest.testfile(str(DOCUMENT), module_relative=False, encoding="utf-8")
    assert found.failed == 0
    assert found.attempted >= 25


def test_the_figures_are_those_of_the_code():
    text = DOCUMENT.read_text(encoding="utf-8")
    assert f"Up to {bootstrap._MOST_GROUPS:,} samples" in text
    assert f"at most {evaluating._TRIAL_ROWS:,} samples" in text
    assert f"at most {gate._VALUES_AT_ONCE:,} numbers" in text
    assert f"fewer than {verdict._FEWEST} samples count" in text
    assert f"fewer than {verdict.FEWEST_DIFFERING} tell" in text
    times = trial._TIMES
    assert f"{len(times)} temperatures from 1/{1 / times[0]:g} to {times[-1]:g} times" in text
    assert f"takes {calibrationerror.BINS} bins" in text
    assert all(f"| `{rule}` |" in text for rule in RULES)
    assert all(f"`{ending}`" in text for ending in FORMATS)
    assert all(f"| `{answer}` |" in text for answer in verdict.ANSWERS)


def test_every_verdict_is_known_wherever_verdicts_are_read():
    (line,) = (
        line
        for line in (DOCUMENT.parent / "cypher.md").read_text(encoding="utf-8").splitlines()
        if line.startswith("| `verdict` |")
    )
    assert all(answer in line for answer in verdict.ANSWERS)
    assert _TONES.keys() == set(verdict.ANSWERS)
