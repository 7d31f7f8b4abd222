"""What is forgotten and what is deleted; above all, what is not, whoever refers to it at whatever moment."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
import sqlalchemy as sa

from labelgrove.ontology import LabelGraph
from labelgrove.ontology.errors import ArtifactError, SettingsError
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.sql.catalog import artifact_table, upkeep_table
from labelgrove.ontology.sql.database import writing
from labelgrove.ontology.sql.garbage import take_turn
from labelgrove.ontology.store.artifacts import ArtifactStore, open_store
from labelgrove.ontology.store.localfolder import LocalFolder
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers import client
from labelgrove.workers.ledger.ledger import Ledger
from labelgrove.workers.ledger.publications import Publications
from labelgrove.workers.ledger.schema import firing_table, job_unit_table, publication_table, unit_table
from labelgrove.workers.ledger.states import State
from labelgrove.workers.running.sweeper import sweep
from labelgrove.workers.schedules.cron import Cron
from labelgrove.workers.schedules.schedule import Timetable
from labelgrove.workers.upkeep import retention
from labelgrove.workers.upkeep.references import References, references
from labelgrove.workers.upkeep.retention import DAY_S, GRACE_S, TEMPORARY_S, collect, forget_jobs, tidy
from tests.integration.workers_support import PARTS, add_version, plan_parts

BOTH = pytest.mark.parametrize(
    "database", ["sqlite", pytest.param("postgresql", marks=pytest.mark.services)], indirect=True
)
TREE = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree")])
KEEP_S = 30 * DAY_S


@pytest.fixture
def store(workspace: Workspace) -> ArtifactStore:
    return workspace.artifacts


@pytest.fixture
def ledger(workspace: Workspace, clock) -> Ledger:
    return Ledger(workspace.engine, clock=clock)


@pytest.fixture
def finished(workspace: Workspace, ledger: Ledger, clock) -> Callable[..., Any]:
    """Record a done job; its artifacts are in the store, and as old as everything else."""

    def run(numbers: list[int], *, target: dict[str, str] | None = None) -> Any:
        plan = plan_parts(numbers)
        ledger.submit(plan, target=target)
        for unit in plan.units:
            if ledger.unit(unit.key).state is not State.DONE:
                claim = ledger.claim(unit.key, lease_s=60)
                assert ledger.commit(claim, workspace.artifacts.put_bytes(unit.key.encode()), 64)
        ledger.settle()
        return ledger.job(plan.id)

    return run


@pytest.fixture
def forget(workspace: Workspace, clock) -> Callable[..., int]:
    return lambda **options: forget_jobs(workspace.engine, keep_s=KEEP_S, clock=clock, **options)


def age(store: ArtifactStore, digest: str, seconds: float = GRACE_S + 60) -> str:
    """Make a file older than it is."""
    then = time.time() - seconds
    os.utime(store.local_path(digest), (then, then))
    return digest


def age_all(workspace: Workspace) -> None:
    for digest in list(workspace.artifacts.digests()):
        age(workspace.artifacts, digest)
    age_rows(workspace)


def age_rows(workspace: Workspace) -> None:
    with writing(workspace.engine) as connection:
        row = artifact_table.c
        connection.execute(sa.update(artifact_table).values(touched_at=row.touched_at - GRACE_S - 60))


def rows(workspace: Workspace, table: sa.Table) -> int:
    with workspace.engine.connect() as connection:
        return connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()


def ids(ledger: Ledger) -> set[str]:
    return {job.id for job in ledger.jobs()}


# ---- jobs ----------------------------------------------------------------------------------------------


@BOTH
def test_an_old_job_goes_with_its_units_and_publications(workspace, ledger, finished, forget, clock):
    old = finished([1, 2], target={"name": "old"})
    publications = Publications(workspace.engine)
    for publication in publications.pending():
        publications.close(publication)
    clock.time += KEEP_S + 1
    young = finished([2, 3])
    assert forget(dry_run=True) == 1
    assert ids(ledger) == {old.id, young.id}
    assert forget() == 1
    assert ids(ledger) == {young.id}
    assert rows(workspace, unit_table) == rows(workspace, job_unit_table) == 3  # one unit was shared
    assert rows(workspace, publication_table) == 0
    assert forget() == 0


@BOTH
def test_failed_and_cancelled_jobs_go_pending_ones_stay(ledger, forget, clock):
    failed, cancelled, pending = plan_parts([1]), plan_parts([2]), plan_parts([3])
    for plan in (failed, cancelled, pending):
        ledger.submit(plan, target={"name": plan.id})
    ledger.fail(ledger.claim(failed.units[0].key, lease_s=60), "no")
    ledger.settle()
    ledger.cancel(cancelled.id)
    clock.time += KEEP_S + 1
    assert forget() == 2
    assert ids(ledger) == {pending.id}


def test_a_job_is_kept_to_the_last_second(ledger, finished, forget, clock):
    finished([1])
    clock.time += KEEP_S
    assert forget() == 0
    clock.time += 1
    assert forget() == 1


@BOTH
def test_a_job_that_was_asked_for_again_is_kept_as_long_as_a_new_one(ledger, finished, forget, clock):
    wanted, _ = finished([1]), finished([2])
    clock.time += KEEP_S
    ledger.submit(plan_parts([1]))
    assert ledger.job(wanted.id).state is State.DONE
    clock.time += 1
    assert forget() == 1
    assert ids(ledger) == {wanted.id}
    clock.time += KEEP_S - 1
    assert forget() == 0
    clock.time += 1
    assert forget() == 1


@BOTH
def test_a_job_stays_while_a_bundle_has_its_result(workspace, ledger, finished, forget, clock):
    add_version(workspace, "trees", TREE)
    job, other = finished([1]), finished([2])
    name = {"size": 64, "version": TREE.digest}
    workspace.catalog.set_bundle("trees", "mine", sha256=job.result_sha256, **name)
    clock.time += KEEP_S + 1
    assert forget() == 1
    assert ids(ledger) == {job.id}
    workspace.catalog.set_bundle("trees", "mine", sha256=other.result_sha256, **name)
    assert forget() == 1


@BOTH
def test_a_job_stays_while_it_is_what_a_schedule_asked_for_last(workspace, ledger, forget, clock):
    timetable = Timetable(workspace.engine, clock=clock)
    timetable.add("hourly", Cron("0 * * * *"), "parts", {"numbers": [1]})
    done = []
    for numbers in ([1], [2]):
        (schedule,) = timetable.schedules()
        plan = plan_parts(numbers)
        clock.time = schedule.next_at

        def record(connection, plan=plan):
            ledger.record(connection, plan)

        assert timetable.fire(schedule, clock.time, next_at=clock.time + 3600, job_id=plan.id, record=record)
        for unit in plan.units:
            ledger.commit(ledger.claim(unit.key, lease_s=60), unit.key, 8)
        ledger.settle()
        done.append(plan.id)
    clock.time += KEEP_S + 1
    assert forget() == 1
    assert ids(ledger) == {done[1]}
    assert [firing.job_id for firing in timetable.firings("hourly")] == [None, done[1]]
    assert rows(workspace, firing_table) == 2


def test_a_job_stays_while_its_result_waits_for_its_name(workspace, finished, forget, clock):
    finished([1], target={"name": "mine"})
    clock.time += KEEP_S + 1
    assert forget() == 0
    publications = Publications(workspace.engine)
    publications.close(publications.pending()[0])
    assert forget() == 1


def test_a_graph_that_never_came_back_keeps_no_job(ledger, finished, forget, clock):
    finished([1], target={"graph": plan_parts([1]).id})
    clock.time += KEEP_S + 1
    assert forget() == 1


def test_the_oldest_jobs_go_first_and_no_more_than_asked_for(ledger, finished, forget, clock, monkeypatch):
    monkeypatch.setattr(retention, "_BATCH", 2)
    jobs = []
    for number in range(5):
        clock.time += 1
        jobs.append(finished([number]).id)
    clock.time += KEEP_S + 1
    assert forget(limit=3) == 3
    assert ids(ledger) == set(jobs[3:])
    assert forget() == 2


def test_a_unit_that_still_runs_is_kept_until_it_ends(workspace, ledger, forget, clock):
    plan = plan_parts([1])
    ledger.submit(plan)
    claim = ledger.claim(plan.units[0].key, lease_s=KEEP_S * 2)
    ledger.cancel(plan.id)
    clock.time += KEEP_S + 1
    assert forget() == 1
    assert rows(workspace, unit_table) == 1
    ledger.abandon(claim)
    forget()
    assert rows(workspace, unit_table) == 0


@BOTH
def test_asking_for_a_job_while_it_is_forgotten_makes_it_anew(
    workspace, ledger, finished, clock, monkeypatch
):
    """Whoever asks waits for the transaction that forgets, and finds the job gone, never half of it."""
    job = finished([1, 2])
    clock.time += KEEP_S + 1
    began, asked = threading.Event(), threading.Event()
    original = retention._keep_askers_waiting

    def slowly(connection: sa.Connection) -> None:
        original(connection)
        began.set()
        asked.wait(0.3)  # the other is in its transaction by now, or in front of it

    monkeypatch.setattr(retention, "_keep_askers_waiting", slowly)
    forgetting = threading.Thread(
        target=forget_jobs, args=(workspace.engine,), kwargs={"keep_s": KEEP_S, "clock": clock}
    )
    forgetting.start()
    assert began.wait(30)
    ledger.submit(plan_parts([1, 2]))
    asked.set()
    forgetting.join()
    assert sum(ledger.job(job.id).units.values()) == 3  # some of them kept, where it came before their turn


def test_the_days_are_a_setting():
    assert Settings.from_env({"GROVE_KEEP_JOBS_DAYS": "7"}).keep_jobs_days == 7
    assert Settings.from_env({}).keep_jobs_days == 30
    for wrong in ("0", "-1", "1.5", "many", "١"):
        with pytest.raises(SettingsError, match="GROVE_KEEP_JOBS_DAYS"):
            Settings.from_env({"GROVE_KEEP_JOBS_DAYS": wrong})


# ---- artifacts: who refers to them ---------------------------------------------------------------------


def _by_version(workspace, digest):
    _add_version(workspace, digest, None, ready=True)


def _by_loading_version(workspace, digest):
    _add_version(workspace, digest, None, ready=False)


def _by_annotations(workspace, digest):
    _add_version(workspace, workspace.artifacts.put_bytes(b"snapshot"), digest, ready=False)


def _add_version(workspace, snapshot, annotations, *, ready):
    lease = workspace.catalog.acquire("trees")
    version = workspace.catalog.open_version(
        lease,
        digest="d" * 64,
        snapshot=(snapshot, 1),
        annotations=None if annotations is None else (annotations, 1),
        n_labels=3,
        n_edges=2,
        layout="tree",
        source=None,
        n_batches=1,
    )
    if ready:
        workspace.catalog.commit(lease, version)
    workspace.catalog.release(lease)


def _by_bundle(workspace, digest):
    add_version(workspace, "trees", TREE)
    workspace.catalog.set_bundle("trees", "mine", sha256=digest, size=1, version=TREE.digest)


def _by_unit(workspace, digest):
    ledger, plan = Ledger(workspace.engine), plan_parts([1, 2])
    ledger.submit(plan)
    ledger.commit(ledger.claim(plan.units[0].key, lease_s=60), digest, 1)


def _by_request(workspace, digest):
    Ledger(workspace.engine).submit(_asking_about(digest))


def _asking_about(digest):
    from labelgrove.workers.requests.plan import plan_job

    return plan_job(PARTS, {"numbers": [1], "log": digest})


def _by_schedule(workspace, digest):
    parameters = {"numbers": [1], "keys": digest}
    Timetable(workspace.engine).add("hourly", Cron("0 * * * *"), "parts", parameters)


def _by_index(workspace, digest):
    workspace.artifacts.write_index("trees", {"bundles": {"mine": {"sha256": digest}}})


REFERENCES = [
    _by_version,
    _by_loading_version,
    _by_annotations,
    _by_bundle,
    _by_unit,
    _by_request,
    _by_schedule,
    _by_index,
]
ON_SQLITE_AND_SOME_ON_POSTGRESQL = pytest.mark.parametrize(
    ("database", "refer"),
    [("sqlite", refer) for refer in REFERENCES]
    + [pytest.param("postgresql", refer, marks=pytest.mark.services) for refer in (_by_bundle, _by_request)],
    indirect=["database"],
)


@ON_SQLITE_AND_SOME_ON_POSTGRESQL
def test_what_is_referred_to_stays(workspace, store, refer):
    wanted, unwanted = store.put_bytes(b"wanted"), store.put_bytes(b"unwanted!")
    refer(workspace, wanted)
    age_all(workspace)
    would = collect(workspace, dry_run=True)
    assert (would.artifacts, would.n_bytes) == (1, 9)
    assert store.exists(unwanted)
    assert collect(workspace) == would
    assert store.exists(wanted)
    assert not store.exists(unwanted)


def test_every_artifact_of_real_jobs_is_referred_to(tmp_path):
    """No artifact refers to another, so none may be missed: lists of labels, parts, results, bundles."""
    corners = ["0,0", "0,3", "3,0"]
    with Workspace.open(Settings.from_env({"GROVE_HOME": str(tmp_path)})) as workspace:
        store = workspace.artifacts
        add_version(workspace, "grid", LabelGraph.grid((4, 4)))
        for kind, given in {
            "locus": {"observed": corners, "block": 8, "parts": 2},
            "distances": {"columns": corners, "block": 1},
            "bundle": {"observed": corners},
            "selection": {"observed": corners, "n": 1, "costs": {"1,1": "2"}},
            "summary": {"target": 4},
        }.items():
            job = client.submit(workspace, kind, {"ontology": "grid", **given})
            assert (job.state, job.error) == (State.DONE, None)
        age_all(workspace)
        everything = set(store.digests())
        assert len(everything) >= 12
        assert all(digest in references(workspace) for digest in everything)
        for digest in everything:
            if b'"__metadata__"' in store.read_bytes(digest)[:400]:
                metadata = json.dumps(store.open_arrays(digest)[1])
                assert not any(other in metadata for other in everything)
        assert collect(workspace).artifacts == 0


def test_what_is_young_stays_whoever_refers_to_it(workspace, store):
    young = age(store, store.put_bytes(b"young"), GRACE_S - 60)
    old = age(store, store.put_bytes(b"old"), GRACE_S + 60)
    assert collect(workspace, dry_run=True).artifacts == 1
    assert collect(workspace).artifacts == 1
    assert (store.exists(young), store.exists(old)) == (True, False)


@BOTH
def test_the_grace_begins_when_the_last_reference_goes(workspace, store, finished, forget, clock):
    job = finished([1, 2])
    age_all(workspace)
    clock.time += KEEP_S + 1
    forget()
    assert collect(workspace).artifacts == 0
    assert store.exists(job.result_sha256)
    age_rows(workspace)
    assert collect(workspace).artifacts == 3
    assert rows(workspace, artifact_table) == 0


def test_rows_of_files_that_are_gone_go_and_named_ones_stay(workspace, store):
    add_version(workspace, "trees", TREE)
    _by_bundle(workspace, store.put_bytes(b"bundle"))
    assert rows(workspace, artifact_table) == 2
    workspace.catalog.set_bundle("trees", "mine", sha256=store.put_bytes(b"b"), size=1, version=TREE.digest)
    for digest in list(store.digests()):
        age(store, digest)
    collect(workspace)
    assert rows(workspace, artifact_table) == 3  # its bundle was named until just now
    age_rows(workspace)
    assert collect(workspace).artifacts == 1
    assert rows(workspace, artifact_table) == 2


def test_a_row_stays_as_long_as_its_file(workspace, store):
    kept = store.put_bytes(b"asked for by a schedule")
    _by_schedule(workspace, kept)
    _by_bundle(workspace, kept)
    workspace.catalog.set_bundle("trees", "mine", sha256=store.put_bytes(b"b"), size=1, version=TREE.digest)
    age_all(workspace)
    assert collect(workspace).artifacts == 0
    assert rows(workspace, artifact_table) == 3


def test_a_row_touched_just_now_stays_though_its_file_is_gone(workspace, store):
    """Somebody may be recording it: its file is published, and its version named, around the same moment."""
    gone = store.put_bytes(b"gone")
    _by_bundle(workspace, gone)
    workspace.catalog.set_bundle("trees", "mine", sha256=store.put_bytes(b"b"), size=1, version=TREE.digest)
    store.delete(gone)
    collect(workspace)
    assert rows(workspace, artifact_table) == 3
    age_rows(workspace)
    collect(workspace)
    assert rows(workspace, artifact_table) == 2


def test_no_more_go_at_once_than_asked_for(workspace, store, monkeypatch):
    monkeypatch.setattr(retention, "_DELETED_TOGETHER", 2)
    for number in range(7):
        age(store, store.put_bytes(b"%d" % number))
    assert collect(workspace, limit=3).artifacts == 4  # whole batches
    assert collect(workspace).artifacts == 3


def test_references_are_read_a_few_times_in_a_turn_however_many_files_go(workspace, store, monkeypatch):
    for number in range(450):
        age(store, store.put_bytes(b"%d" % number))
    read: list[int] = []

    def counted(workspace):
        read.append(1)
        return references(workspace)

    monkeypatch.setattr(retention, "references", counted)
    assert collect(workspace).artifacts == 450
    assert len(read) == 2  # to look, and before the one batch; each holds up the forks of a worker
    assert retention._ARTIFACTS_PER_TURN // retention._DELETED_TOGETHER <= 3


def test_a_damaged_index_file_stops_the_collection(workspace, store):
    old = age(store, store.put_bytes(b"old"))
    store.write_index("trees", {})
    Path(store.where, "index", "trees.json").write_text("{")
    with pytest.raises(ArtifactError, match=r"trees\.json"):
        collect(workspace)
    assert store.exists(old)


def test_references_never_lose_one():
    digests = [f"{number:064x}" for number in range(3)] + [
        f"{number:016x}" + "0" * 48 for number in range(99)
    ]
    found = References(digests)
    assert all(digest in found for digest in digests)
    assert "f" * 64 not in found
    assert "0" * 64 not in References([])


def test_a_longer_run_of_digits_is_no_reference(workspace, store):
    digest = store.put_bytes(b"old")
    _by_schedule(workspace, digest + "0")
    assert digest not in references(workspace)


# ---- what happens in between ---------------------------------------------------------------------------


class InterleavedFolder(LocalFolder):
    """Lets somebody act while files are listed, after that, or in the last moment before one is deleted."""

    while_listing: Callable[[str], None] | None = None
    after_listing: Callable[[], None] | None = None
    before_deleting: Callable[[str], None] | None = None

    def list(self, folder: str) -> Iterator[str]:
        for name in super().list(folder):
            if folder == "sha256" and self.while_listing is not None:
                self.while_listing(name)
            yield name
        if folder == "sha256" and self.after_listing is not None:
            self.after_listing()

    def delete_unless_modified(self, path: PurePosixPath, since: float) -> bool:
        if self.before_deleting is not None:
            self.before_deleting(path.name)
        return super().delete_unless_modified(path, since)


@pytest.fixture
def interleaved(workspace: Workspace, tmp_path: Path) -> ArtifactStore:
    workspace.artifacts = store = ArtifactStore(InterleavedFolder(tmp_path / "artifacts"))
    return store


@pytest.mark.parametrize("refer", [_by_bundle, _by_unit, _by_request, _by_schedule])
def test_what_is_referred_to_after_the_listing_stays(workspace, interleaved, refer):
    digest = age(interleaved, interleaved.put_bytes(b"wanted"))
    interleaved.storage.after_listing = lambda: (refer(workspace, digest), age_rows(workspace))
    assert collect(workspace).artifacts == 0
    assert interleaved.exists(digest)


@pytest.mark.parametrize("renew", ["put", "touch"])
@pytest.mark.parametrize("moment", ["after_listing", "before_deleting"])
def test_what_is_published_again_in_between_stays(workspace, interleaved, renew, moment):
    digest = age(interleaved, interleaved.put_bytes(b"wanted"))

    def publish(*_: str) -> None:
        interleaved.put_bytes(b"wanted") if renew == "put" else interleaved.touch(digest)

    setattr(interleaved.storage, moment, publish)
    assert collect(workspace).artifacts == 0
    assert interleaved.read_bytes(digest) == b"wanted"


def test_what_is_published_between_look_and_deletion_goes_back(tmp_path, monkeypatch):
    """The last moment of all: the file was old when looked at, and is another when it is taken."""
    store = open_store(str(tmp_path))
    digest = age(store, store.put_bytes(b"wanted"))
    rename = os.rename

    def publish_first(*paths: Any) -> None:
        store.put_bytes(b"wanted")
        rename(*paths)

    monkeypatch.setattr(os, "rename", publish_first)
    assert not store.delete_unless_modified(digest, time.time() - GRACE_S)
    assert store.read_bytes(digest) == b"wanted"
    assert list(store.temporaries()) == []


def test_a_reference_that_goes_in_between_leaves_its_grace(workspace, interleaved, finished, forget, clock):
    """A job is forgotten, and asked for again, while the collection holds an older list of references."""
    job = finished([1])
    age_all(workspace)
    clock.time += KEEP_S + 1
    interleaved.storage.after_listing = forget
    stray = age(interleaved, interleaved.put_bytes(b"stray"))
    assert collect(workspace).artifacts == 1
    assert not interleaved.exists(stray)
    assert interleaved.exists(job.result_sha256)
    interleaved.storage.after_listing = None
    assert collect(workspace).artifacts == 0


def test_a_file_that_goes_while_it_is_listed_is_no_error(workspace, interleaved):
    age(interleaved, interleaved.put_bytes(b"stray"))
    interleaved.storage.while_listing = interleaved.delete
    assert collect(workspace).artifacts == 0


def test_two_collections_at_once_delete_each_file_once(workspace, interleaved):
    digests = [age(interleaved, interleaved.put_bytes(b"%d" % number)) for number in range(5)]
    other = []

    def also() -> None:
        interleaved.storage.after_listing = None
        other.append(collect(workspace))

    interleaved.storage.after_listing = also
    assert collect(workspace).artifacts + other[0].artifacts == len(digests)


# ---- temporary files -----------------------------------------------------------------------------------


def test_what_killed_writers_left_goes_after_an_hour(workspace, store):
    digest = store.put_bytes(b"whole")
    store.write_index("trees", {})
    left = [store.local_path(digest).parent / ".tmp-1-a", Path(store.where, "index", ".tmp-1-b")]
    working = store.local_path(digest).parent / ".tmp-2-a"
    for path in (*left, working):
        path.write_bytes(b"half")
    for path in left:
        os.utime(path, (time.time() - TEMPORARY_S - 60,) * 2)
    assert collect(workspace, dry_run=True).temporaries == 2
    assert left[0].exists()
    assert collect(workspace).temporaries == 2
    assert [path.exists() for path in (*left, working)] == [False, False, True]
    assert store.exists(digest)
    assert store.read_index("trees") == {}


# ---- any store -----------------------------------------------------------------------------------------


def test_a_remote_store_tells_ages_and_deletes_by_them(tmp_path):
    store = open_store(f"memory://{tmp_path.name}-{os.getpid()}")
    assert list(store.digests()) == []
    digest = store.put_bytes(b"oak")
    assert abs(store.modified(digest) - time.time()) < 60
    assert list(store.digests()) == [digest]
    assert not store.delete_unless_modified(digest, store.modified(digest))
    assert store.delete_unless_modified(digest, time.time() + 1)
    assert not store.delete_unless_modified(digest, time.time() + 1)
    assert list(store.digests()) == list(store.temporaries()) == []


# ---- in every sweep ------------------------------------------------------------------------------------


def is_due(workspace: Workspace) -> None:
    with writing(workspace.engine) as connection:
        connection.execute(sa.update(upkeep_table).values(next_at=0))


@BOTH
def test_of_all_who_ask_one_has_the_turn(workspace):
    assert not take_turn(workspace.engine, "retention", every_s=600)  # the first wait begins
    assert not take_turn(workspace.engine, "retention", every_s=600)
    is_due(workspace)
    answers: list[bool] = []
    threads = [
        threading.Thread(target=lambda: answers.append(take_turn(workspace.engine, "retention", every_s=600)))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == [False] * 7 + [True]
    with workspace.engine.connect() as connection:
        next_at = connection.execute(sa.select(upkeep_table.c.next_at)).scalar_one()
    assert time.time() + 440 < next_at < time.time() + 760


def test_a_sweep_tidies_up_when_it_is_due(workspace, store, ledger, finished, clock):
    finished([1])
    stray = age(store, store.put_bytes(b"stray"))
    clock.time += KEEP_S + 1

    def sweep_once() -> None:
        sweep(workspace, ledger, lambda key, queue: None, window=4)

    sweep_once()
    assert store.exists(stray)
    is_due(workspace)
    sweep_once()
    assert not store.exists(stray)
    assert ledger.jobs() == []


def test_what_goes_wrong_does_not_end_the_sweep(workspace, store, ledger, caplog, monkeypatch):
    tidy(workspace)
    store.write_index("trees", {})
    Path(store.where, "index", "trees.json").write_text("{")
    is_due(workspace)
    sweep(workspace, ledger, lambda key, queue: None, window=4)
    assert "retention failed, and will be tried again" in caplog.text
    monkeypatch.setattr(retention, "collect", lambda *_, **__: 1 // 0)
    is_due(workspace)
    assert tidy(workspace)
    assert "ZeroDivisionError" in caplog.text
