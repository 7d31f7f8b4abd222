"""The files and data that the units of an experiment share: where they are, and when they go."""

from __future__ import annotations

import fcntl
import os
from dataclasses import replace

import pytest

pytest.importorskip("sklearn")

from labelgrove.adapter.loading import foldercache
from labelgrove.adapter.loading.cache import local_cache
from labelgrove.experiments import load, prepared
from labelgrove.experiments.contrast import Finding, Verdict
from labelgrove.experiments.experiment import Summary
from labelgrove.ontology.errors import InputError
from labelgrove.ontology.store.artifacts import ArtifactStore, Copies, open_store
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers import client
from labelgrove.workers.ledger.states import State
from labelgrove.workers.running.pool import Pool
from tests.integration.workers_support import settings_in

TREE = b"parent,child\nroot,oak\n"
NO_FILES = {"experiment": "complete-graph", "settings": {"sizes": "3,4", "seeds": "5", "n_rows": "50"}}


@pytest.fixture(autouse=True)
def nothing_is_left():
    yield
    prepared.forget()


@pytest.fixture
def workspace(tmp_path):
    with Workspace.open(settings_in(tmp_path / "home")) as workspace:
        yield workspace


@pytest.fixture
def asked(tmp_path):
    (tmp_path / "tree.csv").write_bytes(TREE)
    return {"experiment": "active-locus", "quick": True, "hierarchy": str(tmp_path / "tree.csv")}


@pytest.fixture
def reading(monkeypatch):
    """Let the units of active-locus read their file and do nothing else; return what they read."""
    experiment, found = load("active-locus"), []

    def measure(self, files, settings, unit):
        found.append((files.hierarchy, files.hierarchy.read_bytes()))
        return {"checked_rows": 0}

    monkeypatch.setattr(type(experiment), "prepare", lambda self, settings, files: files)
    monkeypatch.setattr(type(experiment), "measure", measure)
    summary = Summary((Finding(experiment.claim.sentence, Verdict.HOLDS, "of nothing"),))
    monkeypatch.setattr(type(experiment), "summarize", lambda *_: summary)
    return found


def folders(workspace):
    shared = workspace.settings.home / "experiments"
    return list(shared.iterdir()) if shared.exists() else []


def run_one_unit(workspace, asked):
    job = client.submit(workspace, "experiment", asked, wait=False)
    with Pool(workspace, threads=1) as pool:
        pool.run_job(job.id, lambda: client.status(workspace, job.id).units.get(State.DONE, 0) >= 1)
    return job


def test_files_are_open_under_their_names_until_the_job_has_its_document(workspace, asked, reading):
    assert client.submit(workspace, "experiment", asked).state is State.DONE
    (path,) = {path for path, _ in reading}
    assert {content for _, content in reading} == {TREE}
    assert path.name == "hierarchy.csv"
    assert path.parent.parent == workspace.settings.home / "experiments"
    assert folders(workspace) == []


def test_files_of_a_remote_store_are_written_where_the_cache_is_full(tmp_path, asked, reading, monkeypatch):
    monkeypatch.setattr(foldercache, "FOLDER_CAP", 0)
    settings = replace(settings_in(tmp_path / "home"), artifacts_url=f"memory://{tmp_path.name}-full")
    with Workspace.open(settings) as workspace:
        job = client.submit(workspace, "experiment", asked)
        assert (job.state, job.error) == (State.DONE, None)
        assert {unit.attempts for unit in client.list_units(workspace, job.id)} == {1}
    assert {content for _, content in reading} == {TREE}


def test_a_cache_may_lose_its_copy_between_two_units(tmp_path, asked, reading):
    settings = replace(settings_in(tmp_path / "home"), artifacts_url=f"memory://{tmp_path.name}-evicted")
    with Workspace.open(settings) as workspace:
        job = run_one_unit(workspace, asked)
        copy = local_cache(settings).local_path(job.parameters["files"]["hierarchy"]["sha256"])
        assert copy.samefile(reading[0][0])  # without a second copy of the bytes
        copy.unlink()
        assert client.wait(workspace, job.id).state is State.DONE
        assert {unit.attempts for unit in client.list_units(workspace, job.id)} == {1}
    assert {content for _, content in reading} == {TREE}


class SpoiledCopies(Copies):
    """A cache with a damaged copy that it cannot replace."""

    def __init__(self, spoiled):
        self.spoiled = spoiled

    def local_path(self, digest):
        return self.spoiled

    def content(self, digest, fetch):
        return fetch()

    def keep_index(self, name, document):
        raise AssertionError("no index is read here")


def test_a_damaged_copy_is_not_linked(tmp_path):
    store = open_store(str(tmp_path / "artifacts"))
    digest = store.put_bytes(TREE)
    (tmp_path / "spoiled").write_bytes(b"spoiled")
    cached = ArtifactStore(store.storage, SpoiledCopies(tmp_path / "spoiled"))
    prepared._provide(cached, digest, tmp_path / "tree.csv")
    assert (tmp_path / "tree.csv").read_bytes() == TREE
    assert (tmp_path / "spoiled").read_bytes() == b"spoiled"


def test_a_job_without_files_makes_no_folder(workspace):
    assert client.submit(workspace, "experiment", NO_FILES).state is State.DONE
    assert not (workspace.settings.home / "experiments").exists()


def test_data_and_files_go_when_a_unit_fails(workspace, asked, reading, monkeypatch):
    def failing(self, files, settings, unit):
        reading.append(files.hierarchy)
        raise InputError("it cannot be measured")

    monkeypatch.setattr(type(load("active-locus")), "measure", failing)
    assert client.submit(workspace, "experiment", asked).state is State.FAILED
    assert reading
    assert not prepared._last
    assert folders(workspace) == []


def test_data_and_files_go_when_no_unit_comes_any_more(workspace, asked, reading, monkeypatch):
    """Such as after a cancellation, or when the other units ran in other processes."""
    job = run_one_unit(workspace, asked)
    assert len(folders(workspace)) == 1
    client.cancel(workspace, job.id)
    monkeypatch.setattr(prepared, "_IDLE_S", 0.01)
    with prepared.turn:
        prepared._forget_later()
    prepared._idle.join()
    assert not prepared._last
    assert folders(workspace) == []


def test_data_and_files_go_when_another_job_comes(workspace, asked, reading):
    run_one_unit(workspace, asked)
    (folder,) = folders(workspace)
    run_one_unit(workspace, NO_FILES)
    assert folders(workspace) == []
    assert not folder.exists()


def test_what_a_killed_process_left_is_removed_by_the_next(workspace, asked, reading):
    shared = workspace.settings.home / "experiments"
    left, used = [shared / "left", shared / "new-left"], [shared / "used", shared / "new-used"]
    for folder in (*left, *used):
        folder.mkdir(parents=True)
        (folder / "hierarchy.csv").write_bytes(TREE)
    os.utime(left[1], (0, 0))
    os.mkfifo(shared / "pipe")  # opened, it would be waited for
    lock = os.open(used[0], os.O_RDONLY)  # as a living process does, perhaps in another container
    fcntl.flock(lock, fcntl.LOCK_EX)
    assert client.submit(workspace, "experiment", asked).state is State.DONE
    assert sorted(folders(workspace)) == sorted([*used, shared / "pipe"])
    os.close(lock)


def test_the_files_of_a_running_job_are_left_by_other_processes(workspace, asked, reading):
    run_one_unit(workspace, asked)
    (folder,) = folders(workspace)
    prepared._sweep(folder.parent)
    assert folders(workspace) == [folder]
    assert (folder / "hierarchy.csv").read_bytes() == TREE


def test_a_home_that_cannot_be_written_is_named(workspace, asked, reading):
    workspace.settings.home.mkdir()
    (workspace.settings.home / "experiments").write_bytes(b"a file is in the way")
    job = client.submit(workspace, "experiment", asked, wait=False)
    with Pool(workspace, threads=1) as pool:
        pool.run_job(job.id, lambda: any(unit.error for unit in client.list_units(workspace, job.id)))
    said = [unit.error for unit in client.list_units(workspace, job.id) if unit.error]
    assert f"{workspace.settings.home / 'experiments'}: cannot be written" in said[0]
