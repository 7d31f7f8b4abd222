"""A model followed night by night: the same schedule, another file, and a history in the graph."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from labelgrove.cli import grove
from labelgrove.ontology import LabelGraph
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.versions.ingest import register
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers.ledger.ledger import Ledger
from labelgrove.workers.ledger.states import State
from labelgrove.workers.running.execute import Outcome, execute_unit
from labelgrove.workers.schedules.schedule import Timetable, fire_due

DAY = 86_400.0
GARDEN = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree"), ("tree", "plant"), ("moss", "plant")])
TRUTH = ["oak", "elm", "tree", "moss"] * 10
REQUEST = (
    *("evaluation", "--param", "model=50", "--param", "ontology=garden", "--param", "observed=oak,elm,moss"),
    *("--param", "outputs=outputs.npy", "--param", "truth=truth.txt"),
)
COOKBOOK = (Path(__file__).parents[3] / "docs" / "cypher.md").read_text(encoding="utf-8")


class Clock:
    """Time that moves when told to."""

    time = 0.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def call(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> dict:
        outcome = CliRunner().invoke(grove, [*arguments, "--json"])
        assert outcome.exit_code == 0, (outcome.output, outcome.exception)
        return json.loads(outcome.stdout)

    return run


def write_outputs(n_wrong: int) -> None:
    seen = [*(["moss"] * n_wrong), *TRUTH[n_wrong:]]
    rows = [[0.9 * (key == column) + 0.05 for column in ("oak", "elm", "moss")] for key in seen]
    np.save("outputs.npy", rows)


def test_two_nights_with_other_outputs_are_two_evaluations_in_their_order(call):
    write_outputs(n_wrong=4)
    Path("truth.txt").write_text("\n".join(TRUTH))
    settings, clock = Settings.from_env(), Clock()
    with Workspace.open(settings) as workspace:
        register(workspace, "garden", GARDEN)
    added = call("jobs", "schedule", "add", "nightly", "--cron", "30 2 * * *", *REQUEST)
    assert added["parameters"]["outputs"] == str(
        Path("outputs.npy").absolute()
    )  # as who fires it may be elsewhere
    with Workspace.open(settings) as workspace:
        ledger, timetable = Ledger(workspace.engine, clock=clock), Timetable(workspace.engine, clock=clock)
        (schedule,) = timetable.schedules()
        clock.time = schedule.next_at

        def night() -> list[Outcome]:
            """Let the schedule be due, and do what it asks for."""
            assert fire_due(workspace, ledger, timetable) == 1
            done = [execute_unit(key, ledger, workspace) for key, _, _ in ledger.due(10)]
            clock.time += DAY
            return done

        assert night() == [Outcome.DONE]
        write_outputs(n_wrong=20)
        assert night() == [Outcome.DONE]
        assert night() == []  # nothing changed: the evaluation of the night before
        firings = timetable.firings("nightly")
        assert [firing.error for firing in firings] == [None, None, None]
        first, second, third = (firing.job_id for firing in firings)
        assert first != second == third
        jobs = [ledger.job(first), ledger.job(second)]
        assert [(job.state, job.publishing) for job in jobs] == [(State.DONE, False)] * 2
        dates = [datetime.fromtimestamp(schedule.next_at + i * DAY, UTC) for i in (0, 1)]
        nights = [date.isoformat(timespec="milliseconds") for date in dates]
    history = recipe(call, "error of a model by version", "-p", "model=50")
    assert [row[0] for row in history] == nights
    assert {(row[1], row[2], row[4]) for row in history} == {("garden", GARDEN.digest, len(TRUTH))}
    assert history[0][5] < history[1][5]
    ((model, newest, *_),) = recipe(call, "latest evaluation of each model")
    assert (model, newest) == ("50", nights[1])
    ((_, _, now, before, worse, *_),) = recipe(call, "last evaluation beside the one before")
    assert (before, now, worse) == (history[0][5], history[1][5], True)


def test_a_file_that_is_not_there_when_due_is_told_and_the_next_night_is_another_try(call):
    write_outputs(n_wrong=0)
    Path("truth.txt").write_text("\n".join(TRUTH))
    settings, clock = Settings.from_env(), Clock()
    with Workspace.open(settings) as workspace:
        register(workspace, "garden", GARDEN)
        call("jobs", "schedule", "add", "nightly", "--cron", "30 2 * * *", *REQUEST)
        ledger, timetable = Ledger(workspace.engine, clock=clock), Timetable(workspace.engine, clock=clock)
        clock.time = timetable.schedules()[0].next_at
        Path("outputs.npy").rename("away.npy")
        assert fire_due(workspace, ledger, timetable) == 1
        clock.time += DAY
        Path("away.npy").rename("outputs.npy")
        assert fire_due(workspace, ledger, timetable) == 1
        lost, found = timetable.firings("nightly")
    assert lost.job_id is None
    assert "outputs.npy: there is no such file" in lost.error
    assert (found.error, found.job_id is None) == (None, False)


def recipe(call, name: str, *parameters: str) -> list[list]:
    (cypher,) = re.findall(rf"```cypher\n(// name: {name}\n.*?)```", COOKBOOK, re.DOTALL)
    return call("cypher", "--ontology", "garden", *parameters, cypher)["rows"]
