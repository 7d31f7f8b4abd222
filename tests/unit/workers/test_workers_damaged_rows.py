"""Rows that somebody edited: what they belong to says so, and nothing else waits for it."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from labelgrove.ontology import LabelGraph
from labelgrove.ontology.sql.database import writing
from labelgrove.workers import client
from labelgrove.workers.ledger.publications import Publications
from labelgrove.workers.ledger.states import State
from labelgrove.workers.refresh import refresh
from tests.integration.workers_support import add_version

TREE = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree")])
NEWER = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree"), ("ash", "tree")])
BOTH = pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)


@pytest.fixture
def trees(workspace):
    add_version(workspace, "trees", TREE)
    return workspace


def edit(workspace, statement: str, **values: str) -> None:
    with writing(workspace.engine) as connection:
        assert connection.execute(sa.text(statement), values).rowcount == 1


@BOTH
@pytest.mark.parametrize("text", ["garbage", "5", "{"])
def test_a_name_that_cannot_be_read_ends_with_its_reason_and_holds_nobody_up(trees, text):
    asked = {"ontology": "trees", "observed": ["oak", "elm"]}
    job = client.submit(trees, "bundle", asked, target={"bundle": "mine"}, wait=False)
    named = "target_json LIKE '%mine%'"
    edit(trees, f"UPDATE publication SET target_json = :text WHERE {named}", text=text)
    assert client.submit(trees, "parts", {"numbers": [1]}).state is State.DONE
    ended = client.wait(trees, job.id, timeout_s=60)
    assert ended.state is State.DONE
    assert ended.error.startswith(f"target_json is {text}, expected a JSON object")
    (left,) = Publications(trees.engine).pending()  # its place in the graph, which is away
    assert left.target == {"graph": job.id}
    add_version(trees, "trees", NEWER)
    (refreshed,) = refresh(trees, "trees")
    assert (refreshed.stale_id, refreshed.job_id) == (job.id, None)
    assert "target_json is" in refreshed.reason


@BOTH
def test_a_damaged_job_is_left_out_of_what_the_graph_should_hold(trees):
    one, other = (client.submit(trees, "selection", {"ontology": "trees", "n": n}) for n in (1, 2))
    with writing(trees.engine) as connection:
        connection.execute(sa.text("UPDATE publication SET state = 'done'"))
    rows = Publications(trees.engine)
    assert rows.newest(9) == {one.id: TREE.digest, other.id: TREE.digest}
    edit(trees, "UPDATE job SET spec_json = '{bad' WHERE id = :id", id=one.id)
    assert rows.newest(9) == {other.id: TREE.digest}
