"""What a user's query may cost, held against both engines: its time, its answer, the memory of who asks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import neo4j
import pytest

from labelgrove.ontology.errors import QueryFailedError, QueryTimeoutError
from labelgrove.ontology.graph import GraphStore
from labelgrove.ontology.graph.embedded.embeddedengine import EmbeddedEngine
from labelgrove.ontology.graph.neo4j.neo4jengine import Neo4jEngine
from labelgrove.ontology.graph.userqueries import answersize as answers
from labelgrove.ontology.graph.userqueries.answersize import ANSWER_BYTES, encoded
from tests.contracts.test_graph_store import PETS, load
from tests.services import patient

pytestmark = pytest.mark.long

LARGE = 10**18  # of nineteen digits each
TOO_LARGE: dict[str, tuple[str, int]] = {  # a statement, and the length of its $text
    "one row": (f"RETURN range({LARGE}, {LARGE + 3_400_000}) AS r", 1),
    "lists": (
        f"UNWIND range(1, 600) AS x RETURN [[range({LARGE}, {LARGE + 3000})], "
        f"[range({LARGE}, {LARGE + 3000})]] AS r",
        1,
    ),
    "maps": (
        f"UNWIND range(1, 600) AS x RETURN {{a: range({LARGE}, {LARGE + 3000}), "
        f"b: {{c: range({LARGE}, {LARGE + 3000})}}}} AS m",
        1,
    ),
    "texts": ("UNWIND range(1, 100) AS x RETURN [$text, $text] AS t", 500_000),
    "small rows": ("UNWIND range(1, 400000) AS x RETURN x AS x, $text AS t", 300),
    "nodes": (
        "MATCH (l:Label {version: $version}) UNWIND range(1, 6000) AS x RETURN [l, l, l, l, l, l, l], x",
        1,
    ),
    "paths": (
        "MATCH p = (:Label {version: $version})-[:IS_A]->(:Label) UNWIND range(1, 4000) AS x "
        "RETURN [p, p, p, p, p], x",
        1,
    ),
}
SLOWEST = ("one row", "lists", "maps")  # on Neo4j
ENDLESS = "UNWIND range(1, 900) AS i WITH i, range(1, 50000) AS r RETURN r"
MANY_ROWS = "UNWIND range(1, 3000000) AS x RETURN x AS x, x AS y"

ASKING = """
import json, resource, sys
from labelgrove.ontology.errors import GroveError
from labelgrove.ontology.graph import open_graph
from labelgrove.ontology.settings import Settings

def peak(who):
    return resource.getrusage(who).ru_maxrss // 1024

with open_graph(Settings.from_env()) as graph:
    graph.run_user("RETURN 1")
    before, told = peak(resource.RUSAGE_SELF), []
    for statement, params in json.load(sys.stdin):
        try:
            graph.run_user(statement, params, timeout_s=60, max_rows=3_000_000)
        except GroveError as error:
            told.append(str(error))
    print(json.dumps([told, peak(resource.RUSAGE_SELF) - before, peak(resource.RUSAGE_CHILDREN)]))
"""


def params(n_text: int) -> dict[str, Any]:
    return {"text": "a" * n_text, "version": PETS.digest}


class GraphAnswersContract:
    """Bound to a store by the `store` and `url` fixtures of each subclass."""

    @pytest.fixture
    def url(self) -> str:
        raise AssertionError("a binding supplies the URL")

    @pytest.fixture
    def store(self) -> Iterator[GraphStore]:
        raise AssertionError("a binding supplies the store")

    @pytest.fixture
    def pets(self, store: GraphStore) -> str:
        return load(store, PETS)

    @pytest.mark.parametrize("case", TOO_LARGE)
    def test_an_answer_larger_than_the_cap_is_refused_and_the_next_query_works(
        self, store: GraphStore, pets: str, case: str
    ) -> None:
        statement, n_text = TOO_LARGE[case]
        with pytest.raises(QueryFailedError, match="larger than 64 MiB"):
            store.run_user(statement, params(n_text), timeout_s=120, max_rows=3_000_000)
        assert store.run_user("RETURN 1 AS one").rows == [(1,)]
        assert store.current("pets") == pets

    def test_the_same_queries_cut_to_a_few_rows_are_answered(self, store: GraphStore, pets: str) -> None:
        for case in ("lists", "maps", "texts", "small rows", "nodes", "paths"):
            statement, n_text = TOO_LARGE[case]
            found = store.run_user(statement, params(n_text), timeout_s=120, max_rows=7)
            assert (len(found.rows), found.truncated) == (7, True), case

    @pytest.mark.timeout(120)
    def test_the_time_limit_holds_while_rows_are_fetched(self, store: GraphStore, pets: str) -> None:
        began = time.monotonic()
        with pytest.raises(QueryTimeoutError, match=r"ran past 1\.5 s"):
            store.run_user(MANY_ROWS, timeout_s=1.5, max_rows=3_000_000)
        assert time.monotonic() - began < patient(30)
        assert store.run_user("RETURN 1 AS one").rows == [(1,)]
        assert store.current("pets") == pets

    @pytest.mark.timeout(600)
    def test_memory_of_the_caller_stays_bounded(self, store: GraphStore, pets: str, url: str) -> None:
        asked = [TOO_LARGE[case] for case in ("one row", "maps", "small rows", "paths")] + [(ENDLESS, 1)]
        found = subprocess.run(
            [sys.executable, "-c", ASKING],
            input=json.dumps([(statement, params(n_text)) for statement, n_text in asked]).encode(),
            env=os.environ | {"GROVE_GRAPH_URL": url},
            stdout=subprocess.PIPE,
            check=True,
        )
        told, grown_mb, child_mb = json.loads(found.stdout)
        assert len(told) == len(asked)
        assert grown_mb < 64
        assert child_mb < 2048

    def test_a_value_may_lie_a_hundred_levels_deep(self, store: GraphStore) -> None:
        inner, outer = store.run_user(f"RETURN {'[' * 40}1{']' * 40} AS x").rows[0][0], 1
        while isinstance(inner, list):
            inner, outer = inner[0], outer + 1
        assert (inner, outer) == (1, 41)


class TestEmbedded(GraphAnswersContract):
    @pytest.fixture
    def url(self, tmp_path: Path) -> str:
        return f"embedded:{tmp_path}/graph"

    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[GraphStore]:
        with GraphStore(EmbeddedEngine(tmp_path / "graph")) as store:
            yield store

    def test_a_list_larger_than_memory_is_said_to_be_that(self, store: GraphStore) -> None:
        with pytest.raises(QueryFailedError, match=r"more memory than it may use .*; return less"):
            store.run_user("RETURN range(1, 2000000000)", timeout_s=60)


@pytest.mark.services
class TestNeo4j(GraphAnswersContract):
    @pytest.fixture
    def url(self, neo4j_clean_url: str) -> str:
        return neo4j_clean_url

    @pytest.mark.parametrize(
        "case", [pytest.param(case, marks=pytest.mark.slow if case in SLOWEST else ()) for case in TOO_LARGE]
    )
    def test_an_answer_larger_than_the_cap_is_refused_and_the_next_query_works(
        self, store: GraphStore, pets: str, case: str
    ) -> None:
        super().test_an_answer_larger_than_the_cap_is_refused_and_the_next_query_works(store, pets, case)

    @pytest.mark.slow
    @pytest.mark.timeout(600)
    def test_memory_of_the_caller_stays_bounded(self, store: GraphStore, pets: str, url: str) -> None:
        super().test_memory_of_the_caller_stays_bounded(store, pets, url)

    @pytest.fixture
    def store(self, url: str) -> Iterator[GraphStore]:
        with GraphStore(Neo4jEngine(url)) as store:
            yield store

    @pytest.mark.timeout(120)
    @pytest.mark.parametrize(("statement", "timeout_s"), [(ENDLESS, 2.0), (TOO_LARGE["lists"][0], 60.0)])
    def test_the_transaction_of_a_query_that_was_cut_off_ends(
        self, store: GraphStore, statement: str, timeout_s: float
    ) -> None:
        store.migrate()
        with pytest.raises(QueryFailedError):
            store.run_user(statement, timeout_s=timeout_s, max_rows=3_000_000)
        with neo4j.GraphDatabase.driver(
            store.engine.server._bare_url, auth=store.engine.server._auth
        ) as driver:
            running = "SHOW TRANSACTIONS YIELD currentQuery WHERE currentQuery = $told RETURN currentQuery"
            deadline = time.monotonic() + patient(60)
            while driver.execute_query(running, told=statement).records:
                assert time.monotonic() < deadline, "the server goes on with what nobody waits for"
                time.sleep(0.05)


# ---- the measure itself --------------------------------------------------------------------------------


def test_every_value_counts_as_eight_bytes_at_least(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "ANSWER_BYTES", 8 * 1000)
    assert json.loads(encoded(["x"], [[[1] * 999]], max_rows=1))["rows"] == [[[1] * 999]]  # the list counts
    for values in ([[1] * 1000], [{}] * 1001, [{"a": None}] * 334):
        with pytest.raises(QueryFailedError, match="larger than"):
            encoded(["x"], [[value] for value in values], max_rows=2000)


def test_texts_count_as_long_as_they_travel() -> None:
    text = "a" * (ANSWER_BYTES // 2 - 100)
    assert len(encoded(["x"], [[text], [text]], max_rows=2)) > 2 * len(text)
    for wide in (text + "a" * 200, "é" * (ANSWER_BYTES // 10)):  # outside ASCII a character takes six bytes
        with pytest.raises(QueryFailedError, match="64 MiB"):
            encoded(["x"], [[wide], [wide]], max_rows=2)


def test_rows_past_the_cap_on_rows_are_neither_fetched_nor_counted() -> None:
    def rows() -> Iterator[list[str]]:
        yield ["a"]
        yield ["b" * (ANSWER_BYTES + 1)]
        raise AssertionError("a third row was fetched")

    assert json.loads(encoded(["x"], rows(), max_rows=1)) == {
        "columns": ["x"], "rows": [["a"]], "truncated": True,
    }  # fmt: skip


def test_a_value_that_lies_too_deep_is_refused() -> None:
    value: Any = 1
    for _ in range(99):
        value = [value]
    assert json.loads(encoded(["x"], [[value]], max_rows=1))["rows"] == [[value]]
    for deeper in ([value], {"a": value}):
        with pytest.raises(QueryFailedError, match="100 levels"):
            encoded(["x"], [[deeper]], max_rows=1)
