"""Scores over REST: bodies of every type give what the adapter and the command line give."""

from __future__ import annotations

import io
import json
import subprocess
import sys

import numpy as np
import pytest

from labelgrove.adapter.bundles.bundle import Bundle
from labelgrove.ontology.errors import InputError
from labelgrove.service.limits import Limits
from labelgrove.service.scoring.jsonrows import read_numbers, read_rows
from tests.unit.service.scoring_cases import N_OBSERVED, adapter_of, outputs_of
from tests.unit.service.service_cases import client_of, printed

ROUTE = "/v1/bundles/zoo/tree"
JSON, NPY, CSV = "application/json", "application/x-npy", "text/csv"
SAFETENSORS, PARQUET = "application/x-safetensors", "application/vnd.apache.parquet"
ARROW_FILE, ARROW_STREAM = "application/vnd.apache.arrow.file", "application/vnd.apache.arrow.stream"


@pytest.fixture(scope="module")
def home(with_bundles):
    return with_bundles


@pytest.fixture(scope="module")
def client(scoring):
    return scoring


def arrow_of(kind, columns, compression=None):
    """Return columns as the file or the stream of Arrow."""
    import pyarrow as pa

    sink, table = io.BytesIO(), pa.table(columns)
    options = pa.ipc.IpcWriteOptions(compression=compression)
    new = pa.ipc.new_file if kind == ARROW_FILE else pa.ipc.new_stream
    with new(sink, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=13)
    return sink.getvalue()


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
    if kind in (ARROW_FILE, ARROW_STREAM):
        return arrow_of(kind, dict(zip(columns, values.T, strict=True)))
    if kind == CSV:
        lines = [",".join(columns), *(",".join(map(repr, row)) for row in values.tolist())]
        return "\n".join(lines).encode()
    return json.dumps({"rows": values.tolist(), "columns": list(columns)}).encode()


@pytest.mark.parametrize("kind", [JSON, NPY, CSV, SAFETENSORS, PARQUET, ARROW_FILE, ARROW_STREAM])
@pytest.mark.parametrize("outputs", ["probabilities", "logits"])
def test_each_type_of_body_gives_the_answers_of_the_adapter(client, home, kind, outputs):
    adapter = adapter_of(home, "tree").with_outputs(outputs)
    values = outputs_of(outputs)
    named = kind not in (NPY, SAFETENSORS)
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


def test_the_labels_of_a_bundle_are_taken_once_for_all_columns(client, monkeypatch):
    taken, known = [], Bundle.observed_keys

    def counted(bundle):
        taken.append(bundle)
        return known.fget(bundle)

    monkeypatch.setattr(Bundle, "observed_keys", property(counted))
    columns = ["k10", "name 11", "nobody"] * 1_000
    assert client.post(f"{ROUTE}/bind", json={"columns": columns}).json()["total"] == 3_000
    assert len(taken) < 5


PEAK = """
import pathlib, sys
from labelgrove.service.scoring.jsonrows import read_rows
def most():
    return int(pathlib.Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) * 1024
row = b"[" + b",".join([b"1"] * 7) + b"]"
body = b'{"rows": [' + b",".join([row] * 1_000_000) + b"]}"
before = most()
values, _ = read_rows(body, 7, 50_000_000, 1_000)
assert values.shape == (1_000_000, 7) and (values == 1).all()
print(most() - before, len(body))
"""


def test_a_large_document_takes_little_more_memory_than_its_array():
    """An object for each number would take twenty times as many bytes as the document."""
    done = subprocess.run([sys.executable, "-c", PEAK], capture_output=True, text=True, check=True)
    peak, size = map(int, done.stdout.split())
    assert peak < 7 * size


@pytest.mark.parametrize("n_rows", [1, 2, 4_000, 20_000])
@pytest.mark.parametrize("blank", ["", " ", "\n \t"])
def test_a_document_of_any_size_has_the_rows_that_json_has(n_rows, blank):
    values = np.random.default_rng(n_rows).normal(size=(n_rows, 11))
    text = json.dumps({"columns": ["a,b", '"', *"cdefghijk"], "more": [[1]], "rows": values.tolist()})
    body = text.replace(", ", f",{blank}").replace("[", f"[{blank}").replace("]", f"{blank}]").encode()
    found, columns = read_rows(body, 7, values.size, 11)
    assert (found == values).all()
    assert columns == json.loads(body)["columns"]
    with pytest.raises(InputError, match=f"send at most {values.size - 1:,} at once"):
        read_rows(body, 7, values.size - 1, 11)


@pytest.mark.parametrize("n_rows", [1, 2, 4_000, 20_000])
@pytest.mark.parametrize("blank", ["", " ", "\n \t"])
@pytest.mark.parametrize("dtype", ["<f8", "<f4", "<i4"])
def test_the_numbers_of_a_tensor_may_be_flat_or_nested_as_its_shape(n_rows, blank, dtype):
    values = np.round(np.random.default_rng(n_rows).normal(size=(n_rows, 11)) * 9, 3).astype(dtype)
    for given, shape in (
        (values.tolist(), (n_rows, 11)),
        (values.ravel().tolist(), (n_rows, 11)),
        (values.ravel().tolist(), (n_rows * 11,)),
    ):
        text = json.dumps(given).replace(", ", f",{blank}").replace("[", f"[{blank}")
        found = read_numbers(text.encode(), shape, dtype)
        assert found.dtype == dtype
        assert (found == values.ravel()).all()
    nested = json.dumps(values.tolist()).encode()
    for wrong, shape in (
        (nested, (n_rows + 1, 11)),
        (nested, (n_rows * 11, 1)),
        (b"[%b]" % nested, (n_rows, 11)),
        (nested.replace(b"]", b"],", 1), (n_rows, 11)),
        (nested.replace(b", ", b"], [", 1), (n_rows, 11)),
        (nested[:-2] + b", null]]", (n_rows, 11)),
    ):
        with pytest.raises(ValueError, match=r"^$"):
            read_numbers(wrong, shape, dtype)


def test_far_more_columns_than_labels_are_refused_before_their_names_are_read():
    rows = b"[" + b",".join([b"[1,2]"] * 60_000) + b"]"
    body = b'{"columns": [' + b",".join([b'""'] * 100_000) + b'], "rows": ' + rows + b"}"
    with pytest.raises(InputError, match="columns: more than 1,000 given"):
        read_rows(body, 7, 50_000_000, 1_000)


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (b"[[1,2],[3]]", "1 to 2 numbers"),
        (b"[[1,2],[]]", "a row without numbers"),
        (b"[[1,2],[3,4],]", "body: "),
        (b"[[1,2] [3,4]]", "body: "),
        (b"[,[1,2]]", "body: "),
        (b"[[1,2],,[3,4]]", "body: "),
        (b"[[1,2],[[3,4]]]", "body: "),
        (b"[[1,2],3]", "body: "),
        (b"[[1,2],null]", "body: "),
        (b'[[1,2],["]"]]', "body: "),
        (b"{}", "body: |rows: '{}' given"),
        (b"3", "body: |rows: '3' given"),
        (b'{"a": [[1,2]]}', "body: |rows: .* given; give a list of rows"),
        (b'"[[1,2]]"', "body: |rows: .* given; give a list of rows"),
        (b"[[" + b"1," * 600_000 + b"1]]", "a row of more than 7 numbers"),
    ],
    ids=range(15),
)
@pytest.mark.parametrize("n_before", [0, 60_000])
def test_a_large_document_that_is_not_rows_is_refused_as_a_small_one_is(rows, says, n_before):
    width = n_before and b"[1,2]," * n_before
    body = b'{"rows": ' + (rows.replace(b"[", b"[" + width, 1) if width else rows) + b"}"
    body = body.ljust(n_before and 1 << 19)  # also what has no rows
    with pytest.raises(InputError, match=says):
        read_rows(body, 7, 50_000_000, 1_000)


def test_answers_to_rows_are_not_compressed(client):
    rows = {"rows": outputs_of("probabilities").tolist()}
    answer = client.post(f"{ROUTE}/score?top=9", json=rows)
    assert len(answer.content) > 10_000
    assert "content-encoding" not in answer.headers
    assert client.get("/openapi.json").headers["content-encoding"] == "gzip"


def test_no_rows_get_no_answers(client):
    columns = list(client.get(ROUTE).json()["observed"])
    for document in ({"rows": []}, {"rows": [], "columns": columns}):
        answer = client.post(f"{ROUTE}/score", json=document)
        assert (answer.status_code, answer.json()["items"]) == (200, [])
        assert client.post(f"{ROUTE}/explain", json=document).status_code == 400


@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
@pytest.mark.parametrize("kind", [ARROW_FILE, ARROW_STREAM])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int16])
def test_a_column_of_lists_is_read_in_the_order_of_the_bundle(client, home, kind, compression, dtype):
    import pyarrow as pa

    values = np.round(outputs_of("probabilities") * 100).astype(dtype)
    lists = pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), N_OBSERVED)
    body = arrow_of(kind, {"outputs": lists}, compression)
    answer = client.post(f"{ROUTE}/score?top=2", content=body, headers={"content-type": kind})
    assert answer.status_code == 200, answer.text
    ranking = adapter_of(home, "tree").top_k(values, 2)
    assert [one["key"] for one in answer.json()["items"]] == [key for keys in ranking.keys for key in keys]
    assert [one["variance"] for one in answer.json()["items"]] == ranking.values.ravel().tolist()
    explained = client.post(f"{ROUTE}/explain?row=20", content=body, headers={"content-type": kind})
    same = client.post(f"{ROUTE}/explain", json={"rows": values[20:21].astype(float).tolist()})
    assert explained.json() == same.json()


@pytest.mark.parametrize("kind", [PARQUET, ARROW_FILE, ARROW_STREAM])
def test_a_service_without_the_library_of_a_type_says_which_one(client, monkeypatch, kind):
    body = body_of(kind, outputs_of("probabilities"), client.get(ROUTE).json()["observed"])
    for name in [name for name in sys.modules if name.partition(".")[0] == "pyarrow"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    answer = client.post(f"{ROUTE}/score", content=body, headers={"content-type": kind})
    assert (answer.status_code, answer.json()["type"]) == (501, "/reference#problem-missing-extra")
    assert "pyarrow" in answer.json()["detail"]


@pytest.mark.parametrize("kind", [PARQUET, ARROW_STREAM])
def test_a_small_packed_file_may_not_have_too_many_numbers(home, client, kind):
    columns = client.get(ROUTE).json()["observed"]
    body = body_of(kind, np.full((100, N_OBSERVED), 0.1), columns)
    for most, status in ((100 * N_OBSERVED, 200), (100 * N_OBSERVED - 1, 400)):
        with client_of(home, Limits(score_values=most, requests_per_second=0)) as bounded:
            answer = bounded.post(f"{ROUTE}/score", content=body, headers={"content-type": kind})
            assert answer.status_code == status, answer.text
    assert "at most 699 at once" in answer.json()["detail"]


def test_the_answers_of_a_request_are_bounded(home):
    rows = outputs_of("probabilities", 5).tolist()
    with client_of(home, Limits(score_answers=10, requests_per_second=0)) as bounded:
        assert bounded.post(f"{ROUTE}/score?top=2", json={"rows": rows}).status_code == 200
        answer = bounded.post(f"{ROUTE}/score?top=3", json={"rows": rows})
        assert (answer.status_code, answer.json()["type"]) == (400, "/reference#problem-input")
