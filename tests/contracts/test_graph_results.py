"""Results of jobs in the graph, held against both engines: whole or not there, once, gone when dropped."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labelgrove.ontology.errors import GraphDamagedError, NotFoundError
from labelgrove.ontology.geometry import summarize
from labelgrove.ontology.graph import GraphStore, engine, migrate
from labelgrove.ontology.graph.embedded import bulkremoval as thinning
from labelgrove.ontology.graph.embedded import embeddedengine as embedded
from labelgrove.ontology.graph.embedded.embeddedengine import EmbeddedEngine
from labelgrove.ontology.graph.labeltables import label_arrays
from labelgrove.ontology.graph.namedqueries import query_text
from labelgrove.ontology.graph.neo4j import neo4jengine as served
from labelgrove.ontology.graph.neo4j.neo4jengine import Neo4jEngine
from labelgrove.ontology.graph.results import GraphResult, Links
from labelgrove.ontology.graph.resultschema import result_schema
from labelgrove.ontology.graph.resultstore import removals
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.packagedfiles import migrations_folder
from tests.contracts.graph_results import digest_of, one_result_of_each_label, summary_of

pytestmark = pytest.mark.long

HOSTILE_KEYS = [
    "'",
    '"',
    "`",
    "\\",
    "//",
    "$x",
    "{}",
    "a'b\"c`d\\",
    "'; DROP",
    "\u202eabc",
    "é",
    "e\u0301",
    "🐕",
]
HOSTILE = LabelGraph.from_edges([(key, "root") for key in HOSTILE_KEYS])
OTHER = LabelGraph.from_edges([("b", "a"), ("c", "a"), ("d", "b")])

SCHEMA = result_schema()
NODES = ["Job", *SCHEMA.properties, "Supernode"]
RELATIONSHIPS = [
    *((label, kind, "Label", "uid") for label, kinds in SCHEMA.links.items() for kind in kinds),
    ("Summary", "HAS", "Supernode", "id"),
    ("Supernode", "CONTAINS", "Label", "uid"),
    ("Supernode", "ADJACENT", "Supernode", "id"),
    ("Evaluation", "OF", "Version", "digest"),
    *(("Job", "PRODUCED", label, "id") for label in SCHEMA.properties),
]


def load(store: GraphStore, graph: LabelGraph) -> None:
    store.begin_version("any", graph)
    for i in range(store.batch_count(graph)):
        store.load_batch(graph, i)
    store.mark_ready(graph.digest)


# ---- what the graph should hold, computed without it ----------------------------------------------------


def expected(results: list[GraphResult]) -> dict[str, list[str]]:
    """Return what `held` returns of a graph that shows exactly these results."""
    found: dict[str, set[str]] = {name: set() for name in NODES}
    found |= {kind: set() for _, kind, _, _ in RELATIONSHIPS}
    for result in results:
        uids = [f"{result.graph.digest[:16]}:{key}" for key in result.graph.keys]
        job = {"id": result.job, "kind": result.kind, "state": "done"}
        found["Job"].add(as_text(job | ({"created": result.created} if result.created else {})))
        node = {"id": result.id, "version": result.graph.digest, **result.properties}
        found[result.label].add(as_text(node))
        found["PRODUCED"].add(as_text([result.job, {}, result.id]))
        if result.label in SCHEMA.of_version:
            found["OF"].add(as_text([result.id, {}, result.graph.digest]))
        for links in result.links:
            for row, index in enumerate(links.index):
                properties = {
                    name: links.properties[name][row].item()
                    for name in SCHEMA.links[result.label][links.type]
                }
                found[links.type].add(as_text([result.id, properties, uids[index]]))
        if result.supernodes is not None:
            ids = [f"{result.id[:16]}:{i}" for i in range(len(result.supernodes.size))]
            for id, size in zip(ids, result.supernodes.size.tolist(), strict=True):
                found["Supernode"].add(as_text({"id": id, "version": result.graph.digest, "size": size}))
                found["HAS"].add(as_text([result.id, {}, id]))
            for label, supernode in enumerate(result.supernodes.of.tolist()):
                found["CONTAINS"].add(as_text([ids[supernode], {}, uids[label]]))
            for (a, b), weight in zip(result.supernodes.ends.tolist(), result.supernodes.weight, strict=True):
                found["ADJACENT"].add(as_text([ids[a], {"weight": float(weight)}, ids[b]]))
    return {name: sorted(rows) for name, rows in found.items()}


def held(store: GraphStore) -> dict[str, list[str]]:
    """Return every node and relationship that belongs to results, as sorted texts."""
    found: dict[str, list[str]] = {kind: [] for _, kind, _, _ in RELATIONSHIPS}
    for label in NODES:
        rows = store.engine.read(f"MATCH (n:{label}) RETURN n", {}).rows
        found[label] = sorted(as_text({k: v for k, v in n.items() if k != "_label"}) for (n,) in rows)
    for source, kind, target, key in RELATIONSHIPS:
        cypher = f"MATCH (a:{source})-[e:{kind}]->(b:{target}) RETURN a.id, e, b.{key}"
        for a, e, b in store.engine.read(cypher, {}).rows:
            found[kind].append(as_text([a, {k: v for k, v in e.items() if k != "_label"}, b]))
    return {name: sorted(rows) for name, rows in found.items()}


def as_text(value: object) -> str:
    return json.dumps(value, sort_keys=True)


class StoppedError(RuntimeError):
    """What an interrupted write ends with."""


def stopping(call: Callable[..., Any], at: int) -> Callable[..., Any]:
    """Return `call`, but for its `at`-th time (from 0), after which it stops."""
    made = iter(range(1_000_000))

    def stopped(*args: Any, **kwargs: Any) -> Any:
        answer = call(*args, **kwargs)
        if next(made) == at:
            raise StoppedError
        return answer

    return stopped


def query_of_the_time(dialect: str, name: str, params: Mapping[str, Any]) -> str:
    """Return a query as it was before versions recorded which annotations they show."""
    text = query_text(dialect, name, params).replace("coalesce(v.annotations, '')", "''")
    return re.sub(r",\s*v\.annotations = ''", "", text)


def columns_of_the_time(*given: Any) -> dict[str, Any]:
    """Return the columns of labels as they were before labels had definitions."""
    columns = label_arrays(*given)
    return {name: columns[name] for name in columns if name not in ("definition", "deprecated")}


class GraphResultsContract:
    """Bound to a store by the `store` fixture of each subclass."""

    @pytest.fixture
    def store(self) -> Iterator[GraphStore]:
        raise AssertionError("a binding supplies the store")

    @contextmanager
    def interrupted(self, store: GraphStore, at: int) -> Iterator[None]:
        """Stop the block after the `at`-th step of what it writes."""
        raise AssertionError("a binding knows the steps of its engine")

    # ---- what is written -----------------------------------------------------------------------------

    def test_every_kind_of_result_is_shown_as_it_is(self, store: GraphStore) -> None:
        load(store, HOSTILE)
        results = one_result_of_each_label(HOSTILE)
        for result in results:
            store.write_result(result)
        assert held(store) == expected(results)
        assert store.counts(HOSTILE.digest) == (HOSTILE.n_labels, HOSTILE.n_edges)
        assert store.read_back(HOSTILE.digest) == HOSTILE
        shown = [
            {"job": r.job, "kind": r.kind, "label": r.label, "id": r.id, "version": r.graph.digest}
            for r in results
        ]
        assert store.results() == sorted(shown, key=lambda row: (row["job"], row["id"]))
        locus = results[0]
        reached = locus.links[1].index[locus.links[1].properties["unique"]]
        answer = store.run_user(
            "MATCH (j:Job)-[:PRODUCED]->(:Locus {version: $version})-[r:REACHES]->(l:Label) "
            "WHERE r.unique RETURN l.key ORDER BY l.idx",
            {"version": HOSTILE.digest},
        )
        assert [row[0] for row in answer.rows] == list(HOSTILE.keys.take(np.sort(reached)))

    def test_written_again_nothing_changes(self, store: GraphStore) -> None:
        load(store, HOSTILE)
        results = one_result_of_each_label(HOSTILE)
        for result in [*results, *results]:
            store.write_result(result)
        assert held(store) == expected(results)

    def test_one_content_is_one_node_for_all_who_asked(self, store: GraphStore) -> None:
        load(store, HOSTILE)
        cover = one_result_of_each_label(HOSTILE)[1]
        asked = [cover, replace(cover, job=digest_of(77))]
        for result in asked:
            store.write_result(result)
        assert held(store) == expected(asked)
        assert [row["id"] for row in store.results()] == [cover.id] * 2

    def test_two_results_of_one_version_stand_side_by_side(self, store: GraphStore) -> None:
        load(store, HOSTILE)
        both = [summary_of(HOSTILE, 1, target=3), summary_of(HOSTILE, 2, target=6)]
        for result in both:
            store.write_result(result)
        assert held(store) == expected(both)

    def test_an_empty_result_has_a_node(self, store: GraphStore) -> None:
        load(store, OTHER)
        none = np.empty(0, dtype=np.int64)
        cover = replace(one_result_of_each_label(OTHER)[1], links=(Links("INCLUDES", none, {"rank": none}),))
        store.write_result(cover)
        assert held(store) == expected([cover])

    def test_a_summary_places_every_label_once(self, store: GraphStore) -> None:
        rng = np.random.default_rng(11)
        pairs = sorted({(f"k{c}", f"k{rng.integers(0, c)}") for c in range(1, 400) for _ in range(2)})
        graph = LabelGraph.from_edges(pairs)
        load(store, graph)
        result = summary_of(graph, 1, target=40, seed=3)
        store.write_result(result)
        given = {"version": graph.digest}
        places = store.run_user(
            "MATCH (:Summary {version: $version})-[:HAS]->(s:Supernode)-[:CONTAINS]->(l:Label) "
            "RETURN l.idx, s.id, s.size ORDER BY l.idx",
            given,
        ).rows
        assert [idx for idx, _, _ in places] == list(range(graph.n_labels))
        members: dict[str, int] = {}
        for _, id, _ in places:
            members[id] = members.get(id, 0) + 1
        assert {id: size for _, id, size in places} == members
        adjacent = store.run_user(
            "MATCH (a:Supernode {version: $version})-[e:ADJACENT]->(b:Supernode) RETURN a.id, b.id, e.weight",
            given,
        ).rows
        found = summarize(graph, 40, seed=3)
        number = {f"{result.id[:16]}:{i}": i for i in range(found.n_supernodes)}
        assert sorted((number[a], number[b], w) for a, b, w in adjacent) == sorted(
            (a, b, w) for (a, b), w in zip(found.edges.tolist(), found.weights.tolist(), strict=True)
        )

    # ---- interrupted ---------------------------------------------------------------------------------

    def test_interrupted_anywhere_it_is_not_shown_until_whole(self, store: GraphStore) -> None:
        load(store, OTHER)
        whole = summary_of(OTHER, 1, target=2)
        stops = 0
        for at in range(100):
            try:
                with self.interrupted(store, at):
                    store.write_result(whole)
            except StoppedError:
                stops += 1
            else:
                break
            found = held(store)
            if store.results():  # the last step was done
                assert found == expected([whole])
            elif found != expected([]):
                store.write_result(whole)
                assert held(store) == expected([whole])
            store.drop_results(row["id"] for row in store.results())
        assert stops >= 5
        assert held(store) == expected([whole])

    def test_an_interrupted_drop_hides_the_result_and_is_completed(self, store: GraphStore) -> None:
        load(store, OTHER)
        whole = summary_of(OTHER, 1, target=2)
        stops = 0
        for at in range(100):
            store.write_result(whole)
            try:
                with self.interrupted(store, at):
                    store.drop_results([whole.id])
            except StoppedError:
                stops += 1
            else:
                break
            found = held(store)
            assert store.results() == store.results(OTHER.digest) == [] or found == expected([whole])
            if found != expected([whole]) and at % 2:
                store.drop_results([])  # nobody has to know which one it was
                assert held(store) == expected([])
        assert stops >= 5
        assert held(store) == expected([])

    def test_a_drop_that_slept_takes_nothing_from_a_result_written_anew(self, store: GraphStore) -> None:
        load(store, OTHER)
        whole = summary_of(OTHER, 1, target=2)
        steps = removals([whole.id])
        for awake in range(1, len(steps)):
            store.write_result(whole)
            store.engine.remove(steps[:awake])
            store.write_result(whole)
            assert held(store) == expected([whole])
            store.engine.remove(steps[awake:])
            assert held(store) == expected([whole])

    def test_writers_at_once_make_one_result(self, store: GraphStore) -> None:
        load(store, HOSTILE)
        asked = [replace(summary_of(HOSTILE, 1, target=5), job=digest_of(i)) for i in range(4)]
        with ThreadPoolExecutor(4) as threads:
            for done in [threads.submit(store.write_result, result) for result in asked]:
                done.result()
        assert held(store) == expected(asked)

    # ---- dropped -------------------------------------------------------------------------------------

    def test_dropped_results_leave_nothing_and_touch_nothing(self, store: GraphStore) -> None:
        load(store, HOSTILE)
        results = one_result_of_each_label(HOSTILE)
        shared = replace(results[1], job=results[0].job)  # a job of two results stays while one does
        for result in [*results, shared]:
            store.write_result(result)
        gone = [results[i].id for i in (0, 3, 5, 6)]
        kept = [results[i] for i in (1, 2, 4)]
        for _ in range(2):
            store.drop_results([*gone, *gone, digest_of(999)])
            found = held(store)
            assert results[0].job in found["Job"][0] + found["Job"][1]
            assert {k: v for k, v in found.items() if k != "Job"} == {
                k: v for k, v in expected([*kept, shared]).items() if k != "Job"
            }
        store.drop_results([])
        assert store.read_back(HOSTILE.digest) == HOSTILE
        store.drop_results([result.id for result in kept])
        assert held(store) == expected([])
        assert store.results() == []

    def test_a_version_goes_with_its_results(self, store: GraphStore) -> None:
        for graph in (HOSTILE, OTHER):
            load(store, graph)
        others = [replace(r, job=r.job[::-1], id=r.id[::-1]) for r in one_result_of_each_label(OTHER)[-2:]]
        for result in [*one_result_of_each_label(HOSTILE)[-2:], *others]:
            store.write_result(result)
        assert {row["version"] for row in store.results(OTHER.digest)} == {OTHER.digest}
        assert len(store.results(OTHER.digest)) == len(others)
        store.drop_version(HOSTILE.digest)
        assert held(store) == expected(others)
        assert store.counts(HOSTILE.digest) == (0, 0)
        assert store.read_back(OTHER.digest) == OTHER
        load(store, HOSTILE)
        assert store.results(HOSTILE.digest) == []

    def test_a_version_half_dropped_is_not_ready_and_its_results_go_with_it(self, store: GraphStore) -> None:
        summary = summary_of(OTHER, 1, target=2)
        stops = 0
        for at in range(100):
            if not store.versions():
                load(store, OTHER)
                store.write_result(summary)
            try:
                with self.interrupted(store, at):
                    store.drop_version(OTHER.digest)
            except StoppedError:
                stops += 1
            else:
                break
            if [row["state"] for row in store.versions()] == ["ready"]:
                assert held(store) == expected([summary])
                assert store.counts(OTHER.digest) == (OTHER.n_labels, OTHER.n_edges)
                continue
            store.drop_version(OTHER.digest)
            assert (store.versions(), store.counts(OTHER.digest)) == ([], (0, 0))
            assert held(store) == expected([])
        assert stops >= 5
        assert store.versions() == []

    # ---- refused -------------------------------------------------------------------------------------

    def test_results_stand_beside_a_version_that_is_ready(self, store: GraphStore) -> None:
        cover = one_result_of_each_label(OTHER)[1]
        with pytest.raises(NotFoundError, match="absent"):
            store.write_result(cover)
        store.begin_version("any", OTHER)
        with pytest.raises(NotFoundError, match="loading"):
            store.write_result(cover)
        assert held(store) == expected([])

    # ---- schema --------------------------------------------------------------------------------------

    @pytest.mark.parametrize("n_applied", [1, 2])
    def test_a_graph_of_an_earlier_schema_keeps_what_it_shows_and_shows_the_rest(
        self, new_store: GraphStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n_applied: int
    ) -> None:
        earlier = tmp_path / "earlier"
        for number in range(1, n_applied + 1):
            for path in migrations_folder().glob(f"cypher/*/V{number:04}__*.cypher"):
                copy = earlier / path.relative_to(migrations_folder())
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, copy)
        results = one_result_of_each_label(HOSTILE)
        numbers = [f"{number:04}" for number in range(1, 5)]
        with monkeypatch.context() as old:
            old.setattr(migrate, "migrations_folder", lambda: earlier)
            for module in (engine, embedded, served):
                old.setattr(module, "query_text", query_of_the_time)
            old.setattr(embedded, "label_arrays", columns_of_the_time)
            load(new_store, HOSTILE)
            new_store.publish("any", HOSTILE.digest, 1)
            for result in results[: 0 if n_applied == 1 else 5]:
                new_store.engine.write_result(result)  # past what asks for labels that this schema lacks
            applied = [m["version"] for m in new_store.run_named("recorded_migrations").dicts()]
            assert applied == numbers[:n_applied]
        new_store.close()
        assert len(new_store.results()) == (0 if n_applied == 1 else 5)
        for result in results:
            new_store.write_result(result)
        assert held(new_store) == expected(results)
        assert new_store.read_back(HOSTILE.digest) == HOSTILE
        assert new_store.current("any") == HOSTILE.digest
        assert [m["version"] for m in new_store.run_named("recorded_migrations").dicts()] == numbers


class TestEmbedded(GraphResultsContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[GraphStore]:
        with GraphStore(EmbeddedEngine(tmp_path / "graph")) as store:
            yield store

    @pytest.fixture
    def new_store(self, store: GraphStore) -> GraphStore:
        return store

    @contextmanager
    def interrupted(self, store: GraphStore, at: int) -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(embedded, "fetch", stopping(embedded.fetch, at))
            yield

    def test_an_emptied_graph_has_no_results(self, store: GraphStore) -> None:
        load(store, OTHER)
        store.write_result(one_result_of_each_label(OTHER)[1])
        store.wipe()
        assert store.results() == []
        load(store, OTHER)
        assert held(store) == expected([])


class TestEmbeddedWithManyRelationships(TestEmbedded):
    """What stays is written anew, whatever is removed."""

    @pytest.fixture(autouse=True)
    def _few_are_many(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(thinning, "MANY", 0)


@pytest.mark.services
class TestNeo4j(GraphResultsContract):
    @pytest.fixture
    def store(self, neo4j_clean_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[GraphStore]:
        with GraphStore(Neo4jEngine(neo4j_clean_url)) as store:
            monkeypatch.setattr(served, "LABELS_PER_BATCH", 3)
            monkeypatch.setattr(served, "EDGES_PER_BATCH", 3)
            yield store

    @pytest.fixture
    def new_store(self, neo4j_empty_url: str) -> Iterator[GraphStore]:
        with GraphStore(Neo4jEngine(neo4j_empty_url)) as store:
            yield store

    @contextmanager
    def interrupted(self, store: GraphStore, at: int) -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(store.engine, "transact", stopping(store.engine.transact, at))
            yield

    def test_what_is_removed_meanwhile_is_noticed(
        self, store: GraphStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        load(store, OTHER)
        cover = one_result_of_each_label(OTHER)[1]
        write = store.engine._load_links

        def first_dropped(*args: Any) -> None:
            store.drop_version(OTHER.digest)
            write(*args)

        monkeypatch.setattr(store.engine, "_load_links", first_dropped)
        with pytest.raises(GraphDamagedError, match="0 of"):
            store.write_result(cover)
        monkeypatch.setattr(store.engine, "_load_links", lambda *args: store.drop_version(OTHER.digest))
        load(store, OTHER)
        with pytest.raises(GraphDamagedError, match="cannot be linked to its job"):
            store.write_result(cover)
        assert held(store) == expected([])
        load(store, OTHER)
        begun = removals([cover.id])[:1]
        monkeypatch.setattr(
            store.engine, "_load_links", lambda *args: (write(*args), store.engine.remove(begun))
        )
        with pytest.raises(GraphDamagedError, match="cannot be linked to its job"):
            store.write_result(cover)
        assert store.results() == []
