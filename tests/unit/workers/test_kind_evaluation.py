"""The kind `evaluation`: what `evaluate` says, whatever files it is asked with; what is refused, and when."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import fsspec
import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import scipy.sparse

from labelgrove.adapter import Adapter, evaluate
from labelgrove.adapter.evaluation.result import Evaluation
from labelgrove.ontology import LabelGraph, geometry
from labelgrove.ontology.errors import (
    ArtifactError,
    InputError,
    NotFoundError,
    UnknownLabelError,
    WeightError,
)
from labelgrove.ontology.results import read_document
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers import client
from labelgrove.workers.kinds import kind_named
from labelgrove.workers.kinds.evaluation.file import read_evaluation
from labelgrove.workers.ledger.states import State
from labelgrove.workers.refresh import refresh
from labelgrove.workers.requests.request import complete_request
from labelgrove.workers.upkeep.references import references
from tests.integration.workers_support import add_version, settings_in

EDGES = [(f"{i:02d}", f"{(i - 1) // 3:02d}") for i in range(1, 40)]
TREE = LabelGraph.from_edges(EDGES)
GRID = LabelGraph.grid((5, 6))
DAG = LabelGraph.from_edges([*EDGES, ("39", "05"), ("21", "04")])
OBSERVED = {"tree": ["39", "05", "21", "12"], "grid": ["3,4", "0,0", "1,3", "4,0"]}
OBSERVED["dag"] = OBSERVED["tree"]
GRAPHS = {"tree": TREE, "grid": GRID, "dag": DAG}
N = 120


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    with Workspace.open(settings_in(tmp_path_factory.mktemp("home"))) as workspace:
        for name, graph in GRAPHS.items():
            add_version(workspace, name, graph)
        yield workspace


def drawn(ontology: str, draw: int = 0) -> tuple[np.ndarray, list[str]]:
    """Return logits that know something of the truth, and the truth, labels that nobody observed among it."""
    rng = np.random.default_rng(draw)
    space = geometry.metric_space(GRAPHS[ontology], "tree" if ontology == "tree" else "graph")
    truth = rng.choice(list(space.keys), N).tolist()
    columns = space.point_index(OBSERVED[ontology])
    near = -space.distances(space.index(truth), columns).astype(np.float32)
    return near + rng.normal(size=near.shape).astype(np.float32), truth


@pytest.fixture
def asked(tmp_path):
    """Write outputs and truth, and return the parameters of a request for their evaluation."""

    def write(ontology: str = "tree", draw: int = 0, **options: object) -> dict[str, object]:
        logits, truth = drawn(ontology, draw)
        np.save(tmp_path / "p.npy", logits)
        (tmp_path / "truth.txt").write_text("\n".join(truth) + "\n")
        return {
            "ontology": ontology,
            "observed": OBSERVED[ontology],
            "model": "resnet50",
            "emits": "logits",
            "outputs": str(tmp_path / "p.npy"),
            "truth": str(tmp_path / "truth.txt"),
            **options,
        }

    return write


def done(workspace: Workspace, parameters: dict[str, object]):
    job = client.submit(workspace, "evaluation", parameters)
    assert (job.state, job.error) == (State.DONE, None)
    return job, read_evaluation(workspace.artifacts, str(job.result_sha256))


def planned(workspace: Workspace, parameters: dict[str, object]) -> dict[str, object]:
    return complete_request(workspace, kind_named("evaluation"), parameters)


@pytest.mark.parametrize(
    ("ontology", "options"),
    [
        ("tree", {"temperature": "2.5", "top": 3, "resamples": 50, "seed": 7, "level": "0.9"}),
        ("tree", {"labels": "leaves"}),
        ("dag", {"metric": "graph", "hierarchy": True, "branch_level": 2}),
        ("grid", {}),
    ],
)
def test_a_job_says_what_the_function_says(workspace, asked, tmp_path, ontology, options):
    logits, truth = drawn(ontology)
    if "labels" in options:
        kept = [i for i, key in enumerate(truth) if key in TREE.leaves]
        request = asked(ontology, **options)
        logits, truth = logits[kept], [truth[i] for i in kept]
        np.save(tmp_path / "p.npy", logits)
        (tmp_path / "truth.txt").write_text("\n".join(truth))
    else:
        (tmp_path / "train.txt").write_text("\n".join(truth[:30]))
        request = asked(ontology, train_truth=str(tmp_path / "train.txt"), **options)
    job, document = done(workspace, request)
    assert "loki" in read_document(workspace.artifacts, str(job.result_sha256))["rules"]  # as ever before
    adapter = Adapter.from_graph(
        GRAPHS[ontology],
        OBSERVED[ontology],
        metric=options.get("metric", "auto"),
        labels=options.get("labels", "all"),
        outputs="logits",
        temperature=float(options.get("temperature", 1)),
    )
    direct = evaluate(
        adapter,
        logits,
        truth,
        space=None if adapter.space is not None else geometry.metric_space(GRAPHS[ontology], "graph"),
        train_truth=None if "labels" in options else truth[:30],
        hierarchy=geometry.metric_space(GRAPHS[ontology], "tree") if "hierarchy" in options else None,
        branch_level=options.get("branch_level"),
        top_k=options.get("top", 5),
        resamples=options.get("resamples", 1000),
        seed=options.get("seed", 0),
        level=float(options.get("level", 0.95)),
    )
    expected = json.loads(json.dumps(direct.to_dict()))
    expected.pop("bundle")  # its bytes name the version as well
    assert {name: value for name, value in document.items() if name in expected} == expected
    assert Evaluation.from_dict(document) == dataclasses.replace(direct, bundle=document["bundle"])
    assert Evaluation.from_dict(direct.to_dict()) == direct
    for missing in ("verdict", "rules", "severity_edges"):
        with pytest.raises(ArtifactError, match=f"{missing}.*evaluate again"):
            Evaluation.from_dict({name: value for name, value in document.items() if name != missing})
    assert (document["model"], document["ontology"]) == ("resnet50", GRAPHS[ontology].digest)
    assert (document["branch_level"] is None) == (ontology == "grid")


def test_the_same_numbers_in_any_format_are_one_request(workspace, asked, tmp_path):
    logits, truth = drawn("tree")
    first = planned(workspace, asked())
    np.savez(tmp_path / "many.npz", other=np.eye(3), these=logits)
    assert planned(workspace, asked(outputs=str(tmp_path / "many.npz"), array="these")) == first
    named = asked(outputs=str(tmp_path / "p.parquet"))
    table = pyarrow.table(dict(zip(OBSERVED["tree"], logits.T, strict=True)))
    pyarrow.parquet.write_table(table, tmp_path / "p.parquet")
    del named["observed"]  # which the header names
    assert planned(workspace, named) == first
    np.save(tmp_path / "truth.npy", np.array(truth))
    assert planned(workspace, asked(truth=str(tmp_path / "truth.npy"))) == first
    with fsspec.open("memory://models/p.npy", "wb") as file:
        file.write((tmp_path / "p.npy").read_bytes())
    assert planned(workspace, asked(outputs="memory://models/p.npy")) == first
    assert planned(workspace, first) == first
    assert planned(workspace, asked(model="another")) != first
    assert planned(workspace, asked(seed=0)) == first
    assert planned(workspace, asked("tree", 1)) != first


def test_observed_labels_may_be_an_artifact(workspace, asked):
    request = asked()
    digest = workspace.artifacts.put_bytes(json.dumps(request["observed"]).encode())
    assert planned(workspace, request | {"observed": digest}) == planned(workspace, request)


def test_a_bundle_stands_for_its_space_and_columns(workspace, asked):
    labels = [key for key in TREE.keys if key != "00"]
    client.build_bundle_job(workspace, "tree", "mine", OBSERVED["tree"], labels=labels)
    request = asked(bundle="mine", truth=asked()["truth"])
    _, truth = drawn("tree")
    Path(str(request["truth"])).write_text("\n".join("01" if key == "00" else key for key in truth))
    by_hand = planned(workspace, request | {"labels": labels, "metric": "tree", "bundle": None})
    del request["observed"]
    assert planned(workspace, request) == by_hand
    with pytest.raises(InputError, match=r"are not the observed labels of the bundle; they differ in 00, 12"):
        planned(workspace, request | {"observed": [*OBSERVED["tree"][:3], "00"]})
    _, document = done(workspace, request)
    assert document["bundle"] == next(b.sha256 for b in workspace.catalog.bundles("tree"))


def test_a_result_that_is_there_is_kept_and_one_that_is_gone_is_computed_again(workspace, asked):
    job, _ = done(workspace, asked(draw=3))
    again, _ = done(workspace, asked(draw=3))
    (unit,) = client.list_units(workspace, job.id)
    assert (again.id, again.finished_at, unit.attempts) == (job.id, job.finished_at, 1)
    workspace.artifacts.delete(job.result_sha256)
    anew, _ = done(workspace, asked(draw=3))
    assert (anew.id, anew.result_sha256) == (job.id, job.result_sha256)


def test_what_an_evaluation_reads_is_kept_from_collection(workspace, asked):
    job, document = done(workspace, asked(draw=4))
    held = references(workspace)
    wanted = (document["inputs"]["outputs"], document["inputs"]["truth"], job.result_sha256)
    assert all(digest in held for digest in wanted)


def test_an_estimate_is_a_bound(workspace, asked):
    complete = planned(workspace, asked(draw=5))
    said = client.estimate(workspace, "evaluation", complete)
    job, _ = done(workspace, complete)
    assert said.units == 1
    assert workspace.artifacts.size(job.result_sha256) <= said.n_bytes
    assert 0 < said.seconds < 10
    of_graph = client.estimate(workspace, "evaluation", planned(workspace, asked("grid")))
    assert of_graph.seconds is None


def test_a_refresh_evaluates_the_same_outputs_on_the_current_version(tmp_path, asked):
    with Workspace.open(settings_in(tmp_path / "home")) as workspace:
        add_version(workspace, "tree", TREE)
        before, document = done(workspace, asked())  # its truths name labels more than once
        grown = LabelGraph.from_edges([*EDGES, ("new", "00")])
        add_version(workspace, "tree", grown)
        (made,) = refresh(workspace, "tree")
        assert (made.stale_id, made.reason) == (before.id, None)
        after = client.wait(workspace, made.job_id)
        assert (after.state, after.error) == (State.DONE, None)
        renewed = read_document(workspace.artifacts, after.result_sha256)
    assert renewed["ontology"] == grown.digest
    assert renewed["inputs"] == document["inputs"]
    assert renewed["n_labels"] == document["n_labels"] + 1


def test_sparse_outputs_are_the_request_of_the_dense_ones(workspace, asked, tmp_path):
    logits, _ = drawn("tree")
    dense = logits.astype(np.float64)
    dense[np.arange(N), dense.argmin(axis=1)] = -np.inf
    np.save(tmp_path / "dense.npy", dense)
    expected = planned(workspace, asked(outputs=str(tmp_path / "dense.npy")))
    order = dense.argsort(axis=1)[:, 1:]
    np.savez(tmp_path / "p.npz", indices=order, values=np.take_along_axis(dense, order, axis=1))
    assert planned(workspace, asked(outputs=str(tmp_path / "p.npz"))) == expected
    chances = np.exp(dense)
    np.save(tmp_path / "dense.npy", chances)
    scipy.sparse.save_npz(tmp_path / "scipy.npz", scipy.sparse.csr_array(chances))
    found, expected = (
        planned(workspace, asked(outputs=str(tmp_path / name), emits="probabilities"))
        for name in ("scipy.npz", "dense.npy")
    )
    assert found == expected


def test_a_column_id_names_the_rows_unless_it_is_a_class(workspace, asked, tmp_path):
    with Workspace.open(settings_in(tmp_path / "home")) as own:
        names = {"oak": "Quercus", "b": "id"}
        add_version(own, "named", LabelGraph.from_edges([("oak", "a"), ("b", "a"), ("c", "a")], names=names))
        (tmp_path / "p.csv").write_text("id,oak,c\n0,0.5,0.5\n1,0.25,0.75\n")
        (tmp_path / "truth.csv").write_text("id,truth\n0,a\n1,c\n")
        request = {
            "ontology": "named",
            "model": "m",
            "outputs": str(tmp_path / "p.csv"),
            "truth": str(tmp_path / "truth.csv"),
        }
        found = planned(own, request)
        (tmp_path / "plain.csv").write_text("oak,c\n0.5,0.5\n0.25,0.75\n")
        (tmp_path / "truth.txt").write_text("a\nc\n")
        plain = {"outputs": str(tmp_path / "plain.csv"), "truth": str(tmp_path / "truth.txt")}
        assert found == planned(own, request | plain) == planned(own, request | {"observed": ["oak", "c"]})
        with pytest.raises(InputError, match=r"names the columns \(id, oak, c, ...\)"):
            planned(own, request | {"observed": ["oak", "c", "b"]})
        (tmp_path / "truth.csv").write_text("a\nQuercus\n")
        with pytest.raises(UnknownLabelError, match=r"truth.csv:2 'Quercus' is the name of 'oak'"):
            planned(own, request)


# ---- what is refused -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"observed": ["39", "05"]}, "2 labels are observed, but .*p.npy' has 4 columns"),
        ({"observed": None}, "nothing names the columns of .*; give the parameter observed .*, or a bundle"),
        ({"observed": "39,05"}, "observed is '39,05'; give a list of label keys"),
        ({"observed": {"39": "1"}}, "observed is .*; give a list of label keys"),
        ({"bundle": ["mine"]}, r"bundle is \['mine'\]; give a name as a string, or null"),
        ({"outputs": "p.txt"}, "ends in '.txt'"),
        ({"outputs": 7}, "outputs is 7; give the path or URL"),
        ({"model": ""}, "model is ''; give text that is not blank"),
        ({"model": None}, "model is None; give text that is not blank"),
        ({"emits": "scores"}, "choose probabilities, log_probabilities or logits"),
        ({"emits": "probabilities", "temperature": "2"}, "it divides logits"),
        ({"temperature": "0"}, "temperature is '0'; give a decimal number above 0"),
        ({"temperature": 1.5}, "give a decimal number of 0 or more as a string"),
        ({"level": "1"}, "level is '1'; give a decimal number above 0 and below 1"),
        ({"top": 0}, "top is 0; give a whole number, at least 1"),
        ({"bundle": "mine", "metric": "tree"}, "which decides metric; leave metric out"),
        ({"outputs": "gopher://host/p.npy"}, "gopher"),
        ({"no": 1}, "evaluation has no parameter no"),
    ],
)
def test_what_breaks_a_rule_is_refused_before_anything_is_recorded(workspace, asked, options, said):
    count = len(client.list_jobs(workspace, limit=1000))
    request = {
        name: value for name, value in (asked() | options).items() if (name, value) != ("observed", None)
    }
    with pytest.raises(InputError, match=said):
        client.submit(workspace, "evaluation", request)
    assert len(client.list_jobs(workspace, limit=1000)) == count


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"outputs": "missing.npy"}, "missing.npy: there is no such file"),
        ({"truth": "missing.txt"}, "missing.txt: there is no such file"),
        ({"outputs": "memory://none/p.npy"}, "memory://none/p.npy: there is no such file"),
        ({"bundle": "none"}, "ontology 'tree' has no bundle 'none'; it has"),
    ],
)
def test_what_is_not_there_is_named(workspace, asked, options, said):
    with pytest.raises(NotFoundError, match=said):
        client.submit(workspace, "evaluation", asked(**options))


def test_counts_that_differ_and_a_header_beside_observed_are_refused(workspace, asked, tmp_path):
    request = asked()
    (tmp_path / "truth.txt").write_text("00\n01\n")
    with pytest.raises(InputError, match=r"truth.txt' with 2 labels, for 120 rows of outputs in .*p.npy'"):
        client.submit(workspace, "evaluation", request)
    two = workspace.artifacts.put_bytes(b'["00","01"]')
    with pytest.raises(InputError, match=rf"{two}' with 2 labels, for 120 rows of outputs"):
        client.submit(workspace, "evaluation", asked(truth=two))
    (tmp_path / "p.csv").write_text("oak,39\n0.5,0.5\n")
    with pytest.raises(
        InputError, match=r"names the columns \(oak, 39, ...\), but the parameter observed names "
    ):
        client.submit(workspace, "evaluation", asked(outputs=str(tmp_path / "p.csv")))
    (tmp_path / "p.csv").write_text("oak,39\n")
    request = asked(outputs=str(tmp_path / "p.csv"))
    del request["observed"]
    with pytest.raises(InputError, match="contains no rows"):
        client.submit(workspace, "evaluation", request)


def test_a_header_that_agrees_and_a_column_of_ids_change_no_request(workspace, asked, tmp_path):
    logits, _ = drawn("tree")
    np.save(tmp_path / "p64.npy", logits.astype(np.float64))
    expected = planned(workspace, asked(outputs=str(tmp_path / "p64.npy")))
    rows = [f"r{i}," + ",".join(map(repr, row)) for i, row in enumerate(logits.astype(float).tolist())]
    header = ["sample", *OBSERVED["tree"]]
    (tmp_path / "p.csv").write_text("\n".join([",".join(header), *rows]))
    request = asked(outputs=str(tmp_path / "p.csv"), id_column="sample")
    assert planned(workspace, request) == expected
    with pytest.raises(InputError, match="names other columns, or another order"):
        planned(workspace, request | {"observed": OBSERVED["tree"][::-1]})
    with pytest.raises(InputError, match="give it only with the name"):
        client.submit(workspace, "evaluation", expected | {"id_column": "sample"})


def test_a_truth_or_cell_that_breaks_a_rule_fails_the_job_and_is_named(workspace, asked, tmp_path):
    request = asked()
    lines = (tmp_path / "truth.txt").read_text().split()
    lines[7] = "nobody"
    (tmp_path / "truth.txt").write_text("\n".join(lines))
    with pytest.raises(UnknownLabelError, match=r"truth.txt:8 'nobody' is unknown"):
        client.submit(workspace, "evaluation", request)
    truth = workspace.artifacts.put_bytes(json.dumps(lines).encode())
    job = client.submit(workspace, "evaluation", request | {"truth": truth})
    assert job.state is State.FAILED
    assert "row 7 'nobody'" in job.error
    logits, _ = drawn("tree")
    logits[70, 2] = np.nan
    request = asked()
    np.save(tmp_path / "p.npy", logits)
    job = client.submit(workspace, "evaluation", request)
    assert job.state is State.FAILED
    assert "row 70" in job.error


def test_damaged_sparse_outputs_and_unnamed_ones_are_refused_by_their_path(workspace, asked, tmp_path):
    request = asked(outputs=str(tmp_path / "p.npz"))
    np.savez(tmp_path / "p.npz", indices=[[0, 0]], values=[[0.5, 0.5]])
    with pytest.raises(WeightError, match=r"p\.npz: row 0 lists a column twice"):
        client.submit(workspace, "evaluation", request)
    np.savez(tmp_path / "p.npz", indices=[[0, 4]], values=[[0.5, 0.5]])
    with pytest.raises(WeightError, match=r"p\.npz: row 0 lists column 4; a column must be within 0\.\.3"):
        client.submit(workspace, "evaluation", request)
    with pytest.raises(InputError, match=r"id_column: 'row' given for .*p\.npz, whose columns have no names"):
        client.submit(workspace, "evaluation", request | {"id_column": "row"})
    del request["observed"]
    with pytest.raises(InputError, match=r"p\.npz: sparse outputs do not say how many columns"):
        client.submit(workspace, "evaluation", request)


def test_an_artifact_of_another_kind_is_no_output(workspace, asked):
    snapshot = workspace.catalog.version("tree").snapshot_sha256
    with pytest.raises(InputError, match="has the format labelgrove/labelgraph/1"):
        client.submit(workspace, "evaluation", asked(outputs=snapshot))
