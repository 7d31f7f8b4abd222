"""What a graph store promises, held against both engines: same rows, same digest, same refusals."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import neo4j
import numpy as np
import pytest

from labelgrove.ontology.annotations import Annotations, Description, Name
from labelgrove.ontology.errors import (
    ConflictError,
    GraphDamagedError,
    InputError,
    NotFoundError,
    QueryFailedError,
    QueryRefusedError,
    QueryTimeoutError,
)
from labelgrove.ontology.graph import GraphStore, open_graph
from labelgrove.ontology.graph.annotationtables import ShownAnnotations
from labelgrove.ontology.graph.embedded.embeddedengine import EmbeddedEngine
from labelgrove.ontology.graph.labeltables import uid
from labelgrove.ontology.graph.namedqueries import named_query, query_names
from labelgrove.ontology.graph.neo4j.neo4jengine import Neo4jEngine
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.settings import Settings
from tests.conftest import ONE_PROCESS
from tests.contracts.graph_results import one_result_of_each_label
from tests.unit.graph.hostile import HARMLESS, HOSTILE

pytestmark = pytest.mark.long

# A hierarchy with two parents to one label, two ways up of different length, names, weights and ranks.
PETS = LabelGraph.from_edges(
    [
        ("animal", "thing"),
        ("dog", "animal"),
        ("pet", "animal"),
        ("toy", "thing"),
        ("puppy", "dog"),
        ("puppy", "pet"),
        ("toy dog", "toy"),
        ("toy dog", "puppy"),
    ],
    weights=[1, 1, 0.5, 1, 1, 1, 4, 1],
    ranks=[0, 0, 0, 0, 1, 0, 0, 1],
    names={"dog": "Hund (dog)", "toy dog": "Spielzeughund", "thing": "Ding & co"},
)
DESCRIBED = Annotations.of(PETS, {"dog": Description((Name("Canis familiaris", language="la"),), "a pet")})
HOSTILE_TEXTS = [
    "'",
    '"',
    "`",
    "\\",
    "//",
    "/*",
    "$x",
    "{}",
    "a'b\"c`d\\",
    "'; DROP",
    "\u202eabc",
    "é",
    "e\u0301",
    "🐕",
]


def load(store: GraphStore, graph: LabelGraph, name: str = "pets", fence: int = 1) -> str:
    store.begin_version(name, graph)
    for i in range(store.batch_count(graph)):
        store.load_batch(graph, i)
    store.mark_ready(graph.digest)
    store.publish(name, graph.digest, fence)
    return graph.digest


LABEL = (
    "MATCH (l:Label {uid: $uid}) "
    "RETURN l.idx AS idx, l.key AS key, l.name AS name, l.depth AS depth, l.leaf AS leaf"
)
CHILDREN = (
    "MATCH (c:Label)-[e:IS_A]->(:Label {uid: $uid}) "
    "RETURN c.idx AS idx, c.key AS key, e.weight AS weight, e.rank AS rank ORDER BY idx"
)


def about(store: GraphStore, statement: str, digest: str, key: str) -> list[dict[str, object]]:
    return store.run_user(statement, {"uid": uid(digest, key)}).dicts()


def random_hierarchy(n: int, seed: int) -> LabelGraph:
    rng = np.random.default_rng(seed)
    pairs = {(f"k{c}", f"k{rng.integers(0, c)}") for c in range(1, n) for _ in range(1 + c % 3)}
    pairs = sorted(pairs)
    return LabelGraph.from_edges(
        pairs,
        weights=rng.uniform(0.1, 3.0, len(pairs)),
        ranks=rng.integers(0, 5, len(pairs)),
        names={f"k{c}": f"Name {c}" for c in range(0, n, 2)},
    )


class GraphStoreContract:
    """Bound to a store by the `store` fixture of each subclass."""

    @pytest.fixture
    def store(self) -> Iterator[GraphStore]:
        raise AssertionError("a binding supplies the store")

    @pytest.fixture
    def pets(self, store: GraphStore) -> str:
        return load(store, PETS)

    # ---- versions ----------------------------------------------------------------------------------

    def test_a_version_is_loading_then_ready_then_current(self, store: GraphStore) -> None:
        assert store.begin_version("pets", PETS) == "loading"
        assert store.counts(PETS.digest) == (0, 0)
        for i in range(store.batch_count(PETS)):
            store.load_batch(PETS, i)
        assert store.counts(PETS.digest) == (PETS.n_labels, PETS.n_edges)
        assert store.current("pets") is None
        with pytest.raises(NotFoundError, match="loading"):
            store.publish("pets", PETS.digest, 1)
        store.mark_ready(PETS.digest)
        store.publish("pets", PETS.digest, 1)
        assert store.current("pets") == PETS.digest
        assert store.begin_version("pets", PETS) == "ready"
        assert store.versions() == [
            {
                "digest": PETS.digest,
                "ontology": "pets",
                "n_labels": PETS.n_labels,
                "n_edges": PETS.n_edges,
                "state": "ready",
                "layout": "hierarchy",
                "directed": True,
                "annotations": "",
            }
        ]

    def test_every_step_may_be_repeated(self, store: GraphStore, pets: str) -> None:
        before = store.counts(pets), store.versions()
        for _ in range(2):
            load(store, PETS)
            for i in range(store.batch_count(PETS)):
                store.load_batch(PETS, i)
        assert (store.counts(pets), store.versions()) == before
        assert store.read_back(pets) == PETS

    def test_an_incomplete_version_cannot_be_declared_ready(self, store: GraphStore) -> None:
        store.begin_version("pets", PETS)
        with pytest.raises(GraphDamagedError, match="load its batches again"):
            store.mark_ready(PETS.digest)
        with pytest.raises(NotFoundError):
            store.mark_ready("0" * 64)

    def test_publishing_never_goes_back(self, store: GraphStore, pets: str) -> None:
        other = load(store, LabelGraph.from_edges([("a", "b")]), fence=5)
        assert store.current("pets") == other
        for fence in (1, 4, 5):
            with pytest.raises(ConflictError, match="fence 5"):
                store.publish("pets", pets, fence)
        store.publish("pets", other, 3)  # late, but it changes nothing
        assert store.current("pets") == other
        store.publish("pets", pets, 6)
        assert store.current("pets") == pets
        with pytest.raises(NotFoundError, match="absent"):
            store.publish("pets", "0" * 64, 9)

    def test_two_names_share_one_content(self, store: GraphStore, pets: str) -> None:
        assert load(store, PETS, "beasts") == pets
        assert store.counts(pets) == (PETS.n_labels, PETS.n_edges)
        assert (store.current("pets"), store.current("beasts")) == (pets, pets)
        assert [v["ontology"] for v in store.versions()] == ["pets"]

    def test_versions_stand_side_by_side(self, store: GraphStore, pets: str) -> None:
        changed = LabelGraph.from_edges([*[(c, p) for c, p, _, _ in PETS.edges()], ("kitten", "pet")])
        load(store, changed, fence=2)
        assert store.read_back(pets) == PETS
        assert store.read_back(changed.digest) == changed

    def test_dropping(self, store: GraphStore, pets: str) -> None:
        other = load(store, LabelGraph.from_edges([("a", "b")]), "letters")
        with pytest.raises(ConflictError, match="'pets'"):
            store.drop_version(pets)
        for _ in range(2):
            store.drop_ontology("pets")
            store.drop_version(pets)
        assert store.current("pets") is None
        assert store.counts(pets) == (0, 0)
        assert [v["digest"] for v in store.versions()] == [other]
        assert load(store, PETS) == pets
        assert store.read_back(pets) == PETS

    # ---- read back ---------------------------------------------------------------------------------

    @pytest.mark.parametrize(
        "graph",
        [
            PETS,
            LabelGraph.from_edges([], labels=["alone"]),
            LabelGraph.from_edges([("b", "a")], labels=["apart", "c"]),
            LabelGraph.from_edges(
                [("a", "b"), ("c", "b"), ("x", "a")], weights=[1, 2.5, 0.1], directed=False
            ),
            LabelGraph.grid((9, 9)),
            LabelGraph.grid((2, 3, 4)),
            LabelGraph.complete(12),
            random_hierarchy(300, seed=1),
        ],
        ids=["pets", "single", "forest", "undirected", "grid", "grid 3d", "complete", "random"],
    )
    def test_what_is_read_back_has_the_same_digest(self, store: GraphStore, graph: LabelGraph) -> None:
        digest = load(store, graph, "any")
        found = store.read_back(digest)
        assert found.digest == digest == graph.digest
        assert (found.layout, found.directed, list(found.names)) == (
            graph.layout,
            graph.directed,
            list(graph.names),
        )

    def test_no_text_is_anything_but_text(self, store: GraphStore) -> None:
        graph = LabelGraph.from_edges(
            [(t, "root") for t in HOSTILE_TEXTS], names={t: f"{t} \t\n {t}" for t in HOSTILE_TEXTS}
        )
        digest = load(store, graph, "'`\"\\//")
        assert store.current("'`\"\\//") == digest
        assert store.read_back(digest) == graph
        for text in HOSTILE_TEXTS:
            assert [row["key"] for row in about(store, LABEL, digest, text)] == [text]

    def test_a_key_that_no_index_holds_is_refused(self, store: GraphStore) -> None:
        longest = LabelGraph.from_edges([("é" * 2048, "root")])
        assert store.read_back(load(store, longest)) == longest
        with pytest.raises(InputError, match="4,098 bytes"):
            store.begin_version("long", LabelGraph.from_edges([("é" * 2049, "root")]))

    def test_what_is_not_there(self, store: GraphStore, pets: str) -> None:
        with pytest.raises(NotFoundError, match="version 000000000000"):
            store.read_back("0" * 64)
        assert about(store, LABEL, pets, "unicorn") == []
        assert store.counts("0" * 64) == (0, 0)

    # ---- questions ---------------------------------------------------------------------------------

    def test_a_label(self, store: GraphStore, pets: str) -> None:
        assert about(store, LABEL, pets, "dog") == [
            {"idx": PETS.keys.index("dog"), "key": "dog", "name": "Hund (dog)", "depth": 2, "leaf": False}
        ]

    def test_children_with_their_edges(self, store: GraphStore, pets: str) -> None:
        for key in ("pet", "thing", "puppy"):
            wanted = [edge for edge in PETS.edges() if edge[1] == key]
            rows = about(store, CHILDREN, pets, key)
            assert [(r["key"], key, r["weight"], r["rank"]) for r in rows] == wanted

    def test_nothing_ends_at_thirty_steps(self, store: GraphStore) -> None:
        chain = LabelGraph.from_edges([(f"{i:02}", f"{i - 1:02}") for i in range(1, 61)])
        digest = load(store, chain, "chain")
        statement = "MATCH (a:Label {uid: $uid})-[:IS_A*]->(b:Label) RETURN count(DISTINCT b.key) AS n"
        assert store.run_user(statement, {"uid": f"{digest[:16]}:60"}).rows == [(60,)]

    # ---- Cypher ------------------------------------------------------------------------------------

    def test_the_clock_of_the_engine_is_told(self, store: GraphStore) -> None:
        before = time.time()
        told = store.run_named("clock").rows[0][0] / 1000
        assert before - 0.001 <= told <= time.time()

    def test_named_queries_demand_their_parameters(self, store: GraphStore, pets: str) -> None:
        assert store.run_named("count_labels", version=pets).dicts() == [{"labels": PETS.n_labels}]
        for params in ({}, {"version": pets, "more": 1}, {"Version": pets}):
            with pytest.raises(InputError, match="parameters"):
                store.run_named("count_labels", **params)
        with pytest.raises(NotFoundError):
            store.run_named("no such query")

    def test_a_named_query_that_writes_is_refused_outside_a_transaction(
        self, store: GraphStore, pets: str
    ) -> None:
        with pytest.raises(QueryFailedError):
            store.run_named("drop_ontology", name="pets")
        assert store.current("pets") == pets

    def test_user_rows_are_plain(self, store: GraphStore, pets: str) -> None:
        rows = store.run_user(
            "MATCH p = (d:Label {version: $version, key: 'dog'})-[e:IS_A]->(a:Label) "
            "RETURN d, e, p, [1, 2.5, 'x', null, true] AS list, {a: 1} AS map, $given AS given",
            {"version": pets, "given": ["ä", "b"], "unused": object()},
        )
        dog, edge, path, listed, mapped, given = rows.rows[0]
        properties = {"_label", "uid", "ontology", "version", "idx", "key", "name", "folded", "depth", "leaf"}
        properties.add("deprecated")  # a dog without a definition has no such property
        assert dog.keys() == properties
        assert (dog["_label"], dog["key"], dog["leaf"]) == ("Label", "dog", False)
        assert edge == {"_label": "IS_A", "weight": 1.0, "rank": 0}
        assert path["_nodes"][0] == dog
        assert path["_edges"] == [edge]
        assert path["_nodes"][1]["key"] == "animal"
        assert (mapped, given) == ({"a": 1}, ["ä", "b"])
        assert rows.columns == ("d", "e", "p", "list", "map", "given")
        assert len(listed) == 5

    def test_user_rows_are_capped(self, store: GraphStore, pets: str) -> None:
        statement = "MATCH (l:Label {version: $version}) RETURN l.key AS key ORDER BY l.idx;"
        whole = store.run_user(statement, {"version": pets}, max_rows=PETS.n_labels)
        assert [row[0] for row in whole.rows] == list(PETS.keys)
        assert not whole.truncated
        cut = store.run_user(statement, {"version": pets}, max_rows=3)
        assert (cut.rows, cut.truncated) == (whole.rows[:3], True)

    def test_a_missing_parameter_is_an_error_and_not_an_empty_answer(
        self, store: GraphStore, pets: str
    ) -> None:
        with pytest.raises(InputError, match=r"needs \$version"):
            store.run_user("MATCH (l:Label {version: $version}) RETURN l.key")

    @pytest.mark.parametrize(
        "value",
        [object(), {1, 2}, b"x", float("nan"), 2**63, [1, {"a": [2**63]}], ["\ud800"]],
        ids=["object", "set", "bytes", "nan", "huge", "huge-inside", "half-a-pair"],
    )
    def test_a_parameter_that_is_not_plain_is_refused(self, store: GraphStore, value: object) -> None:
        with pytest.raises(InputError, match=r"parameter \$x"):
            store.run_user("RETURN $x AS x", {"x": value})

    def test_a_wrong_query_is_a_typed_error(self, store: GraphStore, pets: str) -> None:
        for statement in ("RETURN 1 +", "RETURN nothing", "MATCH (l:Label) RETURN checksum(l.key)"):
            with pytest.raises(QueryFailedError):
                store.run_user(statement)
        assert store.read_back(pets) == PETS

    @pytest.mark.timeout(120)
    def test_a_long_query_is_stopped(self, store: GraphStore, pets: str) -> None:
        endless = (
            "UNWIND range(1, 100000) AS x UNWIND range(1, 100000) AS y WITH x, y WHERE (x + y) % 7 = 8 "
            "RETURN count(x) AS n"
        )
        with pytest.raises(QueryTimeoutError):
            store.run_user(endless, timeout_s=0.5)
        assert store.run_user("RETURN 1 AS one").rows == [(1,)]

    @pytest.mark.parametrize("limits", [{"timeout_s": 0}, {"timeout_s": float("nan")}, {"max_rows": 0}])
    def test_limits_are_checked(self, store: GraphStore, limits: dict[str, float]) -> None:
        with pytest.raises(InputError, match=next(iter(limits))):
            store.run_user("RETURN 1", **limits)  # type: ignore[arg-type]

    def test_hostile_statements_are_refused_and_change_nothing(self, store: GraphStore, pets: str) -> None:
        before = store.counts(pets), store.versions(), store.current("pets")
        for case in HOSTILE:
            with pytest.raises(QueryRefusedError) as caught:
                store.run_user(case.statement, {"version": pets})
            assert caught.value.rule in {case.rule, *case.also}, case
        assert (store.counts(pets), store.versions(), store.current("pets")) == before
        assert store.read_back(pets) == PETS

    def test_what_passes_the_guard_still_cannot_write(
        self, store: GraphStore, pets: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        """The second fence holds where the first is down."""
        monkeypatch.setattr("labelgrove.ontology.graph.graphstore.check_statement", lambda cypher: None)
        writing = [
            "MATCH (n:Label) SET n.name = 'gone' RETURN n.key",
            "MATCH (n:Label) DETACH DELETE n",
            "MERGE (n:Label {uid: 'evil'}) RETURN n.uid",
            "MATCH (:Label)-[e:IS_A]->(:Label) DELETE e",
            "CREATE (n:Label {uid: 'evil'})",
            f"COPY (MATCH (n:Label) RETURN n.key) TO '{tmp_path}/stolen.csv'",
            "DROP TABLE IS_A",
            "RETURN 1; MATCH (n:Label) DETACH DELETE n",
        ]
        for statement in writing:
            with pytest.raises(QueryFailedError):
                store.run_user(statement)
        assert store.read_back(pets) == PETS
        assert not list(tmp_path.glob("stolen*.csv")) or (tmp_path / "stolen.csv").stat().st_size == 0

    def test_harmless_statements_reach_the_engine(self, store: GraphStore, pets: str) -> None:
        """Refused by the engine for what they ask, if at all, never by the guard."""
        for statement in HARMLESS:
            params = {"set": 1, "a b": "x"}
            try:
                store.run_user(statement, params)
            except QueryFailedError:
                continue

    # ---- schema ------------------------------------------------------------------------------------

    def test_migrations_are_applied_once(self, new_store: GraphStore) -> None:
        first = new_store.migrate()
        assert first == [f"{i:04}" for i in range(1, len(first) + 1)]
        assert first
        assert new_store.migrate() == []
        recorded = new_store.run_named("recorded_migrations").dicts()
        assert [row["version"] for row in recorded] == first

    def test_description_names_engine_and_place(self, store: GraphStore) -> None:
        described = store.describe()
        assert described["engine"] in ("ladybug", "neo4j")
        assert described["version"][0].isdigit()
        assert described["where"]

    def test_a_closed_store_opens_again(self, store: GraphStore, pets: str) -> None:
        store.close()
        store.close()
        assert store.current("pets") == pets


class TestEmbedded(GraphStoreContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[GraphStore]:
        with GraphStore(EmbeddedEngine(tmp_path / "graph")) as store:
            yield store

    @pytest.fixture
    def new_store(self, store: GraphStore) -> GraphStore:
        return store


@pytest.mark.services
class TestNeo4j(GraphStoreContract):
    @pytest.fixture
    def store(self, neo4j_clean_url: str) -> Iterator[GraphStore]:
        with GraphStore(Neo4jEngine(neo4j_clean_url)) as store:
            yield store

    @pytest.fixture
    def new_store(self, neo4j_empty_url: str) -> Iterator[GraphStore]:
        with GraphStore(Neo4jEngine(neo4j_empty_url)) as store:
            yield store


@pytest.mark.services
class TestBothTogether:
    """The two engines beside each other."""

    @pytest.fixture
    def stores(self, tmp_path: Path, neo4j_clean_url: str) -> Iterator[list[GraphStore]]:
        settings = Settings.from_env({"GROVE_HOME": str(tmp_path)})
        there = Settings.from_env({"GROVE_HOME": str(tmp_path), "GROVE_GRAPH_URL": neo4j_clean_url})
        with open_graph(settings) as embedded, open_graph(there) as served:
            assert (embedded.dialect, served.dialect) == ("embedded", "neo4j")
            yield [embedded, served]

    def test_every_common_query_answers_the_same(self, stores: list[GraphStore]) -> None:
        graph = random_hierarchy(200, seed=3)
        for store in stores:
            load(store, graph, "random", fence=3)
            for result in one_result_of_each_label(graph):
                store.write_result(result)
        calls: dict[str, dict[str, object]] = {
            "version": {"version": graph.digest},
            "versions": {},
            "published": {"name": "random"},
            "holders": {"version": graph.digest},
            "count_labels": {"version": graph.digest},
            "count_edges": {"version": graph.digest},
            "results": {"version": graph.digest},
            "results_of_version": {"version": graph.digest},
            "producers": {"id": one_result_of_each_label(graph)[0].id},
        }
        for name, params in calls.items():
            here, there = (store.run_named(name, **params) for store in stores)
            assert here == there, name
            assert here.rows, name
        for ask in (
            lambda store: store.difference(graph.digest, graph),
            lambda store: store.read_back(graph.digest).digest,
        ):
            here, there = (ask(store) for store in stores)
            assert here == there

    def test_no_query_names_what_the_schema_lacks(
        self, stores: list[GraphStore], neo4j_clean_url: str
    ) -> None:
        """Neo4j answers a misspelled property with null and a notification: there must be none."""
        load(stores[1], PETS)
        stores[1].annotate(ShownAnnotations(PETS, DESCRIBED, "1" * 64))
        for result in one_result_of_each_label(PETS):
            stores[1].write_result(result)
        params = {
            "version": PETS.digest, "name": "pets", "uid": "x", "uids": ["x"], "text": "x", "folded": "x",
            "limit": 5, "rows": [], "fence": 1, "ontology": "x", "n_labels": 1, "n_edges": 1, "layout": "x",
            "directed": True, "checksum": "x", "id": "x", "ids": ["x"], "job": "x", "kind": "x",
            "created": "x", "label": "x", "properties": {}, "annotations": "x", "mark": "x",
        }  # fmt: skip
        server = stores[1].engine.server
        url, auth = server._bare_url, server._auth
        with neo4j.GraphDatabase.driver(url, auth=auth) as driver:
            for name in query_names("neo4j"):
                text = "EXPLAIN " + named_query("neo4j", name).text
                summary = driver.execute_query(text, params, database_="neo4j").summary
                notes = [o.status_description for o in summary.gql_status_objects if o.is_notification]
                assert notes == [], name


@pytest.mark.services
@pytest.mark.parametrize("engine", ["embedded", pytest.param("neo4j", marks=[ONE_PROCESS, pytest.mark.slow])])
def test_wordnet_is_read_back_with_its_digest(
    engine: str, wordnet_dir: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    from labelgrove.ontology.readers import read

    graph = read(wordnet_dir).graph
    url = request.getfixturevalue("neo4j_clean_url") if engine == "neo4j" else ""
    with GraphStore(Neo4jEngine(url)) if url else GraphStore(EmbeddedEngine(tmp_path / "graph")) as store:
        digest = load(store, graph, "wordnet")
        assert store.counts(digest) == (graph.n_labels, graph.n_edges)
        assert store.read_back(digest).digest == digest
