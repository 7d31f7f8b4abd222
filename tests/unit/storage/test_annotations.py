"""Laws of annotations: any order of columns, artifacts, other labels; and artifacts that break a rule."""

from __future__ import annotations

import random
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from labelgrove.ontology.annotations import (
    ANNOTATIONS_FORMAT,
    MOST_USES,
    NAME_KINDS,
    NOTE_KINDS,
    Annotations,
    Description,
    Name,
)
from labelgrove.ontology.errors import ArtifactError
from labelgrove.ontology.keys import Texts
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.readers.annotating import CollectedAnnotations
from labelgrove.ontology.textorder import sorted_within

KEYS = ("ash", "elm", "oak", "tree", "yew", "ä")
GRAPH = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree"), ("ä", "tree")])
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20) | st.sampled_from(
    ["", "\0", "a\0", "a", "12345678", "123456789", "12345678\0", "é" * 5, "é" * 4 + "f"]
)
NAMES = st.lists(
    st.builds(Name, TEXT, st.sampled_from(NAME_KINDS), st.sampled_from(["", "de", "en"]), st.integers(0, 3)),
    max_size=5,
)
DESCRIPTIONS = st.dictionaries(
    st.sampled_from(KEYS),
    st.builds(
        lambda names, notes, **more: Description(
            tuple(names), **{kind: tuple(texts) for kind, texts in notes.items()}, **more
        ),
        NAMES,
        st.dictionaries(st.sampled_from(NOTE_KINDS), st.lists(TEXT, max_size=3)),
        definition=TEXT,
        deprecated=st.booleans(),
        line=st.integers(0, 2**40),
    ),
)


def sound(described: Description, *, retired: bool) -> Description:
    """What a description reads back as: sorted, each name once with its largest use."""
    uses: dict[tuple[int, str, str], int] = {}
    for name in described.names:
        row = NAME_KINDS.index(name.kind), name.language, name.text
        uses[row] = max(uses.get(row, 0), name.use)
    names = tuple(Name(row[2], NAME_KINDS[row[0]], row[1], use) for row, use in sorted(uses.items()))
    notes = {kind: tuple(sorted(set(getattr(described, kind)))) for kind in NOTE_KINDS}
    return Description(
        names, described.definition, described.deprecated or retired, line=described.line, **notes
    )


# ---- laws ----------------------------------------------------------------------------------------------


@given(DESCRIPTIONS)
def test_a_description_reads_back_sorted_and_each_entry_once(described):
    held = Annotations.of(GRAPH, described)
    expected = {key: Description() for key in GRAPH.keys} | {
        key: sound(one, retired=key not in GRAPH.keys) for key, one in described.items()
    }
    assert dict(held.descriptions(GRAPH)) == expected
    assert list(held.retired) == sorted(key for key in described if key not in GRAPH.keys)


@given(DESCRIPTIONS, st.integers(0, 99))
def test_equal_content_gives_equal_arrays_in_any_order(described, seed):
    rng = random.Random(seed)
    items = rng.sample(list(described.items()), len(described))
    shuffled = {
        key: Description(
            tuple(rng.sample([*one.names, *one.names[:2]], len([*one.names, *one.names[:2]]))),
            one.definition,
            one.deprecated,
            line=one.line,
            **{kind: getattr(one, kind)[::-1] for kind in NOTE_KINDS},
        )
        for key, one in items
    }
    assert Annotations.of(GRAPH, shuffled) == Annotations.of(GRAPH, described)


@given(DESCRIPTIONS)
def test_an_artifact_reads_back_equal(described):
    held = Annotations.of(GRAPH, described)
    arrays, metadata = held.to_arrays("d")
    assert Annotations.from_arrays(arrays, metadata, n_labels=GRAPH.n_labels, digest="d") == held


@given(DESCRIPTIONS, st.sets(st.sampled_from(KEYS), min_size=1))
def test_moved_annotations_are_those_of_the_labels_that_remain(described, labels):
    new = LabelGraph.from_edges([], labels=sorted(labels))
    old = {key: one for key, one in described.items() if key in labels or key not in GRAPH.keys}
    moved = Annotations.of(GRAPH, described).moved(GRAPH, new)
    expected = {key: Description() for key in new.keys} | {
        key: sound(one, retired=key not in GRAPH.keys) for key, one in old.items()
    }
    assert dict(moved.descriptions(new)) == expected


@given(DESCRIPTIONS)
def test_moving_to_the_same_graph_changes_nothing(described):
    held = Annotations.of(GRAPH, described)
    assert held.moved(GRAPH, GRAPH) == held


@given(st.lists(st.tuples(st.integers(0, 3), TEXT), max_size=30))
def test_entries_are_sorted_as_python_sorts_their_bytes(rows):
    groups = np.array([group for group, _ in rows], dtype=np.int64)
    order, first = sorted_within(Texts.from_strings([text for _, text in rows]), groups)
    expected = sorted(range(len(rows)), key=lambda i: (rows[i][0], rows[i][1].encode()))
    assert order.tolist() == expected
    listed = [rows[i] for i in expected]
    assert first.tolist() == [i == 0 or listed[i] != listed[i - 1] for i in range(len(listed))]


def test_what_readers_collect_is_what_descriptions_say():
    found = CollectedAnnotations()
    found.name("oak", "Eiche", "preferred", "de", use=MOST_USES + 5)
    found.name("oak", "roble")
    found.name("gone", "lost")
    found.note("oak", "notation", "Q")
    found.note("elm", "alternative_id", "old")
    found.deprecated |= {"elm", "unknown"}
    found.retired |= {"yew": 7, "tree": 8}
    held = found.of(GRAPH, names={"yew": "Yew", "oak": "Oak"}, definitions={"oak": "hard"}, lines={"oak": 3})
    assert held == Annotations.of(
        GRAPH,
        {
            "oak": Description(
                (Name("Eiche", "preferred", "de", MOST_USES), Name("roble")),
                "hard",
                notation=("Q",),
                line=3,
            ),
            "elm": Description(deprecated=True, alternative_id=("old",)),
            "yew": Description((Name("Yew", "preferred"),), deprecated=True, line=7),
            "tree": Description(line=8),
        },
    )
    assert found.notes("notation") == [("oak", "Q")]


def test_an_older_artifact_of_definitions_is_read():
    definitions = Texts.from_strings(["hard", "", "tall", "x"])
    arrays = {"definitions.blob": definitions.blob, "definitions.offsets": definitions.offsets}
    metadata = {"format": "labelgrove/definitions/1", "ontology": "d"}
    held = Annotations.from_arrays(arrays, metadata, n_labels=4, digest="d")
    assert list(held.definitions) == ["hard", "", "tall", "x"]
    assert not len(held.name_texts)
    assert held.describe(2) == Description(definition="tall")
    with pytest.raises(ArtifactError, match="definitions: 4 texts for 3 subjects"):
        Annotations.from_arrays(arrays, metadata, n_labels=3, digest="d")


# ---- forged artifacts ----------------------------------------------------------------------------------


HELD = Annotations.of(
    GRAPH,
    {
        "oak": Description((Name("Eiche", language="de"), Name("Quercus")), "hard", notation=("Q",)),
        "elm": Description((Name("Ulme", language="de", use=3),), reference=("R",)),
        "yew": Description(replaced_by=("oak",)),
    },
)


def put(name: str, entry: int, value: int) -> Any:
    def change(arrays: dict[str, Any]) -> None:
        arrays[name] = arrays[name].copy()
        arrays[name][entry] = value

    return change


def cut(name: str) -> Any:
    return lambda arrays: arrays.update({name: arrays[name][:-1]})


def cast(name: str, dtype: type) -> Any:
    return lambda arrays: arrays.update({name: arrays[name].astype(dtype)})


def texts(name: str, *strings: str) -> Any:
    table = Texts.from_strings(strings)
    return lambda arrays: arrays.update({f"{name}.blob": table.blob, f"{name}.offsets": table.offsets})


FORGED = {
    "retired key twice": (texts("retired", "yew", "yew"), "occurs twice"),
    "retired missing": (lambda arrays: arrays.pop("retired.blob"), r"retired\.blob"),
    "definitions too few": (texts("definitions", "a", "b"), "definitions: 2 texts for 5 subjects"),
    "definitions not text": (put("definitions.blob", 0, 0xFF), r"definitions\.blob"),
    "deprecated too short": (cut("deprecated"), "deprecated"),
    "deprecated of another type": (cast("deprecated", np.int8), "deprecated"),
    "line too short": (cut("line"), "line"),
    "line of another type": (cast("line", np.int32), "line"),
    "subject of names too short": (cut("names.subject"), r"names\.subject"),
    "kind of names too short": (cut("names.kind"), r"names\.kind"),
    "language of names too short": (cut("names.language"), r"names\.language"),
    "use of names too short": (cut("names.use"), r"names\.use"),
    "subject of notes too short": (cut("notes.subject"), r"notes\.subject"),
    "kind of notes too short": (cut("notes.kind"), r"notes\.kind"),
    "subject of names too large": (
        put("names.subject", -1, 5),
        r"names\.subject: an entry is outside 0\.\.4",
    ),
    "subject of names below 0": (put("names.subject", 0, -1), r"names\.subject: an entry is outside 0\.\.4"),
    "kind of names unknown": (put("names.kind", 0, 5), r"names\.kind: an entry is outside 0\.\.4"),
    "language unknown": (put("names.language", 0, 2), r"names\.language: an entry is outside 0\.\.1"),
    "subject of notes too large": (
        put("notes.subject", -1, 5),
        r"notes\.subject: an entry is outside 0\.\.4",
    ),
    "kind of notes unknown": (put("notes.kind", 0, 6), r"notes\.kind: an entry is outside 0\.\.5"),
    "subjects of names unsorted": (put("names.subject", 0, 4), r"names\.subject: the entries do not ascend"),
    "subjects of notes unsorted": (put("notes.subject", 0, 4), r"notes\.subject: the entries do not ascend"),
    "use below 0": (put("names.use", 0, -1), r"names\.use: an entry is below 0"),
    "languages not text": (put("languages.blob", 0, 0xFF), r"languages\.blob"),
    "names cut in a character": (put("names.offsets", 1, 10**6), "offsets"),
    "notes missing": (lambda arrays: arrays.pop("notes.offsets"), r"notes\.offsets"),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_artifact_says_what_is_wrong_with_it(name):
    change, message = FORGED[name]
    arrays, metadata = HELD.to_arrays("d")
    change(arrays)
    with pytest.raises(ArtifactError, match=message) as caught:
        Annotations.from_arrays(arrays, metadata, n_labels=GRAPH.n_labels, digest="d")
    assert "ingest the source again" in str(caught.value)


@pytest.mark.parametrize(
    "change", [{"format": "labelgrove/annotations/9"}, {"ontology": "e"}, {"format": None}]
)
def test_another_format_or_version_is_refused(change):
    arrays, metadata = HELD.to_arrays("d")
    assert metadata["format"] == ANNOTATIONS_FORMAT
    with pytest.raises(ArtifactError, match="annotations: format is"):
        Annotations.from_arrays(arrays, {**metadata, **change}, n_labels=GRAPH.n_labels, digest="d")
