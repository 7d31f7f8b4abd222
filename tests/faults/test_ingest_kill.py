"""Kill -9 during ingest at 5,000 labels, on both stores; the WordNet size has a command of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from labelgrove.ontology.settings import Settings
from tests.conftest import ONE_PROCESS
from tests.faults.ingest_kill import POINTS, numbered_graph, run_trials

pytestmark = pytest.mark.faults

RANDOM_MOMENTS = 2
LABELS = 5000


@pytest.fixture(params=["embedded", pytest.param("neo4j", marks=[ONE_PROCESS, pytest.mark.slow])])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    env = {"GROVE_HOME": str(tmp_path / "home")}
    if request.param == "neo4j":
        env["GROVE_GRAPH_URL"] = request.getfixturevalue("neo4j_clean_url")
    return Settings.from_env(env)


def test_a_reader_sees_old_or_new_and_a_second_run_completes(settings: Settings) -> None:
    points = [*POINTS, *[None] * RANDOM_MOMENTS]
    graphs = [numbered_graph(i, LABELS) for i in range(len(points) + 1)]
    outcome = run_trials(settings, graphs, points, seed=20240601)
    history = "\n".join([*outcome.trials, *outcome.problems])
    assert not outcome.problems, history
    assert len(outcome.trials) == len(points), history
    assert outcome.reads > len(points), history
