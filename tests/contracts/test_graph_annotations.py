"""What both graph stores promise about names, definitions and deprecated labels: the same rows."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from labelgrove.ontology.annotations import NAME_KINDS, Annotations, Description, Name, Names
from labelgrove.ontology.errors import ConflictError, GraphDamagedError, NotFoundError
from labelgrove.ontology.graph import GraphStore
from labelgrove.ontology.graph.annotationtables import FOLDED_CHARACTERS, NO_ANNOTATIONS, ShownAnnotations
from labelgrove.ontology.graph.embedded.embeddedengine import EmbeddedEngine
from labelgrove.ontology.graph.labeltables import fold
from labelgrove.ontology.graph.neo4j import annotating
from labelgrove.ontology.graph.neo4j.neo4jengine import Neo4jEngine
from labelgrove.ontology.labelgraph import LabelGraph
from tests.conftest import ONE_PROCESS
from tests.contracts.test_graph_store import HOSTILE_TEXTS, load
from tests.services import patient

pytestmark = pytest.mark.long

ANIMALS = LabelGraph.from_edges([("dog", "animal"), ("cat", "animal"), ("wolf", "animal")])
OTHERS = LabelGraph.from_edges([("dog", "pet"), ("cat", "pet")])

FIRST = {
    "dog": Description(
        (
            Name("dog", "preferred", "en"),
            Name("Hund", "preferred", "de"),
            Name("domestic dog", "exact", "en"),
            Name("Canis familiaris", "exact", "la"),
            Name("Canis familiaris", "related"),
        ),
        "a member of the genus Canis",
    ),
    "cat": Description((Name("Straßenkatze", "narrow", "de"), Name("dog", "broad"))),
    "wolf": Description(definition="not a dog", deprecated=True),
    "lupus": Description((Name("former wolf"),), "a retired key is not a label"),
}
SECOND = {
    "dog": Description((Name("Hund", "preferred", "de"), Name("pooch", use=3)), deprecated=True),
    "animal": Description(definition="whatever lives"),
}

NAMES = (
    "MATCH (n:Name {version: $version})-[:NAMES]->(l:Label) "
    "RETURN l.key, n.kind, n.language, n.text, n.folded, n.version"
)
BY_NAME = "MATCH (n:Name {version: $version, folded: $folded})-[:NAMES]->(l:Label) RETURN DISTINCT l.key"
DESCRIPTIONS = "MATCH (l:Label {version: $version}) RETURN l.key, l.definition, l.deprecated"


def shown(described: dict[str, Description], graph: LabelGraph = ANIMALS) -> ShownAnnotations:
    sha256 = hashlib.sha256(repr(described).encode()).hexdigest()
    return ShownAnnotations(graph, Annotations.of(graph, described), sha256)


def names_told(described: dict[str, Description], graph: LabelGraph) -> list[tuple[object, ...]]:
    """Return the rows of `NAMES`, made from the descriptions and nothing else."""
    return sorted(
        (key, name.kind, name.language, name.text, fold(name.text)[:FOLDED_CHARACTERS], graph.digest)
        for key, description in described.items()
        if key in graph.keys
        for name in description.names
    )


def descriptions_told(described: dict[str, Description], graph: LabelGraph) -> list[tuple[object, ...]]:
    found = ((key, described.get(key, Description())) for key in graph.keys)
    return sorted((key, about.definition or None, about.deprecated) for key, about in found)


def assert_shows(store: GraphStore, described: dict[str, Description], graph: LabelGraph = ANIMALS) -> None:
    names, descriptions = (
        sorted(store.run_user(asked, {"version": graph.digest}).rows, key=lambda row: row[:4])
        for asked in (NAMES, DESCRIPTIONS)
    )
    assert names == names_told(described, graph)
    assert descriptions == descriptions_told(described, graph)
    assert store.annotation_differences(shown(described, graph)) == []


def marked(store: GraphStore, graph: LabelGraph = ANIMALS) -> str:
    return next(row["annotations"] for row in store.versions() if row["digest"] == graph.digest)


class KilledError(Exception):
    """Stands for a process that ends between two batches."""


class AnnotationsContract:
    """Bound to a store by the `store` fixture of each subclass."""

    @pytest.fixture
    def store(self) -> Iterator[GraphStore]:
        raise AssertionError("a binding supplies the store")

    @pytest.fixture
    def animals(self, store: GraphStore) -> GraphStore:
        load(store, ANIMALS, "animals")
        return store

    def test_every_name_and_definition_is_shown(self, animals: GraphStore) -> None:
        assert marked(animals) == NO_ANNOTATIONS
        assert_shows(animals, {})
        assert animals.annotate(shown(FIRST))
        assert_shows(animals, FIRST)
        assert marked(animals) == shown(FIRST).sha256

    def test_a_version_becomes_ready_in_the_write_that_records_its_annotations(
        self, store: GraphStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store.begin_version("animals", ANIMALS)
        for i in range(store.batch_count(ANIMALS)):
            store.load_batch(ANIMALS, i)
        asked = store.counts(ANIMALS.digest)
        monkeypatch.setattr(store, "counts", None)  # what was just counted is not counted again
        states = []

        def look(_done: int, _total: int) -> None:
            states.extend(row["state"] for row in store.versions())

        store.mark_ready(ANIMALS.digest, shown(FIRST), look, counts=asked)
        assert set(states) == {"loading"}
        assert [row["state"] for row in store.versions()] == ["ready"]
        assert_shows(store, FIRST)
        assert marked(store) == shown(FIRST).sha256
        store.mark_ready(ANIMALS.digest, shown(SECOND), counts=asked)
        assert_shows(store, SECOND)
        monkeypatch.setattr(store.engine, "annotate", None)
        monkeypatch.setattr(store.engine, "transact", None)
        store.mark_ready(ANIMALS.digest, shown(SECOND), counts=asked)
        with pytest.raises(GraphDamagedError, match="load its batches again"):
            store.mark_ready(ANIMALS.digest, shown(SECOND), counts=(1, 0))

    def test_a_version_loaded_whole_is_as_after_the_steps_and_otherwise_absent(
        self, store: GraphStore
    ) -> None:
        whole = store.load_whole("animals", ANIMALS, lambda: shown(FIRST))
        assert whole == (store.dialect == "embedded")
        if not whole:
            assert store.versions() == []
            return
        assert store.counts(ANIMALS.digest) == (ANIMALS.n_labels, ANIMALS.n_edges)
        assert_shows(store, FIRST)
        assert store.load_whole("others", OTHERS)
        assert_shows(store, {}, OTHERS)
        assert_shows(store, FIRST)
        found = store.versions()
        assert not store.load_whole("pets", ANIMALS, lambda: shown(SECOND))  # it is there
        assert store.versions() == found
        for graph, ontology in ((ANIMALS, "animals"), (OTHERS, "others")):
            store.drop_version(graph.digest)
            load(store, graph, ontology)
        store.annotate(shown(FIRST))
        assert sorted(store.versions(), key=repr) == sorted(found, key=repr)

    def test_the_same_annotations_cost_nothing(
        self, animals: GraphStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        animals.annotate(shown(FIRST))
        monkeypatch.setattr(animals.engine, "annotate", None)
        assert not animals.annotate(shown(FIRST))

    @pytest.mark.parametrize(
        ("before", "after"), [(FIRST, SECOND), (SECOND, FIRST), (FIRST, {}), ({}, SECOND)]
    )
    def test_annotations_are_replaced(
        self, animals: GraphStore, before: dict[str, Description], after: dict[str, Description]
    ) -> None:
        load(animals, OTHERS, "pets")
        kept = {"dog": FIRST["dog"]}
        animals.annotate(shown(kept, OTHERS))
        for described in (before, after):
            animals.annotate(shown(described))
            assert_shows(animals, described)
        assert_shows(animals, kept, OTHERS)
        assert animals.counts(ANIMALS.digest) == (ANIMALS.n_labels, ANIMALS.n_edges)
        assert animals.read_back(ANIMALS.digest) == ANIMALS

    def test_annotations_can_be_taken_away(self, animals: GraphStore) -> None:
        animals.annotate(shown(FIRST))
        assert animals.annotate(ShownAnnotations(ANIMALS, None, NO_ANNOTATIONS))
        assert_shows(animals, {})

    def test_a_label_without_a_definition_has_none_and_is_not_deprecated(self, animals: GraphStore) -> None:
        animals.annotate(shown(FIRST))
        asked = (
            "MATCH (l:Label {version: $version}) WHERE NOT l.deprecated AND l.definition IS NULL RETURN l.key"
        )
        found = animals.run_user(asked, {"version": ANIMALS.digest}).rows
        assert sorted(found) == [("animal",), ("cat",)]

    def test_dropping_a_version_drops_its_names(self, animals: GraphStore) -> None:
        load(animals, OTHERS, "pets")
        for graph in (ANIMALS, OTHERS):
            animals.annotate(shown(FIRST, graph))
        animals.drop_ontology("animals")
        animals.drop_version(ANIMALS.digest)
        left = animals.run_user("MATCH (n:Name) RETURN DISTINCT n.version").rows
        assert left == [(OTHERS.digest,)]
        load(animals, ANIMALS, "animals")
        assert marked(animals) == NO_ANNOTATIONS
        animals.annotate(shown(FIRST))
        assert_shows(animals, FIRST)

    def test_a_version_that_is_absent_is_not_annotated(self, store: GraphStore) -> None:
        for ask in (store.annotate, store.annotation_differences):
            with pytest.raises(NotFoundError, match="is not in the graph"):
                ask(shown(FIRST))

    def test_hostile_texts_come_back_as_they_are(self, animals: GraphStore) -> None:
        texts = [
            *HOSTILE_TEXTS,
            "\x01\x7f",
            "a\r\nb\tc",
            " ",
            "x" * 50_000,
            "ﬁ" * 20_000,
            "\U0010ffff",
            "NULL",
        ]
        described = {
            "dog": Description(tuple(Name(text, "exact", text[:20]) for text in texts), "".join(texts)),
            **{
                key: Description(definition=text)
                for key, text in zip(("cat", "wolf"), texts[:2], strict=True)
            },
        }
        animals.annotate(shown(described))
        assert_shows(animals, described)
        for text in texts:
            given = {"version": ANIMALS.digest, "folded": fold(text)[:FOLDED_CHARACTERS]}
            assert animals.run_user(BY_NAME, given).rows == [("dog",)]

    def test_differences_are_told(self, animals: GraphStore) -> None:
        animals.annotate(shown(FIRST))
        told = animals.annotation_differences(shown(FIRST | {"cat": Description((Name("cat"),))}))
        assert [text.split(" of ")[0] for text in told] == ["the names"]
        told = animals.annotation_differences(shown(FIRST | {"animal": Description(definition="?")}))
        assert [text.split(" of ")[0] for text in told] == ["the definitions or deprecated flags"]

    def test_progress_ends_the_work_and_it_is_completed_later(self, animals: GraphStore) -> None:
        animals.annotate(shown(FIRST))

        def stop(_done: int, _total: int) -> None:
            raise KilledError

        with pytest.raises(KilledError):
            animals.annotate(shown(SECOND), stop)
        animals.annotate(shown(SECOND))
        assert_shows(animals, SECOND)

    @pytest.mark.timeout(900)
    def test_a_hundred_thousand_names(self, store: GraphStore) -> None:
        rng = np.random.default_rng(17)
        graph = LabelGraph.from_edges([(f"k{i}", f"k{rng.integers(0, i)}") for i in range(1, 20_000)])
        load(store, graph, "many")
        for step, n_names in ((1, 100_000), (2, 100_000)):  # the second time, half of the names are new
            subjects = rng.integers(0, graph.n_labels, n_names)
            texts = [f"Name {i if i % 2 else step * n_names + i}" for i in range(n_names)]
            kinds = (np.arange(n_names) % len(NAME_KINDS)).tolist()
            made = Annotations.from_columns(
                graph,
                list(graph.keys),
                names=Names(subjects.tolist(), texts, kinds, [1] * n_names, [0] * n_names, ["", "en"]),
                definitions={key: f"definition of {key}" for key in graph.keys[: 10_000 * step]},
                deprecated=graph.keys[::7],
            )
            wanted = ShownAnnotations(graph, made, f"{step:064}")
            began = time.monotonic()
            store.annotate(wanted)
            assert time.monotonic() - began < patient(120)
            assert store.annotation_differences(wanted) == []
        asked = "MATCH (n:Name {version: $version}) RETURN count(n)"
        assert store.run_user(asked, {"version": graph.digest}).rows == [(wanted.n_names,)]


class TestEmbedded(AnnotationsContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[GraphStore]:
        with GraphStore(EmbeddedEngine(tmp_path / "graph")) as store:
            yield store

    def test_readers_see_the_old_annotations_until_the_new_ones_are_whole(
        self, animals: GraphStore, tmp_path: Path
    ) -> None:
        animals.annotate(shown(FIRST))

        def look(_done: int, _total: int) -> None:
            with GraphStore(EmbeddedEngine(tmp_path / "graph")) as other:
                assert_shows(other, FIRST)

        animals.annotate(shown(SECOND), look)
        assert_shows(animals, SECOND)


@pytest.mark.services
class TestNeo4j(AnnotationsContract):
    @pytest.fixture
    def store(self, neo4j_clean_url: str) -> Iterator[GraphStore]:
        with GraphStore(Neo4jEngine(neo4j_clean_url)) as store:
            yield store

    @pytest.fixture
    def one_by_one(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(annotating, "_ROWS_PER_BATCH", 1)

    @pytest.mark.slow
    @pytest.mark.timeout(900)
    def test_a_hundred_thousand_names(self, store: GraphStore) -> None:
        super().test_a_hundred_thousand_names(store)

    def batches(self, store: GraphStore) -> int:
        """Replace the first annotations by the second ones; return in how many batches."""
        totals: list[int] = []
        store.annotate(shown(SECOND), lambda _, total: totals.append(total))
        store.annotate(shown(FIRST))
        return totals[0]

    @pytest.mark.usefixtures("one_by_one")
    def test_killed_before_any_batch_it_is_completed_and_nothing_is_missing_meanwhile(
        self, animals: GraphStore
    ) -> None:
        animals.annotate(shown(FIRST))
        n_batches = self.batches(animals)
        assert n_batches > 5
        first, second = ({row[:4] for row in names_told(d, ANIMALS)} for d in (FIRST, SECOND))
        for killed in range(n_batches):

            def stop(done: int, _total: int, killed: int = killed) -> None:
                if done == killed:
                    raise KilledError

            with pytest.raises(KilledError):
                animals.annotate(shown(SECOND), stop)
            assert marked(animals).startswith("replacing ")
            seen = {row[:4] for row in animals.run_user(NAMES, {"version": ANIMALS.digest}).rows}
            assert seen >= first or seen >= second  # names are added before others are removed
            assert seen <= first | second
            again = FIRST if killed % 2 else SECOND  # going back is no shortcut either
            assert animals.annotate(shown(again))
            assert_shows(animals, again)
            animals.annotate(shown(FIRST))
            assert_shows(animals, FIRST)

    @pytest.mark.usefixtures("one_by_one")
    def test_of_two_at_once_the_later_one_wins_and_the_other_is_told(self, animals: GraphStore) -> None:
        def overtaken(done: int, _total: int) -> None:
            if done == 1:
                animals.annotate(shown(FIRST))

        with pytest.raises(ConflictError, match="another process replaces its names"):
            animals.annotate(shown(SECOND), overtaken)
        assert_shows(animals, FIRST)

    @pytest.mark.usefixtures("one_by_one")
    def test_a_version_dropped_meanwhile_is_told(self, animals: GraphStore) -> None:
        animals.drop_ontology("animals")

        def drop(done: int, _total: int) -> None:
            if done == 1:
                animals.drop_version(ANIMALS.digest)

        with pytest.raises(ConflictError, match="or drops it"):
            animals.annotate(shown(FIRST), drop)
        assert animals.run_user("MATCH (n:Name) RETURN count(n)").rows == [(0,)]

    def test_edits_by_hand_are_found_and_harmless(self, animals: GraphStore) -> None:
        animals.annotate(shown(FIRST))
        with animals.engine.server.session() as session:
            for edit in (
                "MATCH (n:Name {text: 'Hund'}) SET n.text = 'Köter'",
                "MATCH (l:Label {key: 'cat'}) SET l.definition = 7, l.deprecated = 'yes'",
                "CREATE (:Name {version: $version})",
                "MATCH (n:Name {text: 'domestic dog'}) DETACH DELETE n",
            ):
                session.run(edit, version=ANIMALS.digest).consume()
        assert len(animals.annotation_differences(shown(FIRST))) == 2
        animals.annotate(shown(SECOND))
        asked = "MATCH (n:Name {version: $version})-[:NAMES]->(:Label {key: 'dog'}) RETURN n.text"
        found = animals.run_user(asked, {"version": ANIMALS.digest}).rows
        assert ("pooch",) in found
        assert ("domestic dog",) not in found
        rows = animals.run_user(DESCRIPTIONS, {"version": ANIMALS.digest}).rows
        assert sorted(rows) == descriptions_told(SECOND, ANIMALS)


@pytest.mark.services
@pytest.mark.timeout(900)
@pytest.mark.parametrize("engine", ["embedded", pytest.param("neo4j", marks=[ONE_PROCESS, pytest.mark.slow])])
def test_wordnet_shows_its_words_and_definitions(
    engine: str, wordnet_dir: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    from labelgrove.ontology.readers import read

    result = read(wordnet_dir)
    url = request.getfixturevalue("neo4j_clean_url") if engine == "neo4j" else ""
    with GraphStore(Neo4jEngine(url)) if url else GraphStore(EmbeddedEngine(tmp_path / "graph")) as store:
        digest = load(store, result.graph, "wordnet")
        wanted = ShownAnnotations(result.graph, result.annotations, "1" * 64)
        store.annotate(wanted)
        assert store.annotation_differences(wanted) == []
        asked = "MATCH (n:Name {version: $version, folded: $folded})-[:NAMES]->(l:Label) RETURN l.definition"
        found = store.run_user(asked, {"version": digest, "folded": "canis familiaris"}).rows
        assert len(found) == 1
        assert "domesticated" in found[0][0]
