"""The dispatch window over the real SQL and a broker that loses messages: bounded, in order, to the end."""

from __future__ import annotations

from pathlib import Path

import pytest

from labelgrove.ontology.sql.database import create_engine, metadata
from labelgrove.workers.ledger.ledger import Ledger
from labelgrove.workers.running.sweeper import WINDOW_PER_SLOT
from tests.benchmarks.simulation import Window


@pytest.mark.parametrize(("n_units", "slots", "loss"), [(300, 2, 0.1), (60, 5, 0.5), (40, 1, 0.0)])
def test_a_backlog_drains_in_order_and_never_floods_the_broker(
    tmp_path: Path, n_units: int, slots: int, loss: float
):
    simulated = simulate(tmp_path, n_units, slots, loss)
    assert simulated.most_out == min(WINDOW_PER_SLOT * slots, n_units)
    again = len(simulated.sent) - (n_units + 1)
    assert simulated.lost <= again + WINDOW_PER_SLOT * slots
    assert (again > 0) == (loss > 0)


def test_the_simulation_catches_a_ledger_without_a_window(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    due = Ledger.due
    monkeypatch.setattr(Ledger, "due", lambda self, window: due(self, 2 * window))
    with pytest.raises(AssertionError, match="16 messages out, 8 allowed"):
        simulate(tmp_path, 30, 2, 0.0)


def simulate(folder: Path, n_units: int, slots: int, loss: float) -> Window:
    engine = create_engine(f"sqlite:///{folder}/ledger.db")
    metadata.create_all(engine)
    simulated = Window(engine, n_units, slots=slots, loss=loss)
    try:
        simulated.run()
    finally:
        engine.dispose()
    return simulated
