"""Scores over REST: bodies of every type give what the adapter and the command line give."""

from __future__ import annotations

import gzip
import io
import json

import numpy as np
import pytest
from click.testing import CliRunner

from labelgrove.cli import grove
from labelgrove.service.limits import Limits
from tests.unit.service.scoring_cases import N_OBSERVED, adapter_of, outputs_of
from tests.unit.service.service_cases import client_of

ROUTE = "/v1/bundles/zoo/tree"
JSON, NPY, CSV = "application/json", "application/x-npy", "text/csv"
SAFETENSORS, PARQUET = "application/x-safetensors", "application/vnd.apache.parquet"


@pytest.fixture(scope="module")
def home(with_bundles):
    return with_bundles


@pytest.fixture(scope="module")
def client(scoring):
    return scoring


def body_of(kind, values, columns):
    """Return the body that holds `values` as a type of content; `columns` names them where the type can."""
    if kind == NPY:
        file = io.BytesIO()
        np.save(file, values)
        return file.getvalue()
    if kind == SAFETENSORS:
        from safetensors.numpy import save

        return save({"outputs": values})
    if kind == PARQUET:
        import pyarrow as pa
        import pyarrow.parquet as pq

        sink = io.BytesIO()
        pq.write_table(pa.table(dict(zip(columns, values.T, strict=True))), sink)
        return sink.getvalue()
    if kind == CSV:
        lines = [",".join(columns), *(",".join(map(repr, row)) for row in values.tolist())]
        return "\n".join(lines).encode()
    return json.dumps({"rows": values.tolist(), "columns": list(columns)}).encode()


@pytest.mark.parametrize("kind", [JSON, NPY, CSV, SAFETENSORS, PARQUET])
@pytest.mark.parametrize("outputs", ["probabilities", "logits"])
def test_each_type_of_body_gives_the_answers_of_the_adapter(client, home, kind, outputs):
    adapter = adapter_of(home, "tree").with_outputs(outputs)
    values = outputs_of(outputs)
    named = kind in (JSON, CSV, PARQUET)
    order = np.random.default_rng(2).permutation(N_OBSERVED) if named else np.arange(N_OBSERVED)
    columns = [adapter.observed[i] for i in order]
    body = body_of(kind, np.ascontiguousarray(values[:, order]), columns)
    headers = {"content-type": kind}
    answer = client.post(f"{ROUTE}/score?top=3&outputs={outputs}", content=body, headers=headers)
    assert answer.status_code == 200, answer.text
    document = answer.json()
    assert document["digest"] == adapter.digest
    ranking = adapter.top_k(values, 3)
    assert [(one["row"], one["rank"]) for one in document["items"]] == [
        (row, rank) for row in range(len(values)) for rank in (1, 2, 3)
    ]
    assert [one["key"] for one in document["items"]] == [key for keys in ranking.keys for key in keys]
    assert [one["variance"] for one in document["items"]] == ranking.values.ravel().tolist()
    tied = [one["n_tied"] for one in document["items"] if one["rank"] == 1]
    assert tied == ranking.n_tied.tolist()


def printed(home, *arguments):
    done = CliRunner().invoke(grove, [*arguments, "--json"], env={"GROVE_HOME": str(home)})
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


@pytest.mark.parametrize("candidates", [None, "leaves", "observed", "subtree:k1", "k3,k9,k20"])
def test_the_command_line_gives_the_same_documents(client, home, tmp_path, candidates):
    np.save(tmp_path / "p.npy", outputs_of("probabilities"))
    body = (tmp_path / "p.npy").read_bytes()
    options = () if candidates is None else ("--candidates", candidates)
    query = {} if candidates is None else {"candidates": candidates}
    arguments = ("score", "zoo/tree", str(tmp_path / "p.npy"), "--columns", "bundle", *options)
    headers = {"content-type": NPY}
    scored = client.post(f"{ROUTE}/score", content=body, headers=headers, params=query | {"top": 2})
    assert scored.json()["items"] == printed(home, *arguments, "--top", "2")
    explained = client.post(f"{ROUTE}/explain", content=body, headers=headers, params=query | {"row": 7})
    assert explained.json() == printed(home, *arguments, "--explain", "7")


def test_bundles_are_listed_and_described_as_by_the_command_line(client, home):
    listed = client.get("/v1/bundles").json()
    assert listed["items"] == printed(home, "bundle", "list")
    assert listed["total"] == 2
    assert client.get("/v1/bundles?ontology=nothing").status_code == 404
    assert client.get(ROUTE).json() == printed(home, "bundle", "inspect", "zoo/tree")
    assert client.get("/v1/bundles/zoo/nothing").status_code == 404


def test_columns_are_bound_by_key_or_name_and_what_means_nothing_says_so(client, home):
    adapter = adapter_of(home, "tree")
    given = ["k10", "name 11", "k12", "K13", "nobody"]
    answer = client.post(f"{ROUTE}/bind", json={"columns": given}).json()
    assert [one["key"] for one in answer["items"]] == ["k10", "k11", "k12", None, None]
    assert "k13" in answer["items"][3]["problem"]
    assert answer["missing"] == sorted({*adapter.observed} - {"k10", "k11", "k12"})
    by_key = client.post(f"{ROUTE}/bind", json={"columns": given, "by": "key"}).json()
    assert by_key["items"][1]["key"] is None


OF_OBJECTS = b"{'descr': '|O', 'fortran_order': False, 'shape': (1, 7), }".ljust(117) + b"\n"
REFUSED = {
    "an unknown type of body": (b"x", "text/plain", "send one of application/json"),
    "no JSON": (b"rows", JSON, "body: "),
    "rows of text": (b'{"rows": [["a"]]}', JSON, "body: "),
    "no rows": (b"{}", JSON, "missing required field"),
    "ragged rows": (b'{"rows": [[1], [1, 2]]}', JSON, "the same number"),
    "other columns": (b'{"rows": [[1, 2]]}', JSON, "2 columns"),
    "rows without numbers": (b'{"rows": [' + b",".join([b"[]"] * 9) + b"]}", JSON, "a row without numbers"),
    "far more columns than labels": (
        b'{"rows": [[1]], "columns": [' + b",".join([b'"nobody"'] * 1_001) + b"]}",
        JSON,
        "columns: 1,001 given, and the bundle has 7",
    ),
    "a header of far more columns": (
        b"nobody," * 1_001 + b"k10\n" + b"1," * 1_001 + b"1\n",
        CSV,
        "columns: 1,002 given",
    ),
    "unknown columns": (b'{"rows": [[1]], "columns": ["nobody"]}', JSON, "nobody"),
    "deep JSON": (b'{"rows": ' + b"[" * 100_000, JSON, "body: "),
    "an array of objects": (b"\x93NUMPY\x01\x00v\x00" + OF_OBJECTS, NPY, "body.npy"),
    "half an array": (body_of(NPY, outputs_of("logits"), [])[:-9], NPY, "body.npy"),
    "no array": (b"\x00" * 64, NPY, "body.npy"),
    "half a safetensors file": (body_of(SAFETENSORS, outputs_of("logits"), [])[:-9], SAFETENSORS, "body"),
    "a safetensors header that lies": (b"\xff" * 16, SAFETENSORS, "body"),
    "no Parquet": (b"PAR1" + b"x" * 50, PARQUET, "body.parquet"),
    "a CSV of words": (b"k10,k11,k12,k13,k14,k15,k16\n" + b"a," * 6 + b"b\n", CSV, "body.csv"),
    "an empty body": (b"", CSV, "body.csv"),
}


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("route", ["score", "explain"])
def test_a_body_that_cannot_be_scored_is_refused_and_names_no_folder(client, case, route):
    body, kind, says = REFUSED[case]
    answer = client.post(f"{ROUTE}/{route}", content=body, headers={"content-type": kind})
    assert 400 <= answer.status_code < 500, answer.text
    assert says in answer.json()["detail"]
    assert "grove-score" not in answer.text


@pytest.mark.parametrize(
    "query",
    ["top=0", "top=1001", "outputs=odds", "outputs=logits&temperature=0", "outputs=logits&temperature=nan",
     "candidates=nobody", "candidates=subtree:nobody", "candidates="],
)  # fmt: skip
def test_a_parameter_that_breaks_a_rule_is_refused(client, query):
    body = json.dumps({"rows": outputs_of("probabilities", 2).tolist()})
    answer = client.post(f"{ROUTE}/score?{query}", content=body)
    assert answer.status_code in (400, 404), answer.text


def test_a_compressed_body_is_refused(client):
    headers = {"content-type": JSON, "content-encoding": "gzip"}
    answer = client.post(f"{ROUTE}/score", content=gzip.compress(b'{"rows": [[1]]}'), headers=headers)
    assert (answer.status_code, "gzip" in answer.json()["detail"]) == (415, True)


def test_a_row_that_is_not_there_cannot_be_explained(client):
    body = json.dumps({"rows": outputs_of("probabilities", 2).tolist()})
    answer = client.post(f"{ROUTE}/explain?row=2", content=body)
    assert (answer.status_code, "has 2 rows" in answer.json()["detail"]) == (400, True)


def test_no_rows_get_no_answers(client):
    columns = list(client.get(ROUTE).json()["observed"])
    for document in ({"rows": []}, {"rows": [], "columns": columns}):
        answer = client.post(f"{ROUTE}/score", json=document)
        assert (answer.status_code, answer.json()["items"]) == (200, [])
        assert client.post(f"{ROUTE}/explain", json=document).status_code == 400


def test_a_small_parquet_file_may_not_have_too_many_numbers(home, client):
    columns = client.get(ROUTE).json()["observed"]
    body = body_of(PARQUET, np.full((100, N_OBSERVED), 0.1), columns)
    for most, status in ((100 * N_OBSERVED, 200), (100 * N_OBSERVED - 1, 400)):
        with client_of(home, Limits(score_values=most, requests_per_second=0)) as bounded:
            answer = bounded.post(f"{ROUTE}/score", content=body, headers={"content-type": PARQUET})
            assert answer.status_code == status, answer.text
    assert "at most 699 at once" in answer.json()["detail"]


def test_the_answers_of_a_request_are_bounded(home):
    rows = outputs_of("probabilities", 5).tolist()
    with client_of(home, Limits(score_answers=10, requests_per_second=0)) as bounded:
        assert bounded.post(f"{ROUTE}/score?top=2", json={"rows": rows}).status_code == 200
        answer = bounded.post(f"{ROUTE}/score?top=3", json={"rows": rows})
        assert (answer.status_code, answer.json()["type"]) == (400, "/reference#problem-input")
