"""docs/scoring.md: its examples run, and the figures it names are those of the code."""

import doctest
from pathlib import Path

from labelgrove.adapter import scorer, state
from labelgrove.adapter.answers import batches
from labelgrove.adapter.outputs import gate, outputkinds

DOCUMENT = Path(__file__).parents[3] / "docs" / "scoring.md"


def test_the_examples_run():
    found = doctest.testfile(str(DOCUMENT), module_relative=False, encoding="utf-8")
    assert found.failed == 0
    assert found.attempted >= 12


def test_the_figures_are_those_of_the_code():
    text = DOCUMENT.read_text(encoding="utf-8")
    assert f"Rows are read {gate._ROWS_AT_ONCE:,} at a time" in text
    assert f"where K is above {gate._VALUES_AT_ONCE // gate._ROWS_AT_ONCE:,}" in text
    assert f"chunk is {gate._VALUES_AT_ONCE * 8 >> 20} MiB" in text
    assert f"scorers of the {state._SETS_KEPT} sets" in text
    assert f"Lists of up to {batches._FEW} keys" in text
    assert f"values above {outputkinds.LARGEST_LOG}" in text
    assert scorer.MAX_VALUES == 1 << 27
    assert "2^27 numbers" in text
