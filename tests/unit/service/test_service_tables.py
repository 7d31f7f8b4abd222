"""Tables over HTTP: the number of jobs that match, and CSV that a spreadsheet may open."""

from __future__ import annotations

import csv
import io
import shutil

import pytest

from labelgrove.documents.spreadsheet import as_csv
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers import client
from labelgrove.workers.ledger.states import State
from tests.unit.service.service_cases import add, client_of, settings_of

HOSTILE = ["=1+1", "+elm", "-oak", "@SUM(A1)", "＝1"]
TAME = ["a=b", "plain"]
GRAPH = LabelGraph.from_edges([(key, "root") for key in [*HOSTILE, *TAME]])


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """Return a client of a home with hostile keys, and the ids of its three done jobs and one stale one."""
    home = tmp_path_factory.mktemp("tables") / "home"
    add(home, "garden", LabelGraph.from_edges([("oak", "tree")]))
    with Workspace.open(settings_of(home)) as workspace:
        stale = client.submit(workspace, "cover", {"ontology": "garden"}).id
    add(home, "garden", LabelGraph.from_edges([("elm", "tree")]))
    add(home, "hostile", GRAPH)
    with Workspace.open(settings_of(home)) as workspace:
        cover = client.submit(workspace, "cover", {"ontology": "hostile"})
        assert cover.state is State.DONE
        for n in (2, 3):
            client.submit(workspace, "summary", {"ontology": "hostile", "target": n})
    with client_of(home) as one:
        yield one, cover.id, stale
    shutil.rmtree(home)


@pytest.mark.parametrize(
    ("asking", "total"),
    [
        ("", 4),
        ("state=done", 4),
        ("state=pending", 0),
        ("kind=cover", 2),
        ("kind=summary&state=done", 2),
        ("kind=nothing", 0),
        ("stale=true", 1),
        ("stale=true&state=done", 1),
        ("stale=true&kind=summary", 0),
    ],
)
@pytest.mark.parametrize("limit", [1, 2, 1_000])
def test_the_total_counts_all_jobs_that_match_on_whatever_page(asked, asking, total, limit):
    answered = asked[0].get(f"/v1/jobs?{asking}&limit={limit}").json()
    assert (answered["total"], len(answered["items"])) == (total, min(total, limit))


def test_a_state_in_which_no_job_is_stale_is_refused(asked):
    answer = asked[0].get("/v1/jobs?stale=true&state=failed")
    assert (answer.status_code, answer.json()["next_step"]) == (400, "leave out state or stale")


def cells(text: str, delimiter: str) -> list[str]:
    return [cell for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) for cell in row]


@pytest.mark.parametrize(
    ("path", "delimiter"),
    [
        ("/jobs/{}/result.csv?", ","),
        ("/v1/ontologies/hostile/export?format=records", ","),
        ("/v1/ontologies/hostile/export?format=edges", "\t"),
    ],
)
def test_a_table_has_names_as_they_are_unless_a_spreadsheet_is_to_open_it(asked, path, delimiter):
    reader, cover, _ = asked
    plain, safe = (reader.get(path.format(cover) + more) for more in ("", "&spreadsheet_safe=true"))
    for answer in (plain, safe):
        assert answer.status_code == 200
        assert answer.headers["content-disposition"].startswith("attachment; ")
        assert answer.headers["x-content-type-options"] == "nosniff"
    both = [*zip(cells(plain.text, delimiter), cells(safe.text, delimiter), strict=True)]
    assert {*HOSTILE} <= {p for p, _ in both}
    assert all(s == (f"'{p}" if p in HOSTILE else p) for p, s in both)


def test_the_table_of_a_result_is_that_of_the_command_line(asked):
    reader, cover, _ = asked
    answer = reader.get(f"/jobs/{cover}/result.csv")
    header, *rows = csv.reader(io.StringIO(answer.text, newline=""))
    assert answer.text == as_csv(header, rows) + "\n"
    assert {row[header.index("key")] for row in rows} == {*HOSTILE, *TAME}  # the leaves


def test_only_a_table_is_made_safe_for_a_spreadsheet(asked):
    answer = asked[0].get("/v1/ontologies/hostile/export?format=json&spreadsheet_safe=true")
    assert (answer.status_code, answer.json()["next_step"]) == (400, "give format records or edges")
