"""Schedules: cron against a slow oracle; one firing for each due time, whoever sweeps and whatever fails."""

from __future__ import annotations

import calendar
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st

from labelgrove.ontology import LabelGraph
from labelgrove.ontology.errors import (
    ConflictError,
    InputError,
    NotFoundError,
    ServiceError,
    UnknownLabelError,
)
from labelgrove.ontology.sql.database import writing
from labelgrove.workers.kinds import JobKind, Step
from labelgrove.workers.ledger.ledger import Ledger
from labelgrove.workers.ledger.states import State
from labelgrove.workers.running.sweeper import sweep
from labelgrove.workers.schedules.cron import Cron
from labelgrove.workers.schedules.schedule import KEEP_S, Timetable, add_schedule, fire_due
from tests.integration.workers_support import add_version, as_given, registered

HOUR = 3600.0
HOURLY = "0 * * * *"
TREE = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree")])
BOTH = pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)


@pytest.fixture
def ledger(workspace, clock) -> Ledger:
    clock.time = 100 * HOUR + 1  # a second past the hour
    return Ledger(workspace.engine, clock=clock)


@pytest.fixture
def timetable(workspace, clock) -> Timetable:
    return Timetable(workspace.engine, clock=clock)


@pytest.fixture
def add(workspace, ledger, timetable):
    def run(name="hourly", cron=HOURLY, kind="parts", parameters=None, target=None) -> None:
        given = {"numbers": [1, 2]} if parameters is None else parameters
        add_schedule(workspace, name, cron, kind, given, target=target, timetable=timetable)

    return run


@pytest.fixture
def fire(workspace, ledger, timetable):
    return lambda: fire_due(workspace, ledger, timetable)


# ---- cron ----------------------------------------------------------------------------------------------


def _field(low: int, high: int) -> st.SearchStrategy[tuple[str, frozenset[int]]]:
    """Draw the text of a field and the numbers it means."""
    number = st.integers(low, high)
    whole = frozenset(range(low, high + 1))
    ranges = st.tuples(number, number).map(sorted)
    one = number.map(lambda n: (str(n), frozenset([n])))
    some = ranges.map(lambda r: (f"{r[0]}-{r[1]}", frozenset(range(r[0], r[1] + 1))))
    steps = st.integers(1, 9).map(lambda k: (f"*/{k}", frozenset(range(low, high + 1, k))))
    lists = st.lists(one | some, min_size=2, max_size=3).map(
        lambda parts: (",".join(text for text, _ in parts), frozenset().union(*(n for _, n in parts)))
    )
    return st.one_of(st.just(("*", whole)), one, some, steps, lists)


def _oracle(fields, instant: float, step: int) -> float | None:
    """Walk over the days of two years and their minutes; None if nothing is due in them."""
    minutes, hours, days, months, weekdays = (numbers for _, numbers in fields)
    either = not (fields[2][0].startswith("*") or fields[4][0].startswith("*"))
    begin = datetime.fromtimestamp(instant, UTC)
    for offset in range(730):
        day = begin.date() + step * timedelta(days=offset)
        fits = (day.day in days, (day.weekday() + 1) % 7 in weekdays)
        if day.month not in months or not (any(fits) if either else all(fits)):
            continue
        midnight = calendar.timegm(day.timetuple())
        times = sorted((midnight + 3600.0 * h + 60.0 * m for h in hours for m in minutes), reverse=step < 0)
        found = next((t for t in times if (t > instant if step > 0 else t <= instant)), None)
        if found is not None:
            return found
    return None


def _parsed(text: str) -> Cron | None:
    try:
        return Cron(text)
    except InputError:
        return None


@settings(max_examples=60)
@given(
    fields=st.tuples(_field(0, 59), _field(0, 23), _field(1, 31), _field(1, 12), _field(0, 6)),
    instant=st.floats(1.6e9, 1.9e9) | st.integers(26_000_000, 31_000_000).map(lambda n: 60.0 * n),
)
def test_due_times_are_those_of_the_calendar(fields, instant):
    cron = _parsed(" ".join(text for text, _ in fields))
    if cron is None:  # of all that is drawn, only days that no month has are refused
        assert _oracle(fields, instant, 1) is None
        return
    following, last = _oracle(fields, instant, 1), _oracle(fields, instant, -1)
    assert following is None or cron.after(instant) == following
    assert last is None or cron.until(instant) == last
    assert cron.until(cron.after(instant)) == cron.after(instant)
    assert cron.until(instant) <= instant < cron.after(instant)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("61 * * * *", "minute is '61'; give \\* or 0-59"),
        ("0 24 * * *", "hour is '24'"),
        ("0 0 0 * *", "day of the month is '0'"),
        ("0 0 * 13 *", "month is '13'"),
        ("0 0 * JANUARY *", "month is 'JANUARY'"),
        ("0 0 * * 8", "day of the week is '8'"),
        ("0 0 * * fri-mon", "day of the week is 'fri-mon'; .*from low to high"),
        ("*/0 * * * *", r"minute is '\*/0'"),
        ("1,,2 * * * *", "minute is '1,,2'"),
        ("-1 * * * *", "minute is '-1'"),
        ("² * * * *", "minute is '²'"),
        ("0 0 30 2 *", "is never due"),
        ("* * * *", "4 fields; give five"),
        ("0 * * * * *", "6 fields; give five"),
        ("@daily", "1 fields; give five"),
        ("", "0 fields"),
        ("1," * 200 + "1 * * * *", "at most 200"),
    ],
)
def test_a_bad_expression_is_refused_with_field_and_rule(text, said):
    with pytest.raises(InputError, match=said):
        Cron(text)


def test_names_and_both_sundays():
    assert Cron("0 0 * jan-mar,DEC Mon-Fri").after(0.0) == Cron("0 0 * 1-3,12 1-5").after(0.0)
    assert Cron("0 0 * * 0").after(0.0) == Cron("0 0 * * 7").after(0.0) == 3 * 86_400


# ---- firing --------------------------------------------------------------------------------------------


@BOTH
def test_a_due_time_fires_once_and_the_next_one_again(add, fire, clock, ledger, timetable):
    add()
    assert fire() == 0
    for hour in (101, 102):
        clock.time = hour * HOUR
        assert fire() == 1
        assert fire() == 0
        clock.time += 1800
        assert fire() == 0
    (job,) = ledger.jobs()  # the same request is the same job
    assert [(f.due_at, f.job_id, f.error) for f in timetable.firings("hourly")] == [
        (101 * HOUR, job.id, None),
        (102 * HOUR, job.id, None),
    ]
    (schedule,) = timetable.schedules()
    assert (schedule.next_at, schedule.last.due_at) == (103 * HOUR, 102 * HOUR)


def test_of_the_missed_due_times_the_latest_fires_once(add, fire, clock, timetable, caplog):
    add()
    clock.time = 150 * HOUR + 60
    with caplog.at_level("INFO", logger="labelgrove.workers.schedules.schedule"):
        assert fire() == 1
    assert "hourly, due 1970-01-07T06:00:00Z: job" in caplog.text
    assert fire() == 0
    assert [f.due_at for f in timetable.firings("hourly")] == [150 * HOUR]
    clock.time = 151 * HOUR
    assert fire() == 1


@BOTH
def test_many_sweepers_at_once_fire_once(workspace, clock, timetable, ledger):
    sweepers, counted = 6, iter(range(10**6))
    together = threading.Barrier(sweepers)

    def differently(given, subject) -> dict:
        """Hold every sweeper until all have read the schedule; each resolves the request its own way."""
        together.wait(timeout=60)
        return {"n": next(counted)}

    racing = JobKind("racing", 1, differently, lambda parameters: [Step(parameters)], lambda work: None)
    timetable.add("race", Cron(HOURLY), "racing", {})
    with registered(racing), ThreadPoolExecutor(sweepers) as pool:
        for hour in (101, 102, 103):
            clock.time = hour * HOUR
            ledgers = [Ledger(workspace.engine, clock=clock) for _ in range(sweepers)]
            runs = [pool.submit(fire_due, workspace, own, timetable) for own in ledgers]
            assert sorted(run.result() for run in runs) == [0] * (sweepers - 1) + [1]
    firings = timetable.firings("race")
    assert [f.due_at for f in firings] == [101 * HOUR, 102 * HOUR, 103 * HOUR]
    assert {f.job_id for f in firings} == {job.id for job in ledger.jobs()}
    assert len(ledger.jobs()) == 3


@BOTH
def test_a_sweeper_that_slept_fires_no_missed_time(add, fire, clock, timetable, ledger):
    add()
    clock.time = 101 * HOUR
    _, (seen,) = timetable.due()
    clock.time = 102 * HOUR
    assert fire() == 1
    assert not timetable.fire(seen, 101 * HOUR, next_at=102 * HOUR)
    (now,) = timetable.schedules()
    assert now.next_at == 103 * HOUR
    assert not timetable.fire(now, 102 * HOUR, next_at=103 * HOUR)  # a clock set back: this row is there
    assert [f.due_at for f in timetable.firings("hourly")] == [102 * HOUR]


@BOTH
def test_job_and_firing_are_recorded_together_or_not_at_all(
    workspace, add, fire, clock, timetable, monkeypatch
):
    class Dying(Ledger):
        def record(self, connection, plan, *, target=None) -> None:
            super().record(connection, plan, target=target)
            raise ServiceError("the database went away")

    add()
    clock.time = 101 * HOUR
    dying = Dying(workspace.engine, clock=clock)
    assert fire_due(workspace, dying, timetable) == 0
    assert dying.jobs() == []
    assert timetable.firings("hourly") == []
    assert fire() == 1
    assert len(dying.jobs()) == 1


def test_names_mean_what_they_mean_when_due(workspace, add, fire, clock, ledger):
    add_version(workspace, "trees", TREE)
    target = {"ontology": "trees", "bundle": "mine"}
    request = {"ontology": "trees", "observed": ["oak", "elm"]}
    add(kind="bundle", parameters=request, target=target)
    newer = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree"), ("ash", "tree")])
    add_version(workspace, "trees", newer)
    clock.time = 101 * HOUR
    assert fire() == 1
    (job,) = ledger.jobs()
    assert (job.parameters["ontology"], job.publishing) == (newer.digest, True)
    add_version(workspace, "trees", LabelGraph.from_edges([("ash", "tree")]))  # an observed label is gone
    clock.time = 102 * HOUR
    assert fire() == 1
    (schedule,) = Timetable(workspace.engine).schedules()
    assert schedule.last.job_id is None
    assert "'oak'" in schedule.last.error
    assert ledger.jobs() == [job]


def test_a_request_that_cannot_be_made_keeps_no_other_from_firing(add, fire, clock, timetable, ledger):
    timetable.add("a-gone", Cron(HOURLY), "bundle", {"ontology": "gone", "observed": ["x"]})
    timetable.add("b-broken", Cron(HOURLY), "parts", {"numbers": "x"})
    timetable.add("c-foreign", Cron(HOURLY), "elsewhere", {})
    add("d-good")
    clock.time = 101 * HOUR
    assert fire() == 3
    last = {schedule.name: schedule.last for schedule in timetable.schedules()}
    assert "'gone' is not in the catalog" in last["a-gone"].error
    assert "give numbers" in last["b-broken"].error
    assert last["c-foreign"] is None
    assert last["d-good"].job_id == ledger.jobs()[0].id
    elsewhere = JobKind("elsewhere", 1, as_given, lambda parameters: [Step(parameters)], lambda work: None)
    with registered(elsewhere):  # a process that knows the kind
        assert fire() == 1


def test_a_fault_of_the_moment_leaves_a_schedule_due(add, fire, clock, timetable):
    away = [True]

    def asking(parameters, subject) -> dict:
        if away:
            raise ServiceError("the artifact store does not answer")
        return dict(parameters)

    asked = JobKind("asked", 1, asking, lambda parameters: [Step(parameters)], lambda work: None)
    timetable.add("a-asked", Cron(HOURLY), "asked", {})
    add("b-good")
    clock.time = 101 * HOUR
    with registered(asked):
        assert fire() == 1
        assert timetable.firings("a-asked") == []
        away.clear()
        assert fire() == 1
    assert [f.error for f in timetable.firings("a-asked")] == [None]


@BOTH
@pytest.mark.parametrize(
    ("column", "text", "said"),
    [
        ("cron", "@odd", "cron '@odd': 1 fields"),
        (
            "parameters_json",
            "garbage",
            "parameters_json is garbage, expected a JSON object",
        ),
        ("parameters_json", "[1]", r"parameters_json is \[1\], expected a JSON object"),
        ("target_json", "{", "target_json is {, expected a JSON object"),
        ("target_json", "5", "target_json is 5, expected a JSON object"),
    ],
)
def test_a_row_that_no_version_wrote_is_told_once_a_day_and_keeps_no_other_from_firing(
    workspace, add, fire, clock, timetable, ledger, caplog, column, text, said
):
    add("a-odd")
    add("b-good")
    with writing(workspace.engine) as connection:
        connection.execute(
            sa.text(f"UPDATE schedule SET {column} = :text WHERE name = 'a-odd'"), {"text": text}
        )
    clock.time = 101 * HOUR
    assert [fire(), fire()] == [2, 0]
    odd, good = timetable.schedules()
    assert odd.last.job_id is None
    assert re.search(f"{said}.*grove jobs schedule remove a-odd, then", odd.last.error)
    assert (odd.damage, good.damage) == (odd.last.error, None)
    assert [job.id for job in ledger.jobs()] == [good.last.job_id]
    assert len(caplog.messages) == 1
    clock.time = 124 * HOUR
    assert [fire(), len(caplog.messages)] == [1, 1]
    clock.time += 2 * HOUR
    assert [fire(), len(caplog.messages)] == [2, 2]
    timetable.remove("a-odd")
    add("a-odd")
    assert timetable.schedules()[0].damage is None


def test_a_sweep_fires_and_sends(workspace, add, clock, ledger):
    add()
    clock.time = 101 * HOUR
    sent: list[str] = []
    sweep(workspace, ledger, lambda key, queue: sent.append(key), window=8)
    assert len(sent) == 2
    sweep(workspace, ledger, lambda key, queue: sent.append(key), window=8)
    assert len(sent) == 2


def test_a_failed_job_is_tried_again_when_due(add, fire, clock, ledger):
    add(parameters={"numbers": [1]})
    clock.time = 101 * HOUR
    fire()
    (job,) = ledger.jobs()
    ledger.cancel(job.id)
    clock.time = 102 * HOUR
    fire()
    assert ledger.job(job.id).state is State.PENDING


def test_time_is_the_database_servers(workspace):
    timetable = Timetable(workspace.engine)
    add_schedule(workspace, "often", "* * * * *", "parts", {"numbers": [1]})
    (schedule,) = timetable.schedules()
    assert schedule.created_at < schedule.next_at <= schedule.created_at + 60
    with writing(workspace.engine) as connection:
        connection.execute(sa.text("UPDATE schedule SET next_at = 60"))
    assert fire_due(workspace, Ledger(workspace.engine), timetable) == 1
    (firing,) = timetable.firings("often")
    assert firing.due_at % 60 == 0
    assert firing.fired_at - 60 < firing.due_at <= firing.fired_at


def test_old_firings_are_forgotten(add, fire, clock, timetable):
    add(cron="0 0 * * *")
    for _ in range(3):
        clock.time += KEEP_S - 86_400
        fire()
    assert len(timetable.firings("hourly")) == 2


# ---- adding and removing -------------------------------------------------------------------------------


@BOTH
def test_removing_keeps_the_jobs_and_frees_the_name(add, fire, clock, timetable, ledger):
    add()
    clock.time = 101 * HOUR
    fire()
    timetable.remove("hourly")
    assert (timetable.schedules(), timetable.firings("hourly"), len(ledger.jobs())) == ([], [], 1)
    with pytest.raises(NotFoundError, match="no schedule 'hourly'; existing schedules: none"):
        timetable.remove("hourly")
    add()
    assert fire() == 0  # the due time that its namesake answered is not its own


@BOTH
def test_what_breaks_a_rule_is_refused_and_nothing_is_recorded(workspace, add, timetable):
    add_version(workspace, "trees", TREE)
    bundle = {"ontology": "trees", "observed": ["oak"]}
    refused = [
        (InputError, "schedule name 'No!'", {"name": "No!"}),
        (InputError, "minute is '61'", {"cron": "61 * * * *"}),
        (InputError, "job kind 'nonsense' is not known", {"kind": "nonsense"}),
        (InputError, "give numbers", {"parameters": {}}),
        (
            NotFoundError,
            "'gone' is not in the catalog",
            {"kind": "bundle", "parameters": bundle | {"ontology": "gone"}},
        ),
        (
            NotFoundError,
            "no version 'abcd'",
            {"kind": "bundle", "parameters": bundle | {"ontology": "trees@abcd"}},
        ),
        (InputError, "ontology is 7", {"kind": "bundle", "parameters": bundle | {"ontology": 7}}),
        (UnknownLabelError, "'ash'", {"kind": "bundle", "parameters": bundle | {"observed": ["ash"]}}),
        (InputError, "write a decimal number as a string", {"parameters": {"numbers": [1], "x": 0.5}}),
    ]
    for error, said, asked in refused:
        with pytest.raises(error, match=said):
            add(**asked)
    assert timetable.schedules() == []
    add()
    with pytest.raises(ConflictError, match="'hourly' is taken"):
        add()
    assert len(timetable.schedules()) == 1


def test_an_ontology_is_named_by_name_version_or_digest(workspace, add, fire, clock, ledger):
    add_version(workspace, "trees", TREE)
    for i, ontology in enumerate((TREE.digest, f"trees@{TREE.digest[:8]}", "trees")):
        add(f"s{i}", kind="bundle", parameters={"ontology": ontology, "observed": ["oak"]})
    clock.time = 101 * HOUR
    assert fire() == 3
    assert len(ledger.jobs()) == 1
