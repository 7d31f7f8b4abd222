"""`grove score`: what the outputs are, which labels take part, sparse outputs, a saved binding, and why."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse
from click.testing import CliRunner

from labelgrove.adapter import Adapter, SparseOutputs, Subtree, build_bundle, make_binding
from labelgrove.cli import grove
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.store.safetensors_file import write_safetensors

GRAPH = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree"), ("moss", "plant"), ("tree", "plant")])
COLUMNS = ["oak", "elm", "moss"]
BUNDLE = build_bundle(GRAPH, COLUMNS)
P = np.array([[0.5, 0.375, 0.125], [0.0, 0.25, 0.75], [1.0, 0.0, 0.0]])


@pytest.fixture
def score(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    BUNDLE.save("b.safetensors")
    np.save("p.npy", P)

    def run(*arguments, code=0):
        result = CliRunner().invoke(grove, ["score", "./b.safetensors", *arguments])
        assert result.exit_code == code, (arguments, result.output, result.exception)
        return result

    return run


def keys(result):
    return [row["key"] for row in json.loads(result.stdout)]


IN_ORDER = ("--columns", "bundle", "--json")


@pytest.mark.parametrize(
    ("given", "candidates"),
    [
        ("leaves", "leaves"),
        ("observed", "observed"),
        ("locus", "locus"),
        ("subtree:tree", Subtree("tree")),
        ("moss,elm", ["moss", "elm"]),
        ("chosen.txt", ["moss", "tree"]),
    ],
)
def test_candidates_take_part_and_no_others(given, candidates, score):
    Path("chosen.txt").write_text("moss\ntree\n")
    found = keys(score("p.npy", *IN_ORDER, "--candidates", given))
    assert found == Adapter(BUNDLE).predict(P, candidates=candidates)


@pytest.mark.parametrize(
    ("given", "code", "message"),
    [
        (
            "subtree:fern",
            4,
            "--candidates: subtree of 'fern': no label of the tree has this key; nothing is close to it\n",
        ),
        ("subtree:tre", 4, "no label of the tree has this key; close to it: 'tree'"),
        (
            "oka,elm",
            4,
            "--candidates oka,elm: 1 of 2 labels not found among the 5 labels: 'oka'; close to it",
        ),
        (
            "leafs",
            4,
            "--candidates leafs: 1 of 1 label not found among the 5 labels: 'leafs'; a similar word: "
            "leaves; give leaves, locus, observed, subtree:KEY, a file with one label per line, or "
            "key,key,...\n",
        ),
        ("obsrved", 4, "'obsrved'; a similar word: observed; give leaves"),
        ("subtree", 4, "'subtree'; close to it: 'tree'; a similar word: subtree:KEY; give leaves"),
        ("zzz", 4, "'zzz'; give leaves"),
        (
            "few.txt",
            4,
            "--candidates few.txt: 1 of 2 labels not found among the 5 labels: 'ash'; give leaves",
        ),
        ("absent.txt", 4, "there is no such file"),
    ],
)
def test_candidates_that_are_not_there_are_said(given, code, message, score):
    Path("few.txt").write_text("oak\nash\n")
    for more in ((), ("--explain", "0")):
        assert message in score("p.npy", *IN_ORDER, "--candidates", given, *more, code=code).stderr


def test_a_header_of_keys_that_are_numbers_names_the_columns(score):
    graph = LabelGraph.from_edges([("2", "1"), ("3", "1"), ("6", "0"), ("1", "0")])
    build_bundle(graph, ["2", "3", "6"]).save("b.safetensors")
    Path("p.csv").write_text("6,2,3\n0.125,0.5,0.375\n0.75,0,0.25\n1,0,0\n")
    assert keys(score("p.csv", "--json")) == ["1", "0", "6"]
    Path("p.csv").write_text("6,2\n0.5,0.5\n")
    assert "add a first column that is called id" in score("p.csv", code=2).stderr


FAULTS = {
    "logits": (
        "score",
        (),
        "error: l.csv: row 0, column 1 ('elm') holds -1.0; a row must have no negative number; if these are "
        "logits, say --outputs logits, which applies the softmax; if log-probabilities, --outputs "
        "log_probabilities\n",
    ),
    "logits measured": (
        "evaluate",
        ("t.txt",),
        "error: l.csv: row 0, column 1 ('elm') holds -1.0; a row must have",
    ),
    "logits fitted": ("calibrate", ("t.txt",), "say --outputs logits, which applies the softmax"),
    "logits called log-probabilities": (
        "score",
        ("--outputs", "log_probabilities"),
        "no log-probability above 0; if these are logits, say --outputs logits\n",
    ),
    "sparse logits": (
        "score",
        ("--columns", "bundle"),
        "error: s.npz: row 0, column 1 ('elm') holds -1.0; a row must have no negative number; if these are "
        "logits, say --outputs logits, which applies the softmax; if log-probabilities, --outputs "
        "log_probabilities\n",
    ),
    "a temperature": (
        "score",
        ("--temperature", "2"),
        "error: --temperature: 2.0 given with --outputs probabilities; a temperature divides logits: give "
        "those with --outputs logits, or np.log of the probabilities with --outputs log_probabilities\n",
    ),
    "an array": ("score", ("--array", "x"), "error: --array: 'x' given for l.csv"),
    "numbers of columns": (
        "score",
        ("--columns", "0,1,2"),
        "error: --columns: 0, 1, 2 look like column numbers; name the classes of the columns, in order; "
        "if the columns are in the order of the bundle, say --columns bundle\n",
    ),
}


@pytest.mark.parametrize("name", list(FAULTS))
def test_errors_name_the_file_and_options_and_no_arguments_of_python(name, score):
    command, options, said = FAULTS[name]
    Path("l.csv").write_text("oak,elm,moss\n2,-1,0.5\n")
    Path("t.txt").write_text("oak\n")
    scipy.sparse.save_npz("s.npz", scipy.sparse.csr_matrix([[2.0, -1.0, 0.5]]))
    outputs = {"sparse logits": "s.npz", "numbers of columns": "p.npy"}.get(name, "l.csv")
    result = CliRunner().invoke(grove, [command, "./b.safetensors", outputs, *options])
    assert result.exit_code == 2
    assert said in result.stderr
    assert "='" not in result.stderr


@pytest.mark.parametrize(
    ("emits", "given"), [("logits", 3 * P), ("log_probabilities", np.log(P + 0.001) - 1)]
)
def test_what_the_numbers_are_and_their_temperature(emits, given, score):
    np.save("given.npy", given)
    found = json.loads(
        score("given.npy", *IN_ORDER, "--outputs", emits, "--temperature", "0.5", "--top", "2").stdout
    )
    expected = Adapter(BUNDLE, outputs=emits, temperature=0.5).top_k(given, 2)
    assert [row["key"] for row in found] == [key for row in expected.keys for key in row]
    assert [row["variance"] for row in found] == expected.values.ravel().tolist()
    assert "a temperature divides logits" in score("p.npy", *IN_ORDER, "--temperature", "2", code=2).stderr


def test_the_exponent_of_distances(score):
    for beta in (1.0, 2.0, 3.0):
        found = keys(score("p.npy", *IN_ORDER, "--beta", str(beta)))
        assert found == Adapter(BUNDLE, beta=beta).predict(P)
    assert "beta" in score("p.npy", *IN_ORDER, "--beta", "0", code=2).stderr


@pytest.mark.parametrize("form", ["listed.npz", "listed.safetensors", "matrix.npz"])
def test_rows_that_list_a_few_classes(form, score):
    listed = SparseOutputs(
        np.array([[0, 1], [2, 1], [0, -1]]), np.array([[0.5, 0.5], [0.75, 0.25], [1.0, 0.0]])
    )
    arrays = {"indices": listed.indices, "values": listed.values}
    np.savez("listed.npz", **arrays)
    Path("listed.safetensors").write_bytes(write_safetensors(arrays, {}))
    dense = np.array([[0.5, 0.5, 0.0], [0.0, 0.25, 0.75], [1.0, 0.0, 0.0]])
    scipy.sparse.save_npz("matrix.npz", scipy.sparse.coo_matrix(dense))
    assert keys(score(form, *IN_ORDER)) == Adapter(BUNDLE).predict(listed) == Adapter(BUNDLE).predict(dense)
    assert keys(score(form, "--columns", "moss,elm,oak", "--json")) == Adapter(
        BUNDLE, ["moss", "elm", "oak"]
    ).predict(listed)
    why = json.loads(score(form, *IN_ORDER, "--explain", "1").stdout)
    assert [part["key"] for part in why["contributions"]] == ["elm", "moss"]
    assert "--columns" in score(form, code=2).stderr


def test_a_column_that_names_the_rows_is_carried_to_the_answers(score):
    lines = [
        "sample,oak,elm,moss",
        *(",".join([f"{i:03}", *map(repr, row)]) for i, row in enumerate(P.tolist())),
    ]
    Path("p.csv").write_text("\n".join(lines))
    given = score("p.csv", "--id-column", "sample", "--top", "2", "--json")
    rows = json.loads(given.stdout)
    plain = json.loads(score("p.npy", *IN_ORDER, "--top", "2").stdout)
    assert [row.pop("id") for row in rows] == ["000", "000", "001", "001", "002", "002"]
    assert rows == plain
    text = score("p.csv", "--id-column", "sample").stdout.splitlines()
    assert text[0] == "row,id,rank,key,name,variance,n_tied"
    assert text[2].startswith("1,001,1,")
    assert "column 0 'sample' is unknown" in score("p.csv", code=2).stderr
    assert "no columns named 'id'" in score("p.csv", "--id-column", "id", code=2).stderr
    assert "--id-column: 'id' given" in score("p.npy", *IN_ORDER, "--id-column", "id", code=2).stderr
    np.savez("few.npz", indices=[[0, 1]], values=[[0.5, 0.5]])
    assert (
        "--id-column: 'x' given for few.npz" in score("few.npz", *IN_ORDER, "--id-column", "x", code=2).stderr
    )


def test_ids_and_an_index_of_pandas_are_known_by_their_header(score, tmp_path):
    table = pa.table({"oak": P[:, 0], "elm": P[:, 1], "moss": P[:, 2], "id": ["x", "y", "z"]})
    pq.write_table(table, "p.parquet")
    for name, header in (("p.csv", ",oak,elm,moss"), ("q.csv", "Id,oak,elm,moss"), ("r.csv", ",0,1,2")):
        rows = [",".join([f"r{i}", *map(repr, row)]) for i, row in enumerate(P.tolist())]
        Path(name).write_text("\n".join([header, *rows]))
    expected = keys(score("p.npy", *IN_ORDER))
    for name in ("p.parquet", "p.csv", "q.csv", "r.csv"):
        columns = ("--columns", "oak,elm,moss") if name == "r.csv" else ()
        found = score(name, *columns, "--json")
        assert keys(found) == expected
        assert len({row["id"] for row in json.loads(found.stdout)}) == 3
        assert "is taken to name its rows (--id-column)" in found.stderr
    Path("truth.txt").write_text("oak\nmoss\noak\n")
    result = CliRunner().invoke(grove, ["evaluate", "./b.safetensors", "p.parquet", "truth.txt"])
    assert result.exit_code == 0


def test_a_label_called_id_stays_a_class(score):
    graph = LabelGraph.from_edges([("id", "root"), ("ego", "root")])
    build_bundle(graph, ["id", "ego"]).save("freud.safetensors")
    Path("p.csv").write_text("id,ego\n0.9,0.1\n")
    result = CliRunner().invoke(grove, ["score", "./freud.safetensors", "p.csv", "--json"])
    assert [row["key"] for row in json.loads(result.stdout)] == ["id"]
    assert "id" not in json.loads(result.stdout)[0]


def test_a_header_and_columns_that_agree_are_taken(score):
    Path("p.csv").write_text("\n".join(["moss,oak,elm", *(f"{c},{a},{b}" for a, b, c in P.tolist())]))
    pq.write_table(pa.table({"moss": P[:, 2], "oak": P[:, 0], "elm": P[:, 1]}), "p.parquet")
    make_binding(BUNDLE, ["moss", "oak", "elm"]).save("binding.json")
    Path("columns.txt").write_text("moss\noak\nelm\n")
    expected = keys(score("p.npy", *IN_ORDER))
    for name in ("p.csv", "p.parquet"):
        for columns in ("moss,oak,elm", "columns.txt", "binding.json"):
            assert keys(score(name, "--columns", columns, "--json")) == expected
        said = score(name, "--columns", "moss,elm,oak", code=2).stderr
        assert "column 1 is 'oak' by its header and 'elm' by --columns; correct one" in said
        said = score(name, *IN_ORDER, code=2).stderr
        assert "column 0 is 'moss' by its header and 'oak' by --columns" in said
    Path("q.csv").write_text("m,o,e\n0.5,0.25,0.25\n")
    said = score("q.csv", "--columns", "moss,oak,elm", code=2).stderr
    assert "its header does not agree with --columns" in said
    assert "column 0 'm' is unknown" in said
    Path("q.csv").write_text("oak,elm,moss\n0.5,0.25,0.25\n")
    assert keys(score("q.csv", *IN_ORDER)) == ["tree"]


def test_a_header_of_names_agrees_with_columns_of_keys(score):
    names = {"n1": "oak", "n2": "elm"}
    graph = LabelGraph.from_edges([("n1", "n0"), ("n2", "n0")], names=names)
    build_bundle(graph, ["n1", "n2"]).save("named.safetensors")
    Path("p.csv").write_text("elm,oak\n0.9,0.1\n")
    arguments = ["score", "./named.safetensors", "p.csv", "--json", "--columns"]
    assert keys(CliRunner().invoke(grove, [*arguments, "n2,n1"])) == ["n2"]
    said = CliRunner().invoke(grove, [*arguments, "n1,n2"])
    assert "column 0 is 'n2' (elm) by its header and 'n1' (oak) by --columns" in said.stderr


def test_outputs_of_another_width_are_refused_by_the_name_of_the_file(score):
    np.save("wide.npy", np.ones((7, 5)))
    assert (
        "wide.npy: 5 columns given, expected 3: one for each" in score("wide.npy", *IN_ORDER, code=2).stderr
    )


def test_sparse_files_that_break_a_rule_are_refused(score):
    np.savez("outside.npz", indices=[[0, 3]], values=[[0.5, 0.5]])
    assert "row 0 lists column 3" in score("outside.npz", *IN_ORDER, code=2).stderr
    scipy.sparse.save_npz("matrix.npz", scipy.sparse.csr_matrix(P))
    Path("cut.npz").write_bytes(Path("matrix.npz").read_bytes()[:-30])
    assert "cut.npz" in score("cut.npz", *IN_ORDER, code=2).stderr
    np.savez("pickled.npz", indices=np.array([{}]), values=np.array([{}]))
    assert "pickled.npz" in score("pickled.npz", *IN_ORDER, code=2).stderr
    score("absent.npz", *IN_ORDER, code=4)
    score("absent.safetensors", *IN_ORDER, code=4)


def test_a_saved_binding_names_the_columns(score):
    make_binding(BUNDLE, ["moss", "oak", "elm"]).save("binding.json")
    found = keys(score("p.npy", "--columns", "binding.json", "--json"))
    assert found == Adapter(BUNDLE, ["moss", "oak", "elm"]).predict(P)
    Path("other.json").write_text("{}")
    assert "this file is not a binding" in score("p.npy", "--columns", "other.json", code=2).stderr


def test_one_row_is_explained(score):
    why = Adapter(BUNDLE).explain(P[1])
    assert score("p.npy", "--columns", "bundle", "--explain", "1").stdout == f"{why}\n"
    assert json.loads(score("p.npy", *IN_ORDER, "--explain", "1").stdout)["answer"] == why.answer
    leaf = json.loads(score("p.npy", *IN_ORDER, "--explain", "1", "--candidates", "leaves").stdout)
    assert leaf["answer"] == Adapter(BUNDLE).explain(P[1], candidates="leaves").answer
    score("p.npy", "--columns", "bundle", "--explain", "0", "--out", "why.txt")
    assert Path("why.txt").read_text().startswith("answer ")
    score("p.npy", "--columns", "bundle", "--explain", "1", "--out", "why.json")
    assert json.loads(Path("why.json").read_text())["answer"] == why.answer
    assert "has 3 rows" in score("p.npy", *IN_ORDER, "--explain", "3", code=2).stderr


def test_the_ending_of_out_says_what_is_written(score):
    shown = score("p.npy", *IN_ORDER, "--top", "2").stdout
    score("p.npy", "--columns", "bundle", "--top", "2", "--out", "found.json")
    assert Path("found.json").read_text() == shown
    score("p.npy", "--columns", "bundle", "--top", "2", "--out", "found.txt")
    assert Path("found.txt").read_text().startswith("row,rank,key,")
    for name in ("found.npy", "found.parquet"):
        assert "CSV or JSON" in score("p.npy", "--columns", "bundle", "--out", name, code=2).stderr
        assert not Path(name).exists()
    refused = score("p.npy", "--columns", "bundle", "--spreadsheet-safe", "--out", "found.json", code=2)
    assert "needs CSV" in refused.stderr
