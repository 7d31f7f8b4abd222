"""The search of names, compared with its definition read off name by name; hostile names; and suggestions."""

import itertools
from collections import Counter
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from labelgrove.ontology.annotations import NAME_KINDS, Annotations, Description, Name
from labelgrove.ontology.browse.folding import chunks, fold, words
from labelgrove.ontology.browse.labelindex import LabelIndex
from labelgrove.ontology.browse.names.namerows import KINDS
from labelgrove.ontology.browse.names.search import MATCHES, MOST_PARTS
from labelgrove.ontology.browse.names.suggestions import close_words_of, did_you_mean, edits
from labelgrove.ontology.browse.names.texttables import (
    distinct_texts,
    distinct_words,
    folded_table,
    joined_tables,
    n_characters,
    parts,
)
from labelgrove.ontology.errors import InputError
from labelgrove.ontology.keys import Texts
from labelgrove.ontology.labelgraph import LabelGraph
from tests.unit.browse.browse_cases import NameRow, annotated, hierarchies

TEXTS = st.text(alphabet="aabbcéÅß 1-+_,", min_size=1, max_size=8)
QUERIES = st.sampled_from("abc") | TEXTS.filter(str.strip)
KINDS_OF_ROWS = st.sampled_from(NAME_KINDS)


@st.composite
def named_hierarchies(draw):
    """Return a hierarchy of up to 9 labels with names, and further names of its labels."""
    keys = st.lists(TEXTS.filter(lambda text: "\0" not in text), min_size=1, max_size=9, unique=True)
    graph = draw(hierarchies(keys, TEXTS))
    row = st.builds(
        NameRow,
        label=st.integers(0, graph.n_labels - 1),
        text=TEXTS.filter(str.strip),
        kind=KINDS_OF_ROWS,
        language=st.sampled_from(["", "en"]),
        use=st.integers(0, 2),
    )
    rows = draw(st.lists(row, max_size=4, unique_by=lambda row: row[:4]))
    gone = draw(st.frozensets(st.integers(0, graph.n_labels - 1), max_size=2))
    return Named(graph, rows, gone)


class Named(NamedTuple):
    """A graph, names of its labels, and its deprecated labels."""

    graph: LabelGraph
    rows: list[NameRow]
    deprecated: frozenset[int] = frozenset()

    @property
    def index(self) -> LabelIndex:
        return LabelIndex.of(self.graph, annotated(self.graph, self.rows, self.deprecated))


def matches(text: str, name: str, *, is_key: bool) -> str | None:
    """How a query matches a name, by the words of the definition."""
    query, form = fold(text), fold(name)
    parts = list(dict.fromkeys(part.rstrip(",;") or part for part in query.split()))
    begins = [any(word.startswith(part) for word in words(form)) for part in parts]
    several = [len(words(part)) > 1 and part in form for part in parts]
    inside = [part in form and len(part.encode()) >= 3 for part in parts]
    if is_key and text == name:
        return "key"
    if form == query:
        return "exact"
    if form.startswith(query):
        return "prefix"
    if all(s if len(words(part)) > 1 else b for part, b, s in zip(parts, begins, several, strict=True)):
        return "words"
    if all(
        s if len(words(part)) > 1 else b or i
        for part, b, s, i in zip(parts, begins, several, inside, strict=True)
    ):
        return "part"
    return None


class Row(NamedTuple):
    """A name as the definition reads it."""

    label: int
    text: str
    kind: str
    language: str
    use: int


def rows_of(named: Named) -> list[Row]:
    """All names; a preferred name that the graph has gives its language and use to the row of the graph."""
    graph, given = named.graph, sorted(named.rows, key=lambda row: (not row.language, row.language))
    its = {}
    for row in given:
        if row.kind == "preferred" and row.text == graph.names[row.label]:
            its.setdefault(row.label, row)
    told = [(its[i].language, its[i].use) if i in its else ("", 0) for i in range(len(graph))]
    apart = graph.names != graph.keys
    rows = [Row(i, key, "key", *(("", 0) if apart else told[i])) for i, key in enumerate(graph.keys)]
    if apart:
        rows += [Row(i, name, "preferred", *told[i]) for i, name in enumerate(graph.names)]
    taken = [*its.values()]
    return rows + [Row(r.label, r.text, r.kind, r.language, r.use) for r in given if r not in taken]


def found_by_definition(named: Named, text: str, language: str | None = None) -> list[tuple[int, str]]:
    """The labels that a query finds, in order, each with how it matches."""
    sizes = LabelIndex.of(named.graph).order.size
    best: dict[int, tuple] = {}
    for label, name, kind, spoken, use in rows_of(named):
        match = matches(text, name, is_key=kind == "key")
        if match is not None and language in (None, spoken):
            last = label in named.deprecated and match != "key"
            standing = max(KINDS.index(kind), KINDS.index("preferred"))
            size, length = int(sizes[label]).bit_length(), len(fold(name))
            rank = (last, MATCHES.index(match), -use, standing, -size, length, label)
            best[label] = min(best.get(label, rank), rank)
    return [(label, MATCHES[rank[1]]) for label, rank in sorted(best.items(), key=lambda item: item[1])]


GARDEN = LabelGraph.from_edges([("aß", "a"), ("b-a", "a")], names={"aß": "ab c++ 1"})


@given(named_hierarchies(), QUERIES)
@example(Named(GARDEN, [NameRow(1, "Å b", use=2)]), "A")
@example(Named(GARDEN, []), "c++")
@example(Named(GARDEN, []), "c++, ab;")
@example(Named(GARDEN, []), "aß")
@example(Named(GARDEN, [], frozenset({1})), "a")
@example(Named(GARDEN, [], frozenset({1})), "aß")
@example(Named(GARDEN, [NameRow(1, "ab c++ 1", "preferred", "en", 3), NameRow(2, "ab c", use=2)]), "ab c")
def test_a_query_finds_what_the_definition_finds_in_its_order(named, text):
    search = named.index.search
    wanted = found_by_definition(named, text)
    found = search.find(text, facets=True)
    assert [(hit.label, hit.match) for hit in found.items] == wanted
    assert found.total == len(wanted)
    assert [(hit.label, hit.match) for hit in search.suggest(text)] == wanted[:10]
    assert [(hit.label, hit.match) for hit in search.suggest(text, limit=1)] == wanted[:1]
    of_label = {row[:4] for row in rows_of(named)}
    assert all((hit.label, hit.text, hit.kind, hit.language) in of_label for hit in found.items)


@given(named_hierarchies(), QUERIES)
@example(Named(GARDEN, [NameRow(1, "ab", "exact", "en"), NameRow(2, "abc", "preferred", "de")]), "a")
def test_names_of_one_language_are_found_as_many_times_as_the_facet_says(named, text):
    search = named.index.search
    facets = search.find(text, facets=True).facets
    assert facets is not None
    for language in {row.language for row in rows_of(named)} - {""}:
        wanted = found_by_definition(named, text, language)
        assert [(hit.label, hit.match) for hit in search.find(text, language=language).items] == wanted
        assert facets.languages.get(language, 0) == len(wanted)
    with pytest.raises(InputError, match="language: no name is in 'xx'"):
        search.find(text, language="xx")


def test_a_language_includes_its_varieties():
    rows = [NameRow(1, "lorry", language="en-GB"), NameRow(2, "lorry", language="eng")]
    search = LabelIndex.of(GARDEN, annotated(GARDEN, rows)).search
    assert [hit.label for hit in search.find("lorry", language="EN").items] == [1]
    with pytest.raises(InputError, match="there are names in en-GB, eng"):
        search.find("lorry", language="e")


@given(named_hierarchies(), QUERIES, st.data())
def test_filters_pages_and_counts_are_those_of_the_whole_answer(named, text, data):
    graph, index = named.graph, named.index
    labels = [hit.label for hit in index.search.find(text).items]
    under = data.draw(st.none() | st.integers(0, graph.n_labels - 1))
    leaf, depth = data.draw(st.none() | st.booleans()), data.draw(st.none() | st.integers(0, 3))
    deprecated = data.draw(st.none() | st.booleans())
    inside = range(graph.n_labels) if under is None else {under, *index.walk.descendants(under).tolist()}
    kept = [
        i
        for i in labels
        if i in inside
        and (leaf is None or bool(graph.leaf_mask[i]) == leaf)
        and (depth is None or graph.depth[i] == depth)
        and (deprecated is None or (i in named.deprecated) == deprecated)
    ]
    filters = {"under": under, "leaf": leaf, "depth": depth, "deprecated": deprecated}
    limit, after, seen = data.draw(st.integers(1, 4)), None, []
    while True:
        found = index.search.find(text, **filters, limit=limit, after=after, facets=True)
        seen += [hit.label for hit in found.items]
        assert found.total == len(kept)
        if (after := found.next) is None:
            break
    assert seen == kept
    facets = found.facets
    assert facets is not None
    assert facets.leaves == sum(bool(graph.leaf_mask[i]) for i in kept)
    assert facets.depths == dict(sorted(Counter(graph.depth[kept].tolist()).items()))
    assert facets.deprecated == len(named.deprecated.intersection(kept))


SHORTCUT = LabelGraph.from_edges(  # xb is below r and, first of all, below xa
    [("xa", "r"), ("xb", "xa"), ("xb", "r"), ("xc", "xa"), ("xd", "xb")], ranks=[0, 0, 1, 0, 0]
)
DETOUR = LabelGraph.from_edges([("xc", "xa"), ("xc", "xz"), ("xd", "xc")])  # what is below xz comes before it


@given(named_hierarchies(), QUERIES)
@example(Named(SHORTCUT, []), "x")
@example(Named(DETOUR, []), "x")
def test_branches_are_counted_under_every_label_also_if_one_is_inside_another(named, text):
    graph, index = named.graph, named.index
    for query, under in itertools.product({text, "a"}, [None, *range(graph.n_labels)]):
        found = index.search.find(query, under=under, facets=True)
        labels = [hit.label for hit in found.items]
        tops = index.walk.roots.tolist()
        if under is not None or len(tops) == 1:
            tops = index.walk.children(tops[0] if under is None else under).tolist()
        counts = [(top, sum(top <= i < index.order.end[top] for i in labels)) for top in tops]
        wanted = sorted(((top, n) for top, n in counts if n), key=lambda branch: (-branch[1], branch[0]))
        assert found.facets is not None
        assert found.facets.branches == wanted


HOSTILE = [
    "#", "%", "/", "?", "&", "a%20b", "..", "../../etc", "<script>alert(1)</script>", "'; DROP TABLE x",
    " ", "two  blanks", "tab\there", "line\nend", "שלום עולם", "مرحبا", "日本語の犬", "İstanbul", "ﬁr",
    "e\u0301toile", "\u200e", "x" * 4_000, "é" * 2_000, "*", "(", "[a-z]", "\\", '"',
]  # fmt: skip


def test_hostile_names_are_found_by_themselves_and_by_what_they_contain():
    keys = [f"{i:02d}" for i in range(len(HOSTILE))]
    graph = LabelGraph.from_edges(
        [(key, "root") for key in keys], names=dict(zip(keys, HOSTILE, strict=True)), labels=keys
    )
    index = LabelIndex.of(graph)
    for key, name in zip(keys, HOSTILE, strict=True):
        if not name.strip():
            with pytest.raises(InputError, match="at least one character"):
                index.search.find(name)
            continue
        label = graph.keys.index(key)
        assert label in [hit.label for hit in index.search.find(name).items if hit.match == "exact"]
        assert label in index.search.named(name)
        assert index.search.find(name).items[0].text in (name, fold(name))
        middle = fold(name)[1:-1].strip()
        if middle and all(len(part.encode()) >= 3 for part in chunks(middle)):
            assert label in [hit.label for hit in index.search.find(middle).items]
    assert graph.keys[index.search.find("犬").items[0].label] == keys[HOSTILE.index("日本語の犬")]


def test_an_undirected_graph_has_leaves_but_neither_depths_nor_branches():
    search = LabelIndex.of(LabelGraph.from_edges([("ab", "a"), ("ac", "ab")], directed=False)).search
    for filters in ({"depth": 0}, {"under": 0}):
        with pytest.raises(InputError, match="undirected"):
            search.find("a", **filters)
    found = search.find("a", leaf=True, facets=True)
    assert found.facets is not None
    assert (found.total, found.facets.leaves, found.facets.depths, found.facets.branches) == (2, 2, {}, [])


LONG_NAME = " ".join(f"w{i}" for i in range(MOST_PARTS))


@pytest.mark.parametrize(
    "text", ["", " \t\n", "x" * 4_097, f"{LONG_NAME} w"], ids=["empty", "blank", "long", "many parts"]
)
def test_queries_that_ask_for_nothing_or_too_much_are_refused(text):
    index = LabelIndex.of(LabelGraph.from_edges([], labels=[text or "x", "oak"]))
    with pytest.raises(InputError, match="text: "):
        index.search.find(text)
    assert index.search.suggest(text) == []
    assert did_you_mean(index.search, index.names, text) == []


def test_a_name_of_very_many_words_is_found_by_itself():
    graph = LabelGraph.from_edges([("a", "r"), ("b", "r")], names={"a": LONG_NAME, "b": "w0 w1"})
    search = LabelIndex.of(graph).search
    assert [hit.match for hit in search.find(LONG_NAME).items] == ["exact"]
    assert [hit.match for hit in search.suggest(LONG_NAME)] == ["exact"]


def test_a_text_means_the_key_then_preferred_names_then_synonyms_then_former_names():
    names = {"k1": "Crane", "k2": "crane", "k3": "crane", "k4": "heron", "k5": "k1", "k6": "stork"}
    graph = LabelGraph.from_edges([(key, "root") for key in names], names=names)
    gone = {
        "old": Description((Name("ibis"), Name("heron")), replaced_by=("k6",)),
        "lost": Description((Name("dodo"),)),
    }
    known = {
        "k1": Description((Name("heron"),)),
        "k4": Description((Name("Reiher", language="de"), Name("bird", "broad"), Name("egret"))),
        "k5": Description((Name("EGRET"), Name("gull")), alternative_id=("k0",)),
        "k6": Description((Name("Gull"),), deprecated=True),
    }
    named = LabelIndex.of(graph, Annotations.of(graph, gone | known)).search.named
    meant = {
        "k1": ("k1",), "crane": ("k2", "k3"), "Crane": ("k1",), "CRANE": ("k1", "k2", "k3"),
        "heron": ("k4",), "HERON": ("k4",), "reiher": ("k4",), "egret": ("k4",), "Egret": ("k4", "k5"),
        "gull": ("k5",), "GULL": ("k5",), "Gull": ("k6",), "stork": ("k6",), "bird": (),
        "k0": ("k5",), "old": ("k6",), "Old": ("k6",), "ibis": ("k6",), "lost": (), "dodo": (), "x": (),
    }  # fmt: skip
    assert {text: graph.keys.take(named(text)) for text in meant} == meant


def test_the_most_used_meaning_comes_first():
    names = {"k1": "dog", "k2": "dog", "k3": "frank"}
    graph = LabelGraph.from_edges([(key, "root") for key in names], names=names)
    uses = [NameRow(2, "dog", kind="preferred", use=42), NameRow(3, "dog", use=7)]
    assert [hit.label for hit in LabelIndex.of(graph, annotated(graph, uses)).search.find("dog").items] == [
        2,
        3,
        1,
    ]
    assert [hit.label for hit in LabelIndex.of(graph).search.find("dog").items] == [1, 2]


def test_a_key_comes_before_a_much_used_name_and_though_its_label_is_deprecated():
    graph = LabelGraph.from_edges([("k1", "root"), ("k2", "root")], names={"k1": "k2", "k2": "oak"})
    held = annotated(graph, [NameRow(1, "k2", "preferred", use=9)], deprecated=[2])
    search = LabelIndex.of(graph, held).search
    assert [(hit.label, hit.match) for hit in search.find("k2").items] == [(2, "key"), (1, "exact")]
    assert [(hit.label, hit.match) for hit in search.find("K2").items] == [(1, "exact"), (2, "exact")]


@given(st.text(max_size=40))
def test_folding_twice_changes_nothing(text):
    assert fold(fold(text)) == fold(text)
    assert "".join(words(fold(text))) == fold(text).replace(" ", "")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ångström", "angstrom"), ("STRASSE", "straße"), ("Smørrebrød", "smorrebrod"), ("Łódź", "lodz"),
        ("ΣΊΣΥΦΟΣ", "σισυφος"), ("ﬁr", "fir"), ("Ｗｉｄｅ", "wide"), ("e\u0301", "é"), ("a\u00a0 b", "a b"),
    ],
)  # fmt: skip
def test_spellings_that_fold_to_the_same(one, other):
    assert fold(one) == fold(other)


def edits_by_definition(a: str, b: str) -> int:
    """Optimal string alignment, cell by cell."""
    table = {(i, 0): i for i in range(len(a) + 1)} | {(0, j): j for j in range(len(b) + 1)}
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            table[i, j] = min(
                table[i - 1, j] + 1, table[i, j - 1] + 1, table[i - 1, j - 1] + (a[i - 1] != b[j - 1])
            )
            if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
                table[i, j] = min(table[i, j], table[i - 2, j - 2] + 1)
    return table[len(a), len(b)]


LETTERS = st.text(alphabet="abcd9λж", min_size=1, max_size=7)


@given(LETTERS, st.lists(LETTERS, max_size=6))
def test_edits_are_those_of_the_definition(word, others):
    assert edits(word, tuple(others)).tolist() == [edits_by_definition(word, other) for other in others]


@given(LETTERS, st.lists(LETTERS, min_size=1, max_size=8, unique=True))
def test_close_words_are_all_words_within_one_or_two_edits(word, keys):
    names = LabelIndex.of(LabelGraph.from_edges([], labels=keys)).names
    most = 0 if len(word) < 3 else 1 if len(word) < 5 else 2
    known = {w for key in keys for w in words(fold(key))}
    distance = {w: edits_by_definition(word, w) for w in known}
    found = close_words_of(names, word)
    assert set(found) == {w for w in known if distance[w] <= most and most}
    assert [distance[w] for w in found] == sorted(distance[w] for w in found)


def test_a_misspelled_query_is_answered_with_the_names_that_it_may_mean():
    names = ["golden retriever", "Labrador retriever", "dog", "Ångström", "oak", "elm"]
    index = LabelIndex.of(LabelGraph.from_edges([], labels=names))

    def meant(text):
        return did_you_mean(index.search, index.names, text)

    assert meant("golden retreiver") == ["golden retriever"]
    assert meant("retreivre") == ["golden retriever"] or meant("retreivre") == ["Labrador retriever"]
    assert meant("dgo") == ["dog"]
    assert meant("angstrem") == ["Ångström"]
    assert meant("golden dgo") == []
    assert meant("ok") == []
    assert meant("zq oka") == meant("oka zq &") == meant("oka") == ["oak"]
    assert meant("zq dog") == ["dog"]
    assert meant("zq &") == []
    assert meant("zq xyzzy") == []
    assert meant("dog xyzzy") == []
    assert meant("xyzzy") == []


def test_a_query_with_very_many_unknown_words_is_not_compared_with_all_words():
    known = [f"oak{i:02d}x" for i in range(20)]
    index = LabelIndex.of(LabelGraph.from_edges([], labels=[" ".join(known)]))
    for n, found in ((1, 1), (16, 1), (17, 0)):
        text = " ".join([word.replace("x", "y") for word in known[:n]] + known[n:])
        assert len(did_you_mean(index.search, index.names, text)) == found


def test_every_prefix_of_a_large_table_is_found_as_by_reading_it():
    draw = np.random.default_rng(5)
    keys = sorted({"".join(draw.choice(list("abc "), 6)).strip() or "z" for _ in range(400)})
    graph = LabelGraph.from_edges([], labels=keys)
    search = LabelIndex.of(graph).search
    for text in ("a", "ab", "abc", "c a", "bca", "b a"):
        wanted = [label for label, _ in found_by_definition(Named(graph, []), text)]
        assert [hit.label for hit in search.find(text, limit=1_000).items] == wanted


# ---- whole tables --------------------------------------------------------------------------------------

ANY_TEXTS = st.lists(
    st.text(alphabet="aB éß_-+\0\t\u00a0日ｗ", max_size=20) | st.text(max_size=12), max_size=12
)


@given(ANY_TEXTS)
@example([])
@example(["", " ", "a", "a\0", "a\0\0", "a", "b" * 40, "b" * 41, "b" * 40 + "\0"])
def test_whole_tables_are_folded_split_and_sorted_as_their_entries_are(texts):
    folded = folded_table(Texts.from_strings(texts))
    assert list(folded) == [fold(text) for text in texts]
    found, word, entry = distinct_words(folded)
    wanted = [(word, i) for i, text in enumerate(texts) for word in words(fold(text))]
    assert list(found) == sorted({word for word, _ in wanted})
    assert [(found[w], i) for w, i in zip(word.tolist(), entry.tolist(), strict=True)] == wanted
    for table in (Texts.from_strings(texts), folded, found):
        distinct, which = distinct_texts(table)
        assert list(distinct) == sorted(set(table))
        assert [distinct[i] for i in which.tolist()] == list(table)
        assert n_characters(table).tolist() == [len(text) for text in table]
    joined = joined_tables(folded, found, folded)
    assert list(joined) == [*folded, *found, *folded]


def test_words_of_a_table_of_several_parts_are_those_of_its_entries():
    draw = np.random.default_rng(7)
    texts = [" ".join(draw.choice(["oak", "elm", "日本", "c++", "x" * 5_000], 3)) for _ in range(2_000)]
    table = Texts.from_strings(["", *texts])
    assert len(list(parts(table))) > 1
    assert [text for _, part in parts(table) for text in part] == texts
    found, word, entry = distinct_words(table)
    assert list(found) == sorted({one for text in texts for one in words(text)})
    wanted = [(one, i) for i, text in enumerate(texts, 1) for one in words(text)]
    assert [(found[w], i) for w, i in zip(word.tolist(), entry.tolist(), strict=True)] == wanted
