"""Units of a job as pages, strips and sums: equal to what a list of all its units says."""

from __future__ import annotations

from collections import Counter

import pytest
import sqlalchemy as sa

from labelgrove.ontology.errors import InputError
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.sql.database import create_engine, reading, upgrade, writing
from labelgrove.workers.ledger.ledger import Ledger
from labelgrove.workers.ledger.schema import unit_table
from labelgrove.workers.ledger.specs import PlannedJob, PlannedUnit
from labelgrove.workers.ledger.states import State
from labelgrove.workers.ledger.unitreading import WORST, read_page, read_strip, read_used

N = 211


@pytest.fixture(params=["sqlite", "postgres_url"])
def ledger(request, tmp_path):
    """A ledger with a job of `N` units in every state, and another job of two units."""
    if request.param == "sqlite":
        url = Settings.from_env({"GROVE_HOME": str(tmp_path)}).database_url
    else:
        url = request.getfixturevalue(request.param)
    engine = create_engine(url)
    upgrade(engine)
    ledger = Ledger(engine)
    for name, n in (("a", N), ("b", 2)):
        units = tuple(PlannedUnit(f"{name}{i:063x}", i % 3, "{}") for i in range(n))
        spec = '{"format":"labelgrove/job/1","parameters":{}}'
        ledger.submit(PlannedJob(name * 64, "cover", 1, spec, units, parameters={}))
    with writing(engine) as connection:
        for i, key in enumerate(ledger.units("a" * 64)):
            values = {"state": WORST[-1 if i < 140 else i % len(WORST)], "attempts": i % 4}
            values |= {"claimed_at": 100.0 + i, "ended_at": 100.5 + i, "size": 10} if i % 7 else {}
            values |= {"error": f"error {i}"} if i % 11 == 0 else {}
            connection.execute(sa.update(unit_table).where(unit_table.c.key == key).values(**values))
    yield ledger
    engine.dispose()


def read(ledger, function, *arguments, **options):
    with reading(ledger._engine) as connection:
        return function(connection, "a" * 64, *arguments, **options)


def test_a_strip_has_every_unit_once_and_a_bounded_number_of_cells(ledger):
    units = [unit.state for unit in ledger.unit_records("a" * 64, limit=N)]
    for most in (1, 7, N - 1, N, 5_000):
        cells = read(ledger, read_strip, most=most)
        assert len(cells) == min(most, N)
        ends = [cell.first for cell in cells[1:]] + [N]
        for cell, end in zip(cells, ends, strict=True):
            assert cell.units == Counter(units[cell.first : end])
            assert cell.worst is min(cell.units, key=WORST.index)
        sizes = {end - cell.first for cell, end in zip(cells, ends, strict=True)}
        assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("limit", [1, 40, 100_000])
def test_pages_one_after_the_other_have_every_unit_once(ledger, limit):
    every = ledger.unit_records("a" * 64, limit=N)
    failed = [unit for unit in every if unit.error is not None]
    failed.sort(key=lambda unit: (-(unit.ended_at or 0), unit.key))
    for errors, expected in ((False, every), (True, failed)):
        found, after = [], None
        while after is not None or not found:
            units, total, after = read(ledger, read_page, limit=limit, errors=errors, after=after)
            assert (total, len(units)) == (len(expected), min(limit, len(expected) - len(found)))
            found += units
        assert found == expected


def test_a_cursor_that_no_page_gave_is_refused(ledger):
    for after in ("", "x", "1~", f"1~{'g' * 64}", f"--~{'a' * 64}", f"1;~{'a' * 64}"):
        with pytest.raises(InputError, match="next"):
            read(ledger, read_page, limit=2, after=after)


def test_what_was_used_is_the_sum_over_all_units(ledger):
    units = ledger.unit_records("a" * 64, limit=N)
    done = [unit for unit in units if unit.state is State.DONE]
    used = read(ledger, read_used)
    assert used.units == len(done)
    assert used.n_bytes == sum(unit.size or 0 for unit in done)
    assert used.attempts == sum(unit.attempts for unit in units)
    ended = [unit.ended_at - unit.claimed_at for unit in units if unit.ended_at is not None]
    assert used.seconds == pytest.approx(sum(ended))
