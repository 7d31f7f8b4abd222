"""docs/reliability.md is what the kept documents say, and they know every test they show."""

from __future__ import annotations

from tests.faults.measured import documents
from tests.faults.page import PAGE, TESTS, render


def test_the_page_is_what_the_documents_say():
    assert PAGE.read_text(encoding="utf-8") == render(), "run: python -m tests.faults"


def test_every_run_says_its_seed_its_time_and_its_day():
    for test, runs in documents().items():
        assert test in TESTS
        for figures in runs.values():
            assert {"seed", "seconds", "date"} <= figures.keys(), test
