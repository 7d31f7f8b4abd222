"""Every kind of job gives what the direct function gives; its artifact turns back into the same object."""

from __future__ import annotations

import itertools
import json
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from celery.signals import worker_shutting_down
from hypothesis import given
from hypothesis import strategies as st

from labelgrove.ontology import LabelGraph, geometry
from labelgrove.ontology.errors import ArtifactError, InputError, UnknownLabelError
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers import client
from labelgrove.workers.app import make_app
from labelgrove.workers.kinds import Subject, find_kind, kind_named, known_kinds
from labelgrove.workers.kinds.cover import read_cover
from labelgrove.workers.kinds.distances import read_distances
from labelgrove.workers.kinds.locus.file import pack_witnesses, read_locus, unpack_witnesses
from labelgrove.workers.kinds.selection import read_selection
from labelgrove.workers.kinds.summary import read_summary
from labelgrove.workers.ledger.states import State
from labelgrove.workers.requests.request import complete_request
from tests.integration.workers_support import add_version, settings_in

OURS = ("bundle", "cover", "distances", "evaluation", "experiment", "locus", "selection", "summary")

TREE = LabelGraph.from_edges(
    [(f"{i:02d}", f"{(i - 1) // 3:02d}") for i in range(1, 40)], weights=[1 + i % 3 for i in range(39)]
)
GRID = LabelGraph.grid((4, 5))
WEIGHTED = LabelGraph.from_edges(
    [(f"n{i}", f"n{(i + 1) % 9}") for i in range(9)] + [("n0", "n4")],
    weights=[0.1 * (i + 3) for i in range(10)],
    directed=False,
)
SHORT = LabelGraph.from_edges(
    [("h", "root"), ("b", "h"), ("c", "h"), ("d", "c"), ("e", "d")], weights=[1, 1e-17, 2e-17, 1e-8, 1]
)
GRAPHS = {"tree": TREE, "grid": GRID, "weighted": WEIGHTED, "flat": LabelGraph.complete(5), "short": SHORT}
OBSERVED = {
    "tree": ["39", "05", "21"],
    "grid": ["3,4", "0,0", "1,3"],
    "weighted": ["n7", "n1"],
    "flat": ["3", "1"],
    "short": ["root", "e", "c"],
}


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    with Workspace.open(settings_in(tmp_path_factory.mktemp("home"))) as workspace:
        for name, graph in GRAPHS.items():
            add_version(workspace, name, graph)
        yield workspace


def done(workspace, kind, ontology, options=None, **keys):
    job = client.submit(workspace, kind, {"ontology": ontology, **(options or {}), **keys})
    assert (job.state, job.error) == (State.DONE, None)
    return workspace.artifacts, job.result_sha256, GRAPHS[ontology]


@pytest.mark.parametrize(
    ("ontology", "labels"),
    [
        ("tree", "leaves"),
        *itertools.product(["tree", "grid", "weighted", "flat", "short"], ["all", "listed"]),
    ],
)
def test_locus(workspace, ontology, labels):
    allowed = GRAPHS[ontology].keys[1:] if labels == "listed" else labels
    options, lists = ({}, {"labels": allowed}) if labels == "listed" else ({"labels": allowed}, {})
    found = read_locus(*done(workspace, "locus", ontology, options, observed=OBSERVED[ontology], **lists))
    space = geometry.metric_space(GRAPHS[ontology], labels=allowed)
    truth = geometry.locus(space, OBSERVED[ontology])
    assert found.observed == tuple(OBSERVED[ontology])
    assert (found.members, found.unique) == (truth.members, truth.unique)
    assert list(found.witnesses) == list(truth.witnesses)
    assert (found.status, found.tolerance) == (truth.status, truth.tolerance)
    assert repr(found.space) == repr(space)


def test_locus_of_pairs(workspace):
    found = read_locus(
        *done(workspace, "locus", "weighted", {"method": "pairs"}, observed=["n0", "n3", "n6"])
    )
    truth = geometry.locus(geometry.metric_space(WEIGHTED), ["n0", "n3", "n6"], method="pairs")
    assert found.members == truth.members
    assert list(found.witnesses) == list(truth.witnesses)
    assert found.status == truth.status == "lower_bound"
    assert max(max(weights) for weights in found.witnesses) > 2**40  # kept to the last bit


@pytest.mark.parametrize("ontology", ["tree", "grid", "weighted", "flat"])
def test_distances(workspace, ontology):
    asked = list(reversed(OBSERVED[ontology]))
    block = read_distances(*done(workspace, "distances", ontology, columns=asked))
    space = geometry.metric_space(GRAPHS[ontology])
    columns = np.sort(space.point_index(asked))
    assert list(block.points) == list(space.points.take(columns))
    assert block.distance_dtype == space.distance_dtype
    np.testing.assert_array_equal(block.distances(), space.distances(cols=columns))


def test_distances_of_leaves_and_in_single_precision(workspace):
    block = read_distances(*done(workspace, "distances", "tree", {"labels": "leaves"}))
    np.testing.assert_array_equal(block.distances(), geometry.metric_space(TREE, labels="leaves").distances())
    assert tuple(block.keys) == TREE.leaves
    single = read_distances(*done(workspace, "distances", "weighted", {"dtype": "float32"}))
    assert single.distance_dtype == np.float32
    np.testing.assert_array_equal(
        single.distances(), geometry.metric_space(WEIGHTED).distances().astype(np.float32)
    )


@pytest.mark.parametrize(
    ("ontology", "options", "direct"),
    [
        ("tree", {}, geometry.minimum_locus_cover),
        ("tree", {"labels": "leaves", "method": "phylogenetic"}, geometry.phylogenetic_cover),
        ("tree", {"labels": "leaves", "method": "small"}, partial(geometry.locus_cover, method="small")),
        ("grid", {"identifying": True}, lambda space: geometry.minimum_locus_cover(space, identifying=True)),
    ],
)
def test_cover(workspace, ontology, options, direct):
    space = geometry.metric_space(GRAPHS[ontology], labels=options.get("labels", "all"))
    assert read_cover(*done(workspace, "cover", ontology, options)) == direct(space)


@pytest.mark.parametrize(
    ("options", "lists"),
    [
        ({"n": 4}, {"observed": ["00"]}),
        ({"n": 3, "method": "uniform", "seed": 7}, {"observed": ["00"], "forbidden": ["39", "38"]}),
        ({"budget": "5"}, {"observed": ["00"], "costs": {"39": "2.50", "12": "1.5"}, "required": ["20"]}),
        ({"n": 2}, {"candidates": ["05", "21", "30"]}),
    ],
)
def test_selection(workspace, options, lists):
    found = read_selection(*done(workspace, "selection", "tree", options, **lists))
    numbers = (
        {"costs": {key: float(cost) for key, cost in lists["costs"].items()}} if "costs" in lists else {}
    )
    budget = {"budget": float(options["budget"])} if "budget" in options else {}
    truth = geometry.select_classes(
        geometry.metric_space(TREE), **{"observed": [], **lists, **options, **numbers, **budget}
    )
    assert (found.keys, found.gains.tolist()) == (truth.keys, truth.gains.tolist())
    for field in ("size_before", "upper_bound", "spent", "status"):
        assert getattr(found, field) == getattr(truth, field)


@pytest.mark.parametrize(
    ("options", "cap"),
    [
        ({"target": 5, "seed": 3}, None),
        ({"target": 6, "cap": "9"}, 9),
        ({"target": 6, "cap": "0.25"}, 0.25),
        ({"target": 7, "method": "subtree"}, None),
    ],
)
def test_summary(workspace, options, cap):
    found = read_summary(*done(workspace, "summary", "tree", options))
    truth = geometry.summarize(TREE, **{**options, "cap": cap})
    for field in ("assignment", "sizes", "edges", "weights", "counts", "picks"):
        np.testing.assert_array_equal(getattr(found, field), getattr(truth, field))
    for field in ("method", "target", "cap", "seed", "entries_scanned", "keys"):
        assert getattr(found, field) == getattr(truth, field)


WEIGHTS = st.lists(
    st.tuples(*[st.integers(0, 2**70)] * 3).filter(any) | st.tuples(*[st.integers(0, 3)] * 3).filter(any)
)


@given(WEIGHTS)
def test_witnesses_of_any_length_come_back_to_the_last_digit(witnesses):
    arrays = pack_witnesses(witnesses)
    found = unpack_witnesses(arrays, 3)
    assert list(found) == witnesses
    assert found[1:] == tuple(witnesses[1:])
    assert ("witness.weight" in arrays) == all(max(weights) < 2**63 for weights in witnesses)


# ---- what is refused -----------------------------------------------------------------------------------


def test_a_result_is_read_with_its_own_ontology_and_kind(workspace):
    artifacts, digest, _ = done(workspace, "cover", "tree")
    with pytest.raises(
        ArtifactError, match=f"made from ontology {TREE.digest}, but is read with {GRID.digest}"
    ):
        read_cover(artifacts, digest, GRID)
    with pytest.raises(ArtifactError, match="'labelgrove/cover/1', expected 'labelgrove/locus/1'"):
        read_locus(artifacts, digest, TREE)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda arrays, metadata: arrays.pop("index"), "array 'index' is missing"),
        (lambda arrays, metadata: arrays.update(index=arrays["index"] + 99), "outside 0..8"),
        (
            lambda arrays, metadata: arrays.update(index=arrays["index"].astype(np.int32)),
            "index has dtype int32",
        ),
        (lambda arrays, metadata: metadata.update(status="true"), "status is 'true'"),
        (lambda arrays, metadata: metadata.update(n_labels="8"), "metadata: 8 labels"),
        (
            lambda arrays, metadata: arrays.update({"witness.column": arrays["witness.column"] + 9}),
            "witnesses",
        ),
        (lambda arrays, metadata: arrays.pop("witness.of"), "'witness.of' is missing"),
        (lambda arrays, metadata: metadata.pop("tolerance"), "'tolerance' is missing"),
    ],
)
def test_a_broken_locus_is_refused(workspace, spoil, message):
    artifacts, digest, graph = done(workspace, "locus", "weighted", observed=["n1", "n5"])
    arrays, metadata = artifacts.open_arrays(digest)
    spoil(arrays, metadata)
    with pytest.raises(ArtifactError, match=message):
        read_locus(artifacts, artifacts.put_arrays(arrays, metadata), graph)


def test_lists_are_checked_before_anything_is_recorded(tmp_path):
    workspace = Workspace.open(settings_in(tmp_path))
    add_version(workspace, "tree", TREE)
    with pytest.raises(UnknownLabelError, match="'77'"):
        client.submit(workspace, "selection", {"ontology": "tree", "forbidden": ["77"]})
    with pytest.raises(InputError, match=r"columns: .*'05'.* more than once"):
        client.submit(workspace, "distances", {"ontology": "tree", "columns": ["05", "05"]})
    with pytest.raises(InputError, match=r"costs of '05' is 1.5; give a decimal number"):
        client.submit(workspace, "selection", {"ontology": "tree", "costs": {"05": 1.5}})
    assert client.list_jobs(workspace) == []
    workspace.close()


def test_sets_are_one_request_in_any_order_and_columns_of_a_model_are_not(workspace):
    def asked(kind, **keys):
        return client.submit(workspace, kind, {"ontology": "tree", **keys}, wait=False).id

    assert asked("distances", columns=["05", "21"]) == asked("distances", columns=["21", "05"])
    assert asked("locus", observed=["05", "21"]) != asked("locus", observed=["21", "05"])
    for job in client.list_jobs(workspace):
        if not job.finished:
            client.cancel(workspace, job.id)


@pytest.mark.parametrize("content", ["[1]", '{"05": "-1"}', '{"05": 1.5}', "nothing"])
def test_costs_that_are_no_amounts_fail_the_job(workspace, content):
    parameters = complete_request(
        workspace, kind_named("selection"), {"ontology": "tree", "observed": ["05"]}
    )
    parameters["costs"] = workspace.artifacts.put_bytes(content.encode())
    job = client.submit(workspace, "selection", parameters)
    assert job.state is State.FAILED
    assert "decimal strings" in job.error


def test_a_count_that_is_not_the_number_of_labels_fails_the_job(workspace):
    parameters = complete_request(
        workspace, kind_named("locus"), {"ontology": "tree", "observed": ["05", "21"]}
    )
    job = client.submit(workspace, "locus", parameters | {"n_observed": 3})
    assert job.state is State.FAILED
    assert "2 labels given, but n_observed is 3" in job.error


# ---- what a kind says before it runs -------------------------------------------------------------------


@pytest.mark.parametrize("ontology", ["tree", "grid", "weighted"])
def test_estimates_are_bounds(workspace, ontology):
    observed = {"observed": OBSERVED[ontology]}
    requests = [
        ("locus", {}, observed),
        ("locus", {"method": "pairs"}, observed),
        ("locus", {"method": "pairs", "parts": len(OBSERVED[ontology]) - 1}, observed),
        ("distances", {"block": 6}, {}),
        ("cover", {}, {}),
        ("selection", {"n": 3}, observed),
        ("selection", {"n": 3, "parts": 3}, observed),
        ("summary", {"target": 4}, {}),
        ("bundle", {}, observed),
        ("bundle", {"form": "block"}, observed),
    ]
    for kind, options, keys in requests:
        parameters = complete_request(workspace, kind_named(kind), {"ontology": ontology, **options, **keys})
        before = set(workspace.artifacts.digests())
        said = client.estimate(workspace, kind, parameters)
        job = client.submit(workspace, kind, parameters)
        assert job.units == {"done": said.units}
        written = (set(workspace.artifacts.digests()) - before) | {job.result_sha256}
        assert said.least_bytes <= sum(map(workspace.artifacts.size, written)) <= said.n_bytes, kind
        assert said.n_bytes < 100_000  # and none that says nothing


@pytest.mark.parametrize(
    ("metric", "n_edges", "n_bytes", "timed"),
    [
        ("auto", 999_999, 16_000_000, True),
        ("tree", 2_000_000, 16_000_000, True),
        ("auto", 2_000_000, 2_300_000_000, False),
        ("graph", 999_999, 2_300_000_000, False),
    ],
)
def test_a_bundle_of_a_tree_grows_with_its_labels_and_a_block_with_its_columns_too(
    metric, n_edges, n_bytes, timed
):
    graph = SimpleNamespace(
        layout="hierarchy", n_labels=1_000_000, n_edges=n_edges, is_tree=n_edges < 1_000_000
    )
    subject = Subject.of(graph, {"observed": 250}, snapshot_bytes=50_000_000)
    said = find_kind("bundle").estimate({"metric": metric}, subject)
    assert (said.units, said.graph_rows, said.seconds is not None) == (1, 1, timed)
    assert n_bytes + 50_000_000 <= said.n_bytes < n_bytes + 53_000_000


def test_workers_listen_on_the_queues_of_all_kinds(tmp_path):
    queues = {find_kind(name).queue for name in OURS}
    assert queues == {"labelgrove", "blocks", "lp", "light", "experiments"}
    app = make_app(settings_in(tmp_path, broker_url="redis://127.0.0.1:1/0"))
    assert {queue.name for queue in app.conf.task_queues} >= queues
    assert set(OURS) <= {kind.name for kind in known_kinds()}


def test_a_worker_that_is_told_twice_to_end_does_not_wait_for_itself(tmp_path):
    make_app(settings_in(tmp_path, broker_url="redis://127.0.0.1:1/0"))
    with worker_shutting_down.lock:  # the first signal tells its receivers, and the second interrupts it
        assert worker_shutting_down.lock.acquire(blocking=False)
        worker_shutting_down.lock.release()


def test_metadata_of_results_are_text_that_a_person_can_read(workspace):
    artifacts, digest, _ = done(workspace, "locus", "grid", observed=OBSERVED["grid"])
    metadata = artifacts.open_arrays(digest)[1]
    shown = {name: metadata[name] for name in ("format", "method", "metric", "status", "n_labels")}
    assert json.dumps(shown, sort_keys=True) == (
        '{"format": "labelgrove/locus/1", "method": "exact", "metric": "graph", "n_labels": "20", '
        '"status": "exact"}'
    )
