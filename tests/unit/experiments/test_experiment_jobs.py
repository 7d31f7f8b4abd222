"""The kind `experiment`: its requests, its units in the ledger, and the document made from them."""

from __future__ import annotations

import json

import numpy as np
import pytest

pytest.importorskip("sklearn")

from labelgrove.datasets.ownfiles import Files
from labelgrove.experiments import load, prepared
from labelgrove.experiments.documents import environment, identify, make_document
from labelgrove.experiments.runnable import as_command
from labelgrove.experiments.settings import changed
from labelgrove.ontology.errors import InputError, NotFoundError
from labelgrove.ontology.results import pack_document
from labelgrove.ontology.store.filedigest import sha256_of
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers import client
from labelgrove.workers.kinds import find_kind, kind_named
from labelgrove.workers.ledger.states import State
from labelgrove.workers.requests.request import complete_request
from labelgrove.workers.running.pool import Pool
from tests.integration.workers_support import settings_in

SMALL = {"experiment": "complete-graph", "settings": {"sizes": "3,4", "seeds": "5", "n_rows": "50"}}


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    with Workspace.open(settings_in(tmp_path_factory.mktemp("home"))) as workspace:
        yield workspace


def done(workspace, parameters):
    job = client.submit(workspace, "experiment", parameters)
    assert (job.state, job.error) == (State.DONE, None)
    return job, workspace.artifacts.read_bytes(job.result_sha256)


def computed_here(experiment, settings, files=None, digests=()):
    """Return the bytes of the document, made from the functions of an experiment without any ledger."""
    data = experiment.prepare(settings, files)
    results = [experiment.measure(data, settings, unit) for unit in experiment.units(settings)]
    identity = identify(experiment, settings, files, dict(digests), environment(experiment, settings, files))
    command = as_command(experiment, settings, files)
    return pack_document(make_document(experiment, settings, identity, results, command))


def test_a_job_computes_what_the_functions_of_the_experiment_compute(workspace):
    experiment = load("diabetes-path")
    job, content = done(workspace, {"experiment": "diabetes-path", "quick": True})
    assert content == computed_here(experiment, experiment.settings(quick=True))
    assert job.units == {"done": 7}  # K of 5 and 12, seeds 0, 1 and 2; and the one that joins them
    assert json.loads(content)["command"] == "grove experiment diabetes-path --quick"


def test_settings_are_one_request_however_they_are_written(workspace):
    plain = complete_request(workspace, kind_named("experiment"), SMALL)
    assert plain["settings"] == {"sizes": "3,4", "seeds": "5", "n_rows": "50"}
    spelled = {**SMALL, "quick": True, "settings": {**SMALL["settings"], "n_rows": 50}}
    assert complete_request(workspace, kind_named("experiment"), spelled) == plain
    assert complete_request(workspace, kind_named("experiment"), plain) == plain
    job, content = done(workspace, SMALL)
    assert json.loads(content)["command"] == (
        "grove experiment complete-graph --set sizes=3,4 --set seeds=5 --set n_rows=50"
    )
    again, _ = done(workspace, spelled)
    assert (again.id, again.finished_at) == (job.id, job.finished_at)


def test_files_of_ones_own_give_the_same_document(workspace, tmp_path):
    """The paper's protocol on probabilities: some of the columns are observed, the rest is only truth."""
    rng = np.random.default_rng(0)
    classes = [f"c{i}" for i in range(8)]
    truth = rng.integers(0, 8, 60)
    probs = np.eye(8)[truth] + rng.random((60, 8))
    np.save(tmp_path / "clip.npy", probs / probs.sum(axis=1, keepdims=True))
    (tmp_path / "columns.txt").write_text("\n".join(classes))
    (tmp_path / "truth.txt").write_text("\n".join(classes[i] for i in truth))
    edges = [f"{key}\tg{i % 3}" for i, key in enumerate(classes)] + [f"g{i}\troot" for i in range(3)]
    (tmp_path / "tree.tsv").write_text("child\tparent\n" + "\n".join(edges) + "\n")
    paths = {
        "hierarchy": tmp_path / "tree.tsv",
        "probs": tmp_path / "clip.npy",
        "columns": tmp_path / "columns.txt",
        "truth": tmp_path / "truth.txt",
    }
    experiment = load("metric-comparison")
    settings = changed(experiment.settings(), ["temperature=1"])
    digests = {name: sha256_of(path) for name, path in paths.items()}
    direct = computed_here(experiment, settings, Files(**paths), sorted(digests.items()))
    asked = {"experiment": experiment.claim.name, "settings": {"temperature": "1"}}
    _, content = done(workspace, asked | {name: str(path) for name, path in paths.items()})
    assert content == direct
    document = json.loads(content)
    assert document["files"] == {**digests, "metric": "tree", "answers": "all"}
    assert document["command"].endswith("--columns FILE --hierarchy FILE --probs FILE --truth FILE")


def test_data_are_prepared_once_for_all_units_of_a_job(workspace, monkeypatch):
    experiment, prepare = load("complete-graph"), []
    monkeypatch.setattr(type(experiment), "prepare", lambda self, *given: prepare.append(given))
    for seed in ("8", "9", "8"):
        done(workspace, SMALL | {"settings": {"sizes": "3,4,5", "seeds": seed, "n_rows": "50"}})
    assert len(prepare) == 2  # one for each job; the third request is the first job
    assert not prepared._last  # nothing is kept once a job has its document


def test_packages_and_data_are_compared_once_for_all_units_of_a_process(workspace, monkeypatch):
    experiment, compared = load("complete-graph"), []
    monkeypatch.setattr(type(experiment), "installed_data", lambda self, files: compared.append(files) or {})
    done(workspace, SMALL | {"settings": {"sizes": "3,4,5,6", "seeds": "21", "n_rows": "50"}})
    assert len(compared) == 3  # for the request, before the first unit, and for the document


def test_a_damaged_unit_is_found_by_its_digest_and_computed_again(workspace):
    """A job that joins its units reads them from the store, which compares each with its digest."""
    asked = SMALL | {"settings": {"sizes": "3,4", "seeds": "6", "n_rows": "50"}}
    job = client.submit(workspace, "experiment", asked, wait=False)
    units = client.list_units(workspace, job.id)
    with Pool(workspace, threads=1) as pool:
        pool.run_job(job.id, lambda: client.status(workspace, job.id).units.get(State.DONE, 0) >= 2)
    (unit,) = [u for u in client.list_units(workspace, job.id) if u.key == units[0].key]
    path = workspace.artifacts.local_path(unit.sha256)
    damaged = path.read_bytes().replace(b'"checked_rows": ', b'"checked_rows": 9')
    assert damaged != path.read_bytes()
    path.write_bytes(damaged)
    found, content = done(workspace, asked)
    experiment = load("complete-graph")
    settings = changed(experiment.settings(), ["sizes=3,4", "seeds=6", "n_rows=50"])
    assert (found.id, content) == (job.id, computed_here(experiment, settings))
    assert workspace.artifacts.is_whole(unit.sha256)


def test_an_estimate_says_how_many_units(workspace):
    said = client.estimate(
        workspace, "experiment", complete_request(workspace, kind_named("experiment"), SMALL)
    )
    assert (said.units, said.graph_rows, said.seconds) == (3, 0, None)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"experiment": "digits"}, "experiment is 'digits'; choose digits-grid, "),
        ({"settings": {"rows": "1"}}, "give NAME=VALUES, with a name among sizes"),
        ({"settings": {"n_rows": "many"}}, "'many' is not of type int"),
        ({"settings": ["n_rows=1"]}, "give an object with a text"),
        ({"quick": "yes"}, "quick is 'yes'; give true or false"),
        ({"probs": 1}, "probs is 1; give the path or URL of a file"),
        ({"probs": "."}, "cannot be read"),
        ({"environment": {"python": "\ud800"}}, "environment is .*leave it out"),
        ({"environment": 5}, "environment is 5; leave it out"),
        ({"files": "x"}, "files is 'x'; leave it out"),
        ({"files": ["x"]}, "leave it out"),
        ({"files": {"probs": "p.npy"}}, "name the files by their own parameters"),
        ({"files": {"probs": {"sha256": "ab" * 32, "ending": "/../x"}}}, "name the files by their own"),
    ],
)
def test_what_breaks_a_rule_is_refused(workspace, options, said):
    with pytest.raises(InputError, match=said):
        client.submit(workspace, "experiment", SMALL | options)


def test_files_that_an_experiment_does_not_take_are_refused(workspace, tmp_path):
    np.save(tmp_path / "p.npy", np.eye(3))
    with pytest.raises(InputError, match="it takes no files of your own"):
        client.submit(workspace, "experiment", SMALL | {"probs": str(tmp_path / "p.npy")})
    with pytest.raises(NotFoundError, match="there is no such file"):
        client.submit(workspace, "experiment", SMALL | {"probs": str(tmp_path / "no.npy")})


GLOSSES = {"experiment": "class-embeddings", "quick": True}


@pytest.mark.parametrize(
    ("asked", "part"),
    [(SMALL, "numpy"), (SMALL, "python"), (SMALL, "networkx"), (GLOSSES, "WordNet's data.noun")],
    ids=["numpy", "python", "networkx", "WordNet"],
)
def test_a_worker_with_other_packages_or_data_says_so(workspace, wordnet_dir, asked, part):
    complete = complete_request(workspace, kind_named("experiment"), asked)
    here = complete["environment"][part]
    assert here
    complete["environment"] = {**complete["environment"], part: "0.1"}
    job = client.submit(workspace, "experiment", complete)
    assert job.state is State.FAILED
    assert f"{part}: {here} here, 0.1 requested; run this job on a worker with" in job.error
    assert find_kind("experiment").queue == "experiments"
