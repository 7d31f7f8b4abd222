"""F8: full and read-only disks, I/O errors and flipped bits under the artifacts of jobs."""

from __future__ import annotations

import errno
import os
import random
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from labelgrove.adapter.loading.cache import local_cache, through_cache
from labelgrove.adapter.loading.rediscache import redis_cache
from labelgrove.cli.waiting.following import result_of
from labelgrove.ontology import LabelGraph
from labelgrove.ontology.errors import ArtifactError, ServiceError
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.store.artifacts import ArtifactStore, open_store
from labelgrove.ontology.store.localfolder import LocalFolder
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers import client
from labelgrove.workers.ledger.ledger import Ledger
from labelgrove.workers.ledger.states import Job, State
from labelgrove.workers.running.execute import Outcome, execute_unit, finish_jobs
from tests.faults.faulty_folder import FaultyFolder, flipped
from tests.faults.measured import keep
from tests.integration.workers_support import PARTS, add_version, registered, settings_in

pytestmark = pytest.mark.faults

GRAPH = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree"), ("tree", "plant"), ("moss", "plant")])
REMEDIES = {errno.ENOSPC: "free some space", errno.EROFS: "is read-only", errno.EIO: "check it before"}
FLIPS = [20, pytest.param(100, marks=pytest.mark.slow)]
SEED = 20261121


class Clock:
    """Time that runs ahead when told to, so that nobody waits for a second attempt."""

    def __init__(self) -> None:
        self.time = time.time() + 60.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture(autouse=True)
def _parts_are_known() -> Iterator[None]:
    with registered(PARTS):
        yield


def ask_for_parts(workspace: Workspace) -> Job:
    return client.submit(workspace, "parts", {"numbers": [3, 4]}, wait=False)


def ask_for_bundle(workspace: Workspace) -> Job:
    return client.build_bundle_job(workspace, "garden", "all", ["oak", "moss"], wait=False)


ASKING: dict[str, Callable[[Workspace], Job]] = {"parts": ask_for_parts, "bundle": ask_for_bundle}


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    """A home with an ontology, to be copied: a schema takes longer to make."""
    with Workspace.open(settings_in(tmp_path / "fresh")) as workspace:
        add_version(workspace, "garden", GRAPH)
    return tmp_path / "fresh"


def check_rows(workspace: Workspace, plain: ArtifactStore, job_id: str) -> None:
    """No row names an artifact that is not there and whole."""
    for unit in client.list_units(workspace, job_id):
        if unit.state is State.DONE:
            assert unit.sha256 is not None
            assert len(plain.read_bytes(unit.sha256)) == unit.size
        else:
            assert unit.sha256 is None


class Trial:
    """One job on a disk that fails, driven by a clock of its own."""

    def __init__(self, fresh: Path, home: Path, fault: int) -> None:
        settings = settings_in(shutil.copytree(fresh, home))
        self.disk = FaultyFolder(home / "artifacts", fault)
        self.workspace = Workspace.open(settings)
        self.workspace.artifacts = ArtifactStore(self.disk)  # type: ignore[misc] - in the place of the one it would open
        self.plain = open_store(settings.artifacts_url)
        self.clock = Clock()
        self.ledger = Ledger(self.workspace.engine, clock=self.clock)
        self.said: list[str] = []

    def asked(self, ask: Callable[[Workspace], Job]) -> Job:
        """Ask until it is taken; a request that meets the fault is refused with the remedy."""
        try:
            return ask(self.workspace)
        except ServiceError as error:
            self.said.append(str(error))
            assert client.list_jobs(self.workspace) == []
            return ask(self.workspace)

    def round(self, job_id: str) -> Job:
        """Do what is due once, look at every row, and let time pass."""
        finish_jobs(self.ledger, self.workspace)
        for key, _, _ in self.ledger.due(100):
            outcome = execute_unit(key, self.ledger, self.workspace)
            assert outcome in (Outcome.DONE, Outcome.RELEASED, Outcome.NOT_MINE)
            unit = self.ledger.unit(key)
            assert unit is not None
            if outcome is Outcome.RELEASED:
                assert unit.state is State.PENDING
                self.said.append(str(unit.error))
            check_rows(self.workspace, self.plain, job_id)
        self.clock.time += 1000
        return self.ledger.job(job_id)

    def finished(self, job_id: str) -> Job:
        for _ in range(10):
            job = self.round(job_id)
            if job.finished:
                return job
        raise AssertionError(f"not finished after 10 rounds: {job}, {self.said}")


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        pytest.param(errno.EIO, "parts", id="EIO-parts"),
        pytest.param(errno.EIO, "bundle", id="EIO-bundle"),
        pytest.param(errno.ENOSPC, "parts", id="ENOSPC-parts"),
        pytest.param(errno.ENOSPC, "bundle", id="ENOSPC-bundle", marks=pytest.mark.slow),
        pytest.param(errno.EROFS, "parts", id="EROFS-parts", marks=pytest.mark.slow),
        pytest.param(errno.EROFS, "bundle", id="EROFS-bundle", marks=pytest.mark.slow),
    ],
)
def test_a_fault_at_every_operation_delays_and_spoils_nothing(fault, kind, fresh, tmp_path, caplog):
    undisturbed = Trial(fresh, tmp_path / "undisturbed", fault)
    with undisturbed.workspace:
        expected = undisturbed.finished(ASKING[kind](undisturbed.workspace).id).result_sha256
    n_operations = undisturbed.disk.operations
    assert n_operations >= 3
    for n in range(1, n_operations + 1):
        trial = Trial(fresh, tmp_path / str(n), fault)
        trial.disk.fail_at = n
        caplog.clear()
        with trial.workspace:
            job = trial.finished(trial.asked(ASKING[kind]).id)
        assert trial.disk.failed
        assert (job.state, job.result_sha256) == (State.DONE, expected)
        if kind == "bundle":
            entry = trial.plain.read_index("garden")["bundles"]["all"]
            assert entry["sha256"] == expected
        said = [*trial.said, *(record.getMessage() for record in caplog.records)]
        assert any(REMEDIES[fault] in line for line in said), (n, said)


@pytest.mark.parametrize("fault", REMEDIES, ids=errno.errorcode.__getitem__)
def test_a_fault_that_stays_leaves_the_job_waiting_with_the_remedy(fault, fresh, tmp_path):
    trial = Trial(fresh, tmp_path / "home", fault)
    disk = trial.disk
    with trial.workspace:
        job_id = trial.asked(ask_for_parts).id
        disk.fail_at, disk.lasting = disk.operations + 1, True
        for _ in range(3):
            job = trial.round(job_id)
        assert not job.finished
        errors = [u.error for u in client.list_units(trial.workspace, job_id) if u.error]
        assert errors
        assert all(REMEDIES[fault] in error for error in errors)
        disk.fail_at = None
        assert trial.finished(job_id).state is State.DONE


def test_a_write_that_the_disk_cut_short_unnoticed_is_never_served(tmp_path):
    class Short(LocalFolder):
        def write(self, path: Any, chunks: Any) -> None:
            super().write(path, [memoryview(b"".join(chunks))[:-1]])

    with Workspace.open(settings_in(tmp_path)) as workspace:
        job = client.submit(workspace, "parts", {"numbers": [3]})
        whole = workspace.artifacts.read_bytes(job.result_sha256)
        assert ArtifactStore(Short(tmp_path / "artifacts")).put_bytes(whole) == job.result_sha256
        for read in (workspace.artifacts.read_bytes, workspace.artifacts.open_arrays):
            with pytest.raises(ArtifactError, match="damaged: delete it"):
                read(job.result_sha256)
        workspace.artifacts.put_bytes(whole)
        assert workspace.artifacts.read_bytes(job.result_sha256) == whole


# ---- flipped bits --------------------------------------------------------------------------------------


def keep_flips(count: int, where: str, begin: float) -> None:
    seconds = round(time.monotonic() - begin, 1)
    keep("F8", f"{count} flipped bits {where}", {"seed": SEED, "seconds": seconds, "note": "none served"})


@pytest.mark.parametrize("count", FLIPS)
def test_flips_in_the_store_are_found_and_computed_again(count, fresh, tmp_path):
    begin = time.monotonic()
    draw, found, served = random.Random(SEED), 0, 0
    trial = Trial(fresh, tmp_path / "home", errno.EIO)
    with trial.workspace:

        def built() -> str | None:
            return trial.finished(ask_for_bundle(trial.workspace).id).result_sha256

        digest = built()
        path = trial.plain.local_path(digest)
        whole = path.read_bytes()
        for _ in range(count):
            path.write_bytes(flipped(whole, draw))
            try:
                trial.plain.open_arrays(digest)
                served += 1
            except ArtifactError as error:
                found += "delete it, then ingest or build its content again" in str(error)
            trial.plain.delete(digest)
            assert built() == digest
            assert path.read_bytes() == whole
    assert (found, served) == (count, 0)
    keep_flips(count, "of a result in the store, found and computed again", begin)


@pytest.mark.parametrize("count", FLIPS)
def test_damaged_results_are_computed_again_when_asked_for(count, fresh, tmp_path):
    draw = random.Random(SEED)
    trial = Trial(fresh, tmp_path / "home", errno.EIO)
    with trial.workspace:
        digest = trial.finished(ask_for_parts(trial.workspace).id).result_sha256
        path = trial.plain.local_path(digest)
        whole = path.read_bytes()
        for _ in range(count):
            path.write_bytes(flipped(whole, draw))
            job = ask_for_parts(trial.workspace)
            assert not job.finished
            assert trial.finished(job.id).result_sha256 == digest
            assert path.read_bytes() == whole


@pytest.mark.parametrize("count", FLIPS)
@pytest.mark.parametrize("loss", ["flipped", "gone"])
def test_inputs_lost_before_they_are_read_are_computed_again(loss, count, fresh, tmp_path):
    """Done units whose files are damaged under a job that is half done: the whole of it recovers."""
    draw = random.Random(SEED)
    trial = Trial(fresh, tmp_path / "home", errno.EIO)
    with trial.workspace:
        for number in range(count):
            job_id = client.submit(trial.workspace, "parts", {"numbers": [number, number + 1]}, wait=False).id
            first, second, last = trial.ledger.units(job_id)
            for key in (first, second):
                execute_unit(key, trial.ledger, trial.workspace)
            damaged = draw.choice([[first], [second], [first, second]])
            for key in damaged:
                path = trial.plain.local_path(trial.ledger.unit(key).sha256)
                whole = path.read_bytes()
                path.unlink()
                if loss == "flipped":
                    path.write_bytes(flipped(whole, draw))
            assert execute_unit(last, trial.ledger, trial.workspace) is Outcome.RELEASED
            found = [key for key in (first, second) if trial.ledger.unit(key).state is State.PENDING]
            assert found == damaged
            job = trial.finished(job_id)
            value = trial.plain.open_arrays(job.result_sha256)[0]["value"]
            assert value.tolist() == [number**2 + (number + 1) ** 2]
            assert trial.ledger.unit(last).fence == 2


def test_one_flip_while_a_unit_reads_its_input_costs_an_attempt_and_no_job(fresh, tmp_path):
    trial = Trial(fresh, tmp_path / "home", errno.EIO)
    with trial.workspace:
        job_id = ask_for_parts(trial.workspace).id
        first, second, last = trial.ledger.units(job_id)
        for key in (first, second):
            execute_unit(key, trial.ledger, trial.workspace)
        trial.disk.flips = random.Random(SEED)
        assert execute_unit(last, trial.ledger, trial.workspace) is Outcome.RELEASED
        assert trial.ledger.unit(first).state is trial.ledger.unit(second).state is State.DONE
        assert trial.finished(job_id).state is State.DONE
        assert trial.ledger.unit(last).fence == 2


@pytest.mark.parametrize("count", FLIPS)
def test_flips_while_reading_an_input_are_never_computed_with(count, tmp_path):
    draw = random.Random(SEED)
    disk = FaultyFolder(tmp_path / "artifacts")
    store = ArtifactStore(disk)
    digests = [store.put_bytes(f"{i} of the inputs".encode() * (i + 1)) for i in range(count)]
    for i, digest in enumerate(digests):
        disk.flips = draw
        with pytest.raises(ArtifactError, match=digest):
            store.read_bytes(digest)
        assert store.read_bytes(digest) == f"{i} of the inputs".encode() * (i + 1)  # the file is whole


@pytest.mark.parametrize("count", FLIPS)
def test_flips_in_the_caches_are_found_and_fetched_again(count, tmp_path, redis_url):
    import redis

    begin = time.monotonic()
    settings = replace(
        Settings.from_env({"GROVE_HOME": str(tmp_path / "home")}),
        artifacts_url=f"memory://flips-{tmp_path.name}",
        cache_url=redis_url,
    )
    draw, store = random.Random(SEED), open_store(settings.artifacts_url)
    whole = draw.randbytes(20_000)
    digest = store.put_bytes(whole)
    folder = local_cache(settings)
    cached, entry = through_cache(store, settings), f"grove:zstd:{digest}"
    assert cached.read_bytes(digest) == whole
    found = 0
    with redis.Redis.from_url(redis_url) as client_:
        good = client_.get(entry)
        for i in range(count):
            level = ("folder", "redis", "both")[i % 3]
            path = folder.local_path(digest)
            if level == "redis":
                path.unlink()
            else:
                path.write_bytes(flipped(whole, draw))
            if level != "folder":
                bad = flipped(good, draw)
                client_.set(entry, bad)
                assert redis_cache(redis_url)._unpacked(bad) != whole
            assert cached.read_bytes(digest) == whole
            assert path.read_bytes() == whole
            assert client_.get(entry) == good
            found += 1
    assert found == count
    keep_flips(count, "in the local and the Redis cache, found and fetched again", begin)


# ---- names ---------------------------------------------------------------------------------------------


class FullIndex(LocalFolder):
    """A folder with room for every artifact and for no document of the index."""

    full = True

    def write(self, path: PurePosixPath, chunks: Sequence[memoryview]) -> None:
        if self.full and path.parts[0] == "index":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        super().write(path, chunks)


def test_who_waits_for_a_name_that_cannot_be_given_is_told_and_it_is_given_later(
    fresh, tmp_path, monkeypatch, caplog
):
    monkeypatch.setattr(client, "_NAMING_S", 1.5)
    home = Path(shutil.copytree(fresh, tmp_path / "home"))
    with Workspace.open(settings_in(home)) as workspace:
        disk = FullIndex(home / "artifacts")
        workspace.artifacts = ArtifactStore(disk)  # type: ignore[misc] - in the place of the one it would open
        built = client.build_bundle_job(workspace, "garden", "first", ["oak", "moss"])
        for name in ("first", "second"):  # the second asks for a job that is done
            job = client.build_bundle_job(workspace, "garden", name, ["oak", "moss"])
            assert (job.id, job.state, job.finished, job.error) == (built.id, State.DONE, False, None)
            assert REMEDIES[errno.ENOSPC] in str(job.delayed)
            with pytest.raises(ServiceError, match=r"not be named yet: .*free some space.*grove jobs watch"):
                result_of(job)
        told = [record for record in caplog.records if "is not yet published" in record.getMessage()]
        assert 1 <= len(told) <= 4  # not once a sweep
        disk.full = False
        job = client.wait(workspace, built.id)
        assert (job.finished, job.delayed) == (True, None)
        assert result_of(job) == built.result_sha256
        assert workspace.artifacts.read_index("garden")["bundles"].keys() == {"first", "second"}
