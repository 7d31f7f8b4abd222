"""The commands on the embedded default, from ingest to evaluation, with their exit codes and streams."""

import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import click
import numpy as np
import pytest

from labelgrove.cli import COMMANDS, EXIT_CODES, LazyGroup, grove
from labelgrove.ontology import errors
from labelgrove.ontology.settings import Settings

EDGES = "parent,child\nplant,tree\ntree,oak\ntree,elm\nplant,moss\n"


@pytest.fixture
def garden(call, filled_home):
    Path("garden.csv").write_text(EDGES)
    filled_home(lambda: call("ingest", "garden", "garden.csv"))
    return call


@pytest.fixture
def bundled(garden):
    garden("bundle", "build", "garden", "all", "--observed", "oak,elm,moss", "--out", "garden.safetensors")
    Path("p.csv").write_text("moss,oak,elm\n0.0,0.5,0.5\n0.9,0.05,0.05\n")
    Path("truth.txt").write_text("tree\nmoss\n")
    return garden


def test_ingest_says_what_it_did_and_a_second_run_changes_nothing(garden):
    first = json.loads(garden("ontology", "list", "--json").stdout)
    again = json.loads(garden("ingest", "garden", "garden.csv", "--json").stdout)
    assert again["created"] is False
    assert [(v["ontology"], v["n_labels"], v["n_edges"]) for v in first] == [("garden", 5, 4)]
    assert again["digest"] == first[0]["digest"]
    assert set(again["seconds"]) >= {"snapshot", "batches", "commit"}


def test_defects_are_listed_with_file_and_line_and_stop_it(call):
    Path("bad.csv").write_text("parent,child\na,b\nb,a\n")
    result = call("ingest", "bad", "bad.csv", code=3)
    assert result.stdout == ""
    assert "bad.csv:" in result.stderr
    assert "cycle" in result.stderr
    assert json.loads(call("ontology", "list", "--json").stdout) == []
    report = json.loads(call("ontology", "validate", "bad.csv", "--json", code=3).stdout)
    assert report["accepted"] is False


def test_policies_repair_on_request(call):
    Path("forest.csv").write_text("parent,child\na,b\nc,d\n")
    call("ingest", "forest", "forest.csv", code=3)
    call("ingest", "forest", "forest.csv", "--policy", "roots=virtual")
    assert json.loads(call("ontology", "show", "forest", "--json").stdout)["n_roots"] == 1
    assert "write DEFECT=POLICY" in call("ingest", "x", "forest.csv", "--policy", "roots", code=2).stderr


def test_ontology_show_export_and_delete(garden):
    shown = json.loads(garden("ontology", "show", "garden", "--json").stdout)
    assert (shown["roots"], shown["n_leaves"], shown["depth"], shown["is_tree"]) == (["plant"], 3, 2, True)
    assert "n_leaves" in garden("ontology", "show", "garden").stdout
    Path("copy.tsv").write_text(garden("ontology", "export", "garden", "--format", "edges").stdout)
    garden("ingest", "copy", "copy.tsv")
    digests = {v["ontology"]: v["digest"] for v in json.loads(garden("ontology", "list", "--json").stdout)}
    assert digests["copy"] == digests["garden"]
    garden("ontology", "delete", "copy", text="n\n", code=1)
    garden("ontology", "delete", "copy", "--yes")
    garden("ontology", "show", "copy", code=4)
    assert garden("ontology", "show", "garden").exit_code == 0


def test_labels(garden):
    def keys(*arguments):
        return [row["key"] for row in json.loads(garden("labels", *arguments, "--json").stdout)["items"]]

    assert keys("search", "garden", "OA") == ["oak"]
    assert keys("children", "garden", "tree") == ["elm", "oak"]
    assert keys("ancestors", "garden", "oak") == ["plant", "tree"]
    assert keys("lca", "garden", "oak", "moss") == ["plant"]
    assert keys("path", "garden", "oak", "moss") == ["oak", "tree", "plant", "moss"]
    assert "'ash'" in garden("labels", "path", "garden", "oak", "ash", code=4).stderr


def test_what_is_misspelled_is_answered_with_what_may_be_meant(garden):
    assert "Did you mean 'evaluate'?" in garden("evalute", code=2).stderr
    assert "No such command 'xyzzy'.\n" in garden("xyzzy", code=2).stderr
    assert "Did you mean 'search'?" in garden("labels", "serch", code=2).stderr
    asked = garden(
        "jobs", "submit", "selection", "--param", "ontology=garden", "--param", "budgets=3", code=2
    )
    assert "selection has no parameter budgets; did you mean budget? it needs" in asked.stderr
    assert "grove ontology delete garden --yes" in garden("ontology", "delete", "garden", code=1).stderr
    assert "--yes" not in garden("ontology", "delete", "garden", text="n\n", code=1).stderr


def test_an_empty_answer_is_said_in_words_on_stderr(call):
    fresh = call("ontology", "list")
    hint = "create one with grove quickstart, or with grove ingest NAME FILE"
    assert fresh.stderr == f"there is no ontology yet; {hint}\n"
    assert json.loads(call("ontology", "list", "--json").stdout) == []
    Path("garden.csv").write_text(EDGES)
    call("ingest", "garden", "garden.csv")
    assert call("ontology", "list").stderr == ""
    assert call("labels", "search", "garden", "xyzzy", code=4).stderr == "nothing found\n"
    assert call("labels", "search", "garden", "elmm", code=4).stderr.startswith(
        "nothing found; close to it: elm"
    )
    assert json.loads(call("labels", "search", "garden", "xyzzy", "--json", code=4).stdout)["items"] == []
    assert call("labels", "search", "garden", "elm").stderr == ""


def test_bundle_and_job(bundled):
    job = json.loads(bundled("jobs", "list", "--json").stdout)[0]
    assert (job["kind"], job["state"]) == ("bundle", "done")
    assert json.loads(bundled("jobs", "show", job["id"][:8], "--json").stdout)["id"] == job["id"]
    by_name = json.loads(bundled("bundle", "inspect", "garden/all", "--json").stdout)
    by_path = json.loads(bundled("bundle", "inspect", "./garden.safetensors", "--json").stdout)
    assert by_name["observed"] == ["oak", "elm", "moss"]
    assert by_name["digest"] == by_path["digest"] == job["result_sha256"]
    again = json.loads(
        bundled("bundle", "build", "garden", "all", "--observed", "oak,elm,moss", "--json").stdout
    )
    assert again["job"] == job["id"]
    assert "moos" in bundled("bundle", "build", "garden", "x", "--observed", "oak,moos", code=2).stderr
    assert "'oak'" in bundled("bundle", "build", "garden", "x", "--observed", "oak,oak", code=2).stderr
    assert (
        "fern"
        in bundled(
            "bundle", "build", "garden", "x", "--observed", "oak", "--labels", "oak,fern", code=2
        ).stderr
    )
    bundled("jobs", "show", "00000000", code=4)


def test_bundles_are_listed_and_stale_ones_named(bundled):
    def listed(*arguments):
        return {b["bundle"]: b for b in json.loads(bundled("bundle", "list", *arguments, "--json").stdout)}

    digest = json.loads(bundled("bundle", "inspect", "garden/all", "--json").stdout)["digest"]
    Path("pets.csv").write_text("parent,child\npet,cat\npet,dog\n")
    bundled("ingest", "pets", "pets.csv")
    bundled("bundle", "build", "pets", "mine", "--observed", "cat,dog")
    assert list(listed()) == ["garden/all", "pets/mine"]
    assert list(listed("garden")) == ["garden/all"]
    assert (listed()["garden/all"]["sha256"], listed()["garden/all"]["stale"]) == (digest, False)
    Path("garden.csv").write_text(EDGES + "moss,peat\n")
    bundled("ingest", "garden", "garden.csv")
    assert [(name, b["stale"]) for name, b in listed().items()] == [
        ("garden/all", True),
        ("pets/mine", False),
    ]
    text = bundled("bundle", "list").stdout
    assert "garden/all  stale" in text
    assert digest in text
    assert "nothing" in bundled("bundle", "list", "nothing", code=4).stderr


def test_score_binds_columns_by_name_and_never_by_position_unasked(bundled):
    rows = json.loads(bundled("score", "garden/all", "p.csv", "--json").stdout)
    assert [row["key"] for row in rows] == ["tree", "moss"]
    np.save("p.npy", np.array([[0.5, 0.5, 0.0], [0.05, 0.05, 0.9]], dtype=np.float32))
    assert "--columns" in bundled("score", "garden/all", "p.npy", code=2).stderr
    for columns in ("bundle", "oak,elm,moss"):
        found = json.loads(bundled("score", "garden/all", "p.npy", "--columns", columns, "--json").stdout)
        assert [row["key"] for row in found] == ["tree", "moss"]
    bundled("score", "garden/all", "p.csv", "--top", "2", "--out", "answers.csv")
    assert len(Path("answers.csv").read_text().splitlines()) == 5
    assert "ash" in bundled("score", "garden/all", "p.npy", "--columns", "oak,ash,moss", code=2).stderr


def test_evaluate_shows_every_baseline(bundled):
    result = json.loads(bundled("evaluate", "garden/all", "p.csv", "truth.txt", "--json").stdout)
    assert set(result["rules"]) == {
        "frechet_mean",
        "argmax",
        "constant",
        "observed_only",
        "crm",
        "nearest_observed",
    }
    assert result["rules"]["frechet_mean"]["all"]["mean_squared_distance"] == 0
    assert "argmax" in bundled("evaluate", "garden/all", "p.csv", "truth.txt").stdout


def test_what_looks_like_no_probabilities_is_said_and_a_header_rules(bundled):
    Path("logits.csv").write_text("moss,oak,elm\n3,1,4\n")
    assert "do not sum to 1" in bundled("score", "garden/all", "logits.csv").stderr
    assert bundled("score", "garden/all", "p.csv").stderr == ""
    assert (
        "leave --columns out"
        in bundled("score", "garden/all", "p.csv", "--columns", "oak,elm,moss", code=2).stderr
    )


def test_probabilities_that_are_called_logits_are_said_once_where_all_rows_look_so(bundled):
    said = "every row lies in 0..1 and sums to 1: these look like probabilities; leave out --outputs logits"
    assert bundled("score", "garden/all", "p.csv", "--outputs", "logits").stderr == f"note: {said}\n"
    bundled_rows = "moss,oak,elm\n" + "0.5,0.25,0.25\n" * 5000
    Path("long.csv").write_text(bundled_rows)
    assert bundled("score", "garden/all", "long.csv", "--outputs", "logits").stderr == f"note: {said}\n"
    Path("long.csv").write_text(bundled_rows + "2,1,0\n")
    assert bundled("score", "garden/all", "long.csv", "--outputs", "logits").stderr == ""
    evaluated = bundled("evaluate", "garden/all", "p.csv", "truth.txt", "--outputs", "logits")
    assert evaluated.output.count("these look like probabilities") == 1


def test_a_model_names_its_classes_by_name(call):
    Path("named.json").write_text(
        '{"id": "r", "name": "pet", "children": [{"id": "n1", "name": "cat"}, {"id": "n2", "name": "dog"}]}'
    )
    call("ingest", "pets", "named.json")
    Path("classes.txt").write_text("dog\ncat\n")
    call("bundle", "build", "pets", "mine", "--observed", "classes.txt")
    np.save("p.npy", np.array([[0.9, 0.1]]))
    rows = json.loads(call("score", "pets/mine", "p.npy", "--columns", "classes.txt", "--json").stdout)
    assert rows[0]["key"] == "n2"
    assert "no such file" in call("bundle", "build", "pets", "x", "--observed", "nofile.txt", code=4).stderr


def test_evaluate_measures_block_bundles_in_their_ontology(garden):
    garden("bundle", "build", "garden", "graph", "--observed", "oak,elm,moss", "--metric", "graph")
    Path("p.csv").write_text("moss,oak,elm\n0.0,0.5,0.5\n")
    Path("truth.txt").write_text("plant\n")
    result = json.loads(
        garden("evaluate", "garden/graph", "p.csv", "truth.txt", "--ontology", "garden", "--json").stdout
    )
    assert result["rules"]["frechet_mean"]["all"]["mean_squared_distance"] == 1


def test_cypher_prints_table_json_and_csv_and_binds_the_version(garden):
    statement = (
        "MATCH (l:Label {version: $version}) WHERE l.depth = $depth RETURN l.key AS key ORDER BY l.idx"
    )
    arguments = ("cypher", statement, "--ontology", "garden", "-p", "depth:=2")
    assert json.loads(garden(*arguments, "--json").stdout)["rows"] == [["elm"], ["oak"]]
    assert garden(*arguments, "--csv").stdout == "key\nelm\noak\n"
    assert garden(*arguments).stdout.split() == ["key", "---", "elm", "oak"]
    assert "--max-rows" in garden(*arguments, "--max-rows", "1").stderr
    assert "error" in garden("cypher", "MATCH (n) DETACH DELETE n", code=2).stderr
    garden("cypher", "RETURN $version AS v", "--ontology", "nothing", code=4)
    assert "NAME=TEXT" in garden("cypher", "RETURN 1", "-p", "depth", code=2).stderr


def test_a_query_that_writes_is_told_so_and_one_that_a_shell_spoiled_where_to_quote_it(garden):
    assert "a query may only read" in garden("cypher", "MATCH (l) DELETE l", code=2).stderr
    for eaten in ("MATCH (l:Label {version: }) RETURN l", "MATCH (l:Label {version: , idx: 0}) RETURN l"):
        assert "put the query in single quotes" in garden("cypher", eaten, code=1).stderr
    assert "single quotes" not in garden("cypher", "MATCH (l:Label) RETURN nothing", code=1).stderr


def test_a_cypher_parameter_is_text_unless_it_is_said_to_be_json(garden):
    def bound(*given: str) -> list:
        names = [f"p{i}" for i in range(len(given))]
        statement = "RETURN " + ", ".join(f"${name} AS {name}" for name in names)
        bindings = [part for name, value in zip(names, given, strict=True) for part in ("-p", name + value)]
        return json.loads(garden("cypher", statement, *bindings, "--json").stdout)["rows"][0]

    texts = ["545", "12e4", "0012", "true", '["a"]', "a=b", ":"]
    assert bound(*(f"={text}" for text in texts)) == texts
    assert bound(":=545", ":=true", ':=["a"]', ':="545"') == [545, True, ["a"], "545"]
    assert "is not JSON" in garden("cypher", "RETURN $x AS x", "-p", "x:=oak", code=2).stderr


def test_a_cypher_parameter_is_given_once_and_is_no_map(garden):
    asked = ("cypher", "RETURN $x AS x", "-p")
    for again in ("x=b", "x:=2", "x=a"):
        assert "--param x: is given twice" in garden(*asked, "x=a", "-p", again, code=2).stderr
    for value in ('{"y": [1]}', "{}", '[["a", {"y": 1}]]'):
        said = garden(*asked, f"x:={value}", code=2).stderr
        assert "is a map; give text, numbers, true, false, null, and lists of these" in said


def test_graph_verify_and_rebuild(garden):
    checked = json.loads(garden("graph", "verify", "--json").stdout)
    assert [c["same"] for c in checked] == [True]
    assert len(json.loads(garden("graph", "rebuild", "--json").stdout)["versions"]) == 1
    assert garden("graph", "verify").exit_code == 0


def test_db_upgrade_and_doctor(call, monkeypatch):
    assert call("db", "upgrade").stdout == call("db", "upgrade").stdout
    found = json.loads(call("doctor", "--json").stdout)
    assert found["ok"] is True
    monkeypatch.setenv("GROVE_GRAPH_URL", "bolt://neo4j:canary-secret@127.0.0.1:9")
    result = call("doctor", code=5)
    assert "WRONG" in result.stdout
    assert "canary" not in result.output
    monkeypatch.setenv("GROVE_GRAPH_URL", "ftp://nowhere")
    assert "GROVE_GRAPH_URL" in call("doctor", code=1).stdout


def test_doctor_tells_what_is_gone(garden):
    snapshot = json.loads(Path(Settings.from_env().home, "artifacts/index/garden.json").read_text())[
        "snapshot"
    ]
    path = Path(Settings.from_env().home, "artifacts/sha256", snapshot[:2], snapshot)
    content = path.read_bytes()
    path.unlink()
    assert snapshot in garden("doctor", code=1).stdout
    path.write_bytes(content)
    garden("doctor")


def test_doctor_sees_damaged_pages_of_the_database(garden):
    path = Path(Settings.from_env().home, "catalog.db")
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (root,) = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'unit' AND type = 'table'"
        ).fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    connection.close()
    with path.open("r+b") as file:
        file.seek((root - 1) * size)
        file.write(b"\xa5" * size)
    found = garden("doctor", code=5).stdout
    assert "the file is damaged" in found
    assert "grove restore" in found


def test_a_broker_that_is_away_ends_a_build_before_it_waits(garden, monkeypatch):
    monkeypatch.setenv("GROVE_BROKER_URL", "redis://:canary-secret@127.0.0.1:9/0")
    result = garden("bundle", "build", "garden", "all", "--observed", "oak", code=5)
    assert "GROVE_BROKER_URL" in result.stderr
    assert "canary" not in result.stderr


def test_doctor_refuses_celery_beside_the_embedded_graph(call, monkeypatch):
    monkeypatch.setenv("GROVE_BROKER_URL", "redis://127.0.0.1:9/0")
    assert "GROVE_GRAPH_URL" in call("doctor", code=1).stdout
    assert "GROVE_GRAPH_URL" in call("worker", code=2).stderr


def test_who_only_sweeps_has_no_use_for_a_number_of_units(call):
    assert "--concurrency" in call("worker", "--sweep-only", "--concurrency", "2", code=2).stderr


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.csv", "", "is empty"),
        ("text.csv", "oak,elm,moss\n1,2,x\n", "text.csv:2: row 0, column 2 ('moss') holds 'x'"),
        ("headless.csv", "0.5,0.5,0\n1,0,0\n", "headless.csv:1: the first line contains only numbers"),
        (
            "ragged.csv",
            "oak,elm,moss\n1,2\n",
            "ragged.csv:2: rows of different lengths (2 cells under a header of 3)",
        ),
        ("negative.csv", "oak,elm,moss\n1,-2,0\n", "row"),
        ("nan.csv", "oak,elm,moss\n1,nan,0\n", "row"),
        ("zero.csv", "oak,elm,moss\n0,0,0\n", "row"),
        ("wide.csv", "oak,elm,moss,fern\n1,0,0,0\n", "fern"),
        ("bytes.npy", "not numpy", "not a .npy file"),
    ],
)
def test_outputs_that_break_a_rule_name_it(bundled, name, content, message):
    Path(name).write_text(content)
    columns = ("--columns", "bundle") if name.endswith(".npy") else ()
    assert message in bundled("score", "garden/all", name, *columns, code=2).stderr


def test_a_source_whose_name_is_not_utf8_is_taken_in(call):
    Path("b\udcff.csv").write_text(EDGES)
    call("ingest", "garden", "b\udcff.csv")
    shown = json.loads(call("ontology", "show", "garden", "--json").stdout)
    assert shown["versions"][0]["source"] == "b\\xff.csv"


def test_an_env_file_that_is_no_text_is_named(call):
    Path(".env").write_bytes(b"\xff\xfe\x00")
    assert ".env" in call("ontology", "list", code=2).stderr


@pytest.mark.parametrize("value", ["[" * 50_000, "9" * 5000])
def test_a_parameter_too_large_for_json_is_refused(garden, value):
    assert "--param x" in garden("cypher", "-p", f"x:={value}", "RETURN $x AS x", code=2).stderr


def test_usage_and_missing_files(call):
    call("nonsense", code=2)
    call("ingest", "only-a-name", code=2)
    assert "no-such-file" in call("ingest", "x", "no-such-file.csv", code=4).stderr
    Path("garden.csv").write_text(EDGES)
    assert "Bad Name" in call("ingest", "Bad Name", "garden.csv", code=2).stderr


def test_exit_codes_follow_the_error_tree():
    codes = {kind: code for kind, code in EXIT_CODES}
    assert codes[errors.GroveError] == 1
    kinds = [kind for kind, _ in EXIT_CODES]
    for earlier, kind in enumerate(kinds):
        assert not any(issubclass(kind, above) for above in kinds[:earlier]), (
            "a row that can never be reached"
        )


def test_the_table_of_commands_is_the_commands():
    context = click.Context(grove)
    assert isinstance(grove, LazyGroup)
    for name, (_, summary) in COMMANDS.items():
        command = grove.get_command(context, name)
        assert command is not None
        assert command.name == name
        assert summary.endswith(".")


def test_help_starts_without_any_driver():
    code = (
        "import sys\nsys.argv = ['grove', '--help']\nfrom labelgrove.__main__ import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "heavy = {'neo4j', 'ladybug', 'celery', 'redis', 'sqlalchemy', 'numpy', 'scipy'} & set(sys.modules)\n"
        "sys.exit(', '.join(sorted(heavy)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_long_list_of_keys_is_a_list_and_no_file_name(call):
    leaves = [f"leaf-{i:03}" for i in range(100)]
    Path("wide.csv").write_text("parent,child\n" + "".join(f"top,{leaf}\n" for leaf in leaves))
    call("ingest", "wide", "wide.csv")
    call("bundle", "build", "wide", "all", "--observed", ",".join(leaves))
    assert json.loads(call("bundle", "inspect", "wide/all", "--json").stdout)["n_observed"] == 100


def test_a_bundle_name_that_may_not_be_is_refused(garden):
    assert (
        "bundle name" in garden("bundle", "build", "garden", "My Model", "--observed", "oak", code=2).stderr
    )


@pytest.mark.parametrize(
    "command",
    [
        ("bundle", "build", "garden", "all", "--observed", "oak,elm,moss"),
        ("ontology", "export", "garden"),
        ("score", "garden/all", "p.csv"),
    ],
)
def test_a_file_that_cannot_be_written_is_told(bundled, command):
    assert "cannot be written" in bundled(*command, "--out", "absent/file", code=2).stderr
