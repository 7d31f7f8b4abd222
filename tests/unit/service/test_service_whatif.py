"""What-if over REST: a row that somebody pasted, its explanation, and heat on the map."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import tempfile

import numpy as np
import pytest

from labelgrove.ontology.browse.structure.order import Order
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.versions.ingest import register
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.service.limits import Limits
from labelgrove.service.scoring.cores import usable_cores
from labelgrove.service.scoring.heat import Heat
from labelgrove.workers.client import build_bundle_job
from tests.unit.service.scoring_cases import N_OBSERVED, adapter_of, fill_with_bundles, outputs_of
from tests.unit.service.service_cases import client_of, printed, settings_of, token_of

ROUTE = "/v1/bundles/zoo/tree"
KEYS = [f"k{i}" for i in range(10, 10 + N_OBSERVED)]
ONE = [0.5, 0.25, 0.125, 0.0625, 0.03125, 0.03125, 0.0]
NPY = {"content-type": "application/x-npy"}


@pytest.fixture(scope="module")
def home(with_bundles):
    return with_bundles


@pytest.fixture(scope="module")
def client(scoring):
    return scoring


def npy(values):
    file = io.BytesIO()
    np.save(file, values)
    return file.getvalue()


def pasted(client, text, query=""):
    return client.post(f"{ROUTE}/row{query}", content=text, headers={"content-type": "text/plain"})


NAMED = dict(zip(KEYS, ONE, strict=True))


@pytest.mark.parametrize(
    "text",
    [
        ", ".join(map(str, ONE)),
        " ".join(map(str, ONE)),
        "\t".join(map(str, ONE)) + "\r\n",
        "\n".join(map(str, ONE)),
        ";".join(map(str, ONE)),
        json.dumps(ONE),
        json.dumps([ONE]),
        json.dumps(NAMED),
        "\n".join(f"{key}: {value}" for key, value in reversed(NAMED.items())),
        "\n".join(f"{key} = {value}" for key, value in NAMED.items() if value),
        "\n".join(f"name {key[1:]}\t{value}" for key, value in NAMED.items()),
        "\n".join(f"{key},{value}" for key, value in NAMED.items()),
        ",".join(KEYS[::-1]) + "\n" + ",".join(map(str, ONE[::-1])),
        "\ufeff" + "\t".join(KEYS) + "\n" + "\t".join(map(str, ONE)) + "\n",
    ],
)
def test_a_row_is_read_however_it_is_pasted(client, text):
    answer = pasted(client, text)
    assert answer.json() == {"row": ONE, "n_rows": 1}, answer.text


@pytest.mark.parametrize("outputs", ["logits", "log_probabilities"])
def test_a_class_that_is_not_named_has_no_weight_whatever_the_outputs_are(client, home, outputs):
    row = pasted(client, "k10: -1\nk11: -2", f"?outputs={outputs}").json()["row"]
    document = client.post(f"{ROUTE}/explain?outputs={outputs}", json={"rows": [row]}).json()
    assert {one["key"] for one in document["contributions"]} == {"k10", "k11"}
    whole = np.array([[-1.0, -2.0, *[-np.inf] * (N_OBSERVED - 2)]])
    expected = adapter_of(home, "tree").with_outputs(outputs).explain(whole)
    assert document["value"] == expected.value


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "empty"),
        ("1 2 3", "3 numbers given; give 7"),
        ("1 2 3 4 5 6 x", "'x' is not a number"),
        ("1_0 2 3 4 5 6 7", "'1_0' is not a number"),
        ("nan 1 1 1 1 1 1", "finite"),
        ("1e999 1 1 1 1 1 1", "finite"),
        ("[" * 100_000, "not JSON"),
        ('{"k10": [1]}', "is not a number"),
        ('{"k10": true}', "is not a number"),
        ("[1, null]", "is not a number"),
        ("k10: 1\nnobody: 2", "'nobody' is unknown"),
        ("k10: 1\nname 10: 2", "the same class"),
        ("k10: 1\nk10: 2", "given twice"),
        ("k10,k11\n1,2,3", "2 classes and a line of 3"),
        ("9" * 5_000, "finite"),
        (b"\xff\xfe", "not UTF-8"),
        ('"k10,k11\n0.5,0.5', "1 class and a line of 2 numbers"),
        ("0," * 100_000, "200,000 characters given"),
        (":" * 60_000 + " x y", "is not a number"),  # a minute, if each colon were tried
    ],
    ids=range(19),
)
def test_what_is_not_a_row_is_refused_with_a_reason(client, text, says):
    answer = pasted(client, text)
    assert (answer.status_code, answer.json()["type"]) == (400, "/reference#problem-input")
    assert says in answer.json()["detail"]


def test_a_cell_that_the_library_does_not_read_is_refused(client):
    limit = csv.field_size_limit(50)
    try:
        answer = pasted(client, f"{'k' * 60},k11\n0.5,0.5 x")
    finally:
        csv.field_size_limit(limit)
    assert (answer.status_code, answer.json()["type"]) == (400, "/reference#problem-input")
    assert "not a line of CSV" in answer.json()["detail"]


@pytest.mark.parametrize("dtype", ["<f8", "<f4", "<f2", ">f8"])
def test_a_row_of_a_file_keeps_every_digit(client, dtype):
    values = outputs_of("logits", 9).astype(dtype) / 3
    for row in (0, 8):
        answer = client.post(f"{ROUTE}/row?row={row}&outputs=logits", content=npy(values), headers=NPY).json()
        assert answer == {"row": values[row].astype(float).tolist(), "n_rows": 9}
    assert client.post(f"{ROUTE}/row?row=9", content=npy(values), headers=NPY).status_code == 400


def test_named_columns_are_put_in_the_order_of_the_bundle(client):
    header, line = ",".join(KEYS[::-1]), ",".join(map(str, ONE[::-1]))
    answer = client.post(
        f"{ROUTE}/row", content=f"{header}\n{line}\n", headers={"content-type": "text/csv"}
    ).json()
    assert answer["row"] == ONE
    document = {"rows": [ONE[::-1]], "columns": KEYS[::-1]}
    assert client.post(f"{ROUTE}/row", json=document).json()["row"] == ONE


@pytest.mark.parametrize("outputs", ["probabilities", "logits", "log_probabilities"])
@pytest.mark.parametrize("candidates", [None, "leaves", "k3,k9,k20"])
def test_what_is_explained_is_what_the_command_line_explains(client, home, tmp_path, outputs, candidates):
    values = outputs_of(outputs, 20)
    np.save(tmp_path / "p.npy", values)
    options = ["--columns", "bundle", "--outputs", outputs, "--explain", "7"]
    query = {"outputs": outputs}
    if candidates:
        options += ["--candidates", candidates]
        query |= {"candidates": candidates}
    if outputs != "probabilities":
        options += ["--temperature", "2.5"]
        query |= {"temperature": "2.5"}
    told = printed(home, "score", "zoo/tree", str(tmp_path / "p.npy"), *options)
    row = client.post(
        f"{ROUTE}/row", content=npy(values), headers=NPY, params={"row": 7, "outputs": outputs}
    ).json()["row"]
    for route in ("explain", "heat"):
        answer = client.post(f"{ROUTE}/{route}", json={"rows": [row]}, params=query)
        found = answer.json()
        assert (found["explained"] if route == "heat" else found) == told


# ---- heat -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["tree", "block"])
@pytest.mark.parametrize("candidates", [None, "k3,k9,k20,k50"])
@pytest.mark.parametrize("focus", [None, "k3"])
def test_heat_is_the_lowest_and_the_mean_variance_of_each_branch(client, home, name, candidates, focus):
    adapter = adapter_of(home, name)
    query = {"width": 800, "levels": 20}
    query |= {"focus": focus} if focus else {}
    asked = query | ({"candidates": candidates} if candidates else {})
    row = outputs_of("probabilities", 3)[2]
    document = client.post(f"/v1/bundles/zoo/{name}/heat", json={"rows": [row.tolist()]}, params=asked).json()
    drawn = client.get("/v1/ontologies/zoo/map", params=query).json()
    every = dict(zip(adapter.keys, -adapter.decision_function(row)[0], strict=True))
    known = every if not candidates else {key: every[key] for key in candidates.split(",")}
    keys = adapter.bundle.points
    order = Order.of(zoo_graph(home))
    assert [one["depth"] for one in document["rows"]] == [one["depth"] for one in drawn["rows"]]
    n_empty = 0
    for heated, cells in zip(document["rows"], drawn["rows"], strict=True):
        for (label, _, _), lowest, mean in zip(cells["cells"], heated["lowest"], heated["mean"], strict=True):
            inside = [known[key] for key in keys.take(range(label, order.end[label])) if key in known]
            n_empty += not inside
            assert (lowest is None) is (mean is None) is (not inside)
            if inside:
                assert (lowest, mean) == pytest.approx((min(inside), np.mean(inside)), rel=1e-4)
    assert (n_empty > 0) is bool(candidates)
    assert document["edges"][0] == pytest.approx(min(known.values()))
    assert document["edges"][-1] == pytest.approx(max(known.values()))
    assert document["edges"] == sorted(document["edges"])
    assert document["answer"]["key"] == document["explained"]["answer"]
    assert [one["idx"] for one in document["answer"]["path"]] == order.chain(document["answer"]["idx"])[::-1]
    seen = {label for one in document["rows"] for label, _, _ in one["observed"]}
    if focus is None:
        assert seen == {keys.index(key) for key in KEYS}


def zoo_graph(home):
    with Workspace.open(settings_of(home)) as workspace:
        return workspace.label_graph("zoo")


def test_heat_of_a_random_forest_is_that_of_brute_force():
    rng = np.random.default_rng(5)
    for _ in range(40):
        n = int(rng.integers(2, 40))
        graph = LabelGraph.from_edges([(f"k{i}", f"k{rng.integers(i)}") for i in range(1, n)])
        order = Order.of(graph)
        labels = np.sort(rng.choice(n, int(rng.integers(1, n + 1)), replace=False))
        values = rng.random(len(labels)) * 10.0 ** rng.integers(-3, 6)
        values[rng.random(len(labels)) < 0.3] = np.nan
        values[0] = 1.0
        heat, known = Heat(order, labels, values), dict(zip(labels.tolist(), values.tolist(), strict=True))
        for depth in range(order.depth.max() + 1):
            row = np.flatnonzero(order.depth == depth)
            found = heat.cells(row)
            for label, lowest, mean in zip(row.tolist(), found["lowest"], found["mean"], strict=True):
                inside = [known.get(i, np.nan) for i in range(label, order.end[label])]
                inside = [x for x in inside if x == x]
                if not inside:
                    assert (lowest, mean) == (None, None)
                else:
                    near = np.nanmax(values) * 1e-5
                    assert (lowest, mean) == pytest.approx((min(inside), np.mean(inside)), abs=near)


def test_each_pixel_of_narrow_branches_has_the_color_of_its_lowest_variance():
    graph = LabelGraph.from_edges([(f"k{i:04}", f"k{i // 900:04}") for i in range(1, 3_000)])
    order, rng = Order.of(graph), np.random.default_rng(1)
    values = rng.random(3_000)
    values[1_000:1_100] = np.nan
    heat = Heat(order, np.arange(3_000), values)
    edges = heat.edges()
    for width in (7, 300, 2_999):
        digits = heat.pixels(np.arange(width), 0, 3_000, width=width)
        for pixel, digit in enumerate(digits):
            begin, end = pixel * 3_000 // width, -(-(pixel + 1) * 3_000 // width)
            inside = [x for x in values[begin:end] if x == x]
            assert int(digit) == (1 + sum(min(inside) > edge for edge in edges[1:-1]) if inside else 0)
    assert {*"0123456"} == {*digits}
    assert heat.pixels(np.array([], dtype=int), 0, 3_000, width=9) == ""


def test_the_map_is_that_of_the_version_from_which_the_bundle_was_made(tmp_path):
    home = tmp_path / "home"
    fill_with_bundles(home)
    with Workspace.open(settings_of(home)) as workspace:
        old = workspace.label_graph("zoo").digest
        register(workspace, "zoo", LabelGraph.from_edges([(f"k{i}", "k0") for i in range(1, 50)]))
    with client_of(home) as client:
        document = client.post(f"{ROUTE}/heat", json={"rows": [ONE]}).json()
        assert document["version"] == old
        assert len(document["rows"]) == len(
            client.get(f"/v1/ontologies/zoo/map?version={old}").json()["rows"]
        )


def test_labels_that_may_not_be_answers_have_no_heat(tmp_path):
    home = tmp_path / "home"
    fill_with_bundles(home)
    with Workspace.open(settings_of(home)) as workspace:
        build_bundle_job(workspace, "zoo", "leafy", KEYS, metric="tree", labels="leaves")
        graph = workspace.label_graph("zoo")
    with client_of(home) as client:
        document = client.post("/v1/bundles/zoo/leafy/heat?levels=64", json={"rows": [ONE]}).json()
        drawn = client.get("/v1/ontologies/zoo/map?levels=64").json()
    adapter = adapter_of(home, "leafy")
    variance = dict(zip(adapter.keys, -adapter.decision_function(ONE)[0], strict=True))
    n_leaves = 0
    for heated, cells in zip(document["rows"], drawn["rows"], strict=True):
        for (label, _, _), lowest, mean in zip(cells["cells"], heated["lowest"], heated["mean"], strict=True):
            if graph.leaf_mask[label]:
                n_leaves += 1
                assert lowest == mean == pytest.approx(variance[graph.keys[label]], rel=1e-4)
    assert n_leaves == graph.leaf_mask.sum()


def test_bodies_that_lie_are_refused(client):
    for route in ("heat", "row"):
        for body, kind in [
            (b"{}", "application/json"),
            (b"x", "image/png"),
            (b"\x93NUMPY", NPY["content-type"]),
        ]:
            answer = client.post(f"{ROUTE}/{route}", content=body, headers={"content-type": kind})
            assert (answer.status_code, answer.json()["type"]) == (400, "/reference#problem-input"), body
    for query, status in {
        "focus=nobody": 404,
        "width=9": 400,
        "levels=0": 400,
        "row=1": 400,
        "row=-1": 400,
        "temperature=nan": 400,
        "candidates=x": 404,
    }.items():
        answer = client.post(f"{ROUTE}/heat?{query}", json={"rows": [ONE]})
        assert answer.status_code == status, query
    assert (
        client.post(f"{ROUTE}/heat", content=b"k10: 1", headers={"content-type": "text/plain"}).status_code
        == 400
    )


def test_who_may_not_score_gets_no_heat_and_another_ontology_is_unknown(home):
    reader, other = (token_of(home, "reader", "read"), token_of(home, "other", "score", ontologies=["none"]))
    with client_of(home, local=False) as client:
        for route in ("heat", "row"):
            sent = {"url": f"{ROUTE}/{route}", "json": {"rows": [ONE]}}
            assert client.post(**sent, headers=reader).status_code == 403
            assert client.post(**sent, headers=other).status_code == 404
            assert client.post(**sent).status_code == 401


def test_a_form_is_received_once_it_has_a_place_among_those_that_score(client):
    received = []

    def form():
        yield b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.npy"\r\n\r\n'
        received.append("a file")
        yield b"\r\n--x--\r\n"

    def send():
        headers = {"Content-Type": "multipart/form-data; boundary=x"}
        return client.post("/bundles/zoo/tree/what-if", content=form(), headers=headers)

    with contextlib.ExitStack() as stack:
        for _ in range(usable_cores() + Limits().scores_waiting):
            stack.enter_context(client.app.state.shared.scorers.place())
        answer = send()
        assert (answer.status_code, received) == (503, [])
        assert client.get("/bundles/zoo/tree/what-if?row=k10: 1").status_code == 503
        assert client.get("/bundles/zoo/tree/what-if").status_code == 200  # nothing is scored
    assert (send().status_code, received) == (400, ["a file"])


@pytest.mark.parametrize("fields", [{"number": "-1"}, {"temperature": "warm"}, {"outputs": "odds"}])
def test_fields_of_a_form_that_break_a_rule_are_refused(client, fields):
    answer = client.post("/bundles/zoo/tree/what-if", data={"row": "k10: 1"} | fields)
    assert answer.status_code == 400
    assert f"{next(iter(fields))}: Input should be" in answer.text


def test_a_body_that_no_file_can_keep_is_the_fault_of_the_disk(client, monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nothing"))
    values = np.full((200_000, N_OBSERVED), 0.1)
    answer = client.post(f"{ROUTE}/score", content=npy(values), headers=NPY)
    page = client.post("/bundles/zoo/tree/what-if", files={"file": ("a.npy", npy(values))})
    for one in (answer, page):
        assert one.status_code == 503
        assert "cannot be kept in a file (No such file or directory)" in one.text
