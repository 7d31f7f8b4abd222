"""Files of label indexes: the same bytes for the same version, damage of every kind, and rebuilding."""

import logging
import shutil
from pathlib import Path

import numpy as np
import pytest

from labelgrove.ontology.browse.indexcache import MOST_KEPT, IndexCache
from labelgrove.ontology.browse.labelindex import INDEX_FORMAT, LabelIndex
from labelgrove.ontology.errors import ArtifactError
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.store.artifacts import open_store, write_safetensors
from tests.unit.browse.browse_cases import NameRow, annotated

GRAPH = LabelGraph.from_edges(
    [("oak", "tree"), ("elm", "tree"), ("tree", "plant"), ("moss", "plant"), ("oak", "plant")],
    names={"oak": "Eiche", "elm": "Ulme"},
)
NAMES = annotated(GRAPH, [NameRow(3, "English oak", language="en", use=3)], deprecated=[1])


def answers(index: LabelIndex) -> tuple:
    hits = [index.search.find(text, facets=True) for text in ("e", "oak", "english oak", "xyz")]
    return hits, index.walk.ancestors(4)[0].tolist(), index.order.end.tolist()


def test_an_index_says_the_same_from_its_file_with_the_same_bytes(tmp_path):
    files = [write_safetensors(*LabelIndex.to_arrays(GRAPH, NAMES)) for _ in range(2)]
    assert files[0] == files[1]
    store = open_store(str(tmp_path))
    opened = LabelIndex.from_arrays(*store.open_arrays(store.put_bytes(files[0])), GRAPH)
    assert answers(opened) == answers(LabelIndex.of(GRAPH, NAMES))
    assert not opened.names.place.flags.writeable


def broken_arrays():
    """Yield a description and a change for every array, and for every way to break one."""
    arrays, _ = LabelIndex.to_arrays(GRAPH, NAMES)
    for name, array in arrays.items():
        yield f"{name} missing", name, None
        yield f"{name} of another type", name, array.astype(np.float32)
        yield f"{name} too short", name, array[:-1]
        if array.dtype == np.int32 and name not in ("rows.use", "words.length", "rows.text"):
            wrong = array.copy()
            wrong[len(wrong) // 2] = -2 if name != "order.depth" else -1
            yield f"{name} below what is possible", name, wrong
        if array.dtype in (np.int32, np.int64) and name not in ("order.depth", "rows.use", "words.length"):
            wrong = array.copy()
            wrong[len(wrong) // 2] = 10_000
            yield f"{name} beyond the end", name, wrong
    for name in ("rows.kind", "rows.language", "labels.deprecated"):
        yield f"{name} unknown", name, np.full_like(arrays[name], 200)
    yield "forms.blob no text", "forms.blob", np.full_like(arrays["forms.blob"], 255)


@pytest.mark.parametrize(("name", "array"), [pytest.param(n, a, id=i) for i, n, a in broken_arrays()])
def test_arrays_that_break_a_rule_are_refused(name, array):
    arrays, metadata = LabelIndex.to_arrays(GRAPH, NAMES)
    broken = {k: v for k, v in arrays.items() if k != name} | ({} if array is None else {name: array})
    with pytest.raises(ArtifactError, match=f"label index: .*({name.partition('.')[0]}|offsets)"):
        LabelIndex.from_arrays(broken, metadata, GRAPH)


@pytest.mark.parametrize("wrong", [{"format": "labelgrove/labelindex/0"}, {"digest": "0" * 64}])
def test_an_index_of_another_format_or_version_is_refused(wrong):
    arrays, metadata = LabelIndex.to_arrays(GRAPH)
    with pytest.raises(ArtifactError, match="build the index again"):
        LabelIndex.from_arrays(arrays, metadata | wrong, GRAPH)


# ---- the cache -----------------------------------------------------------------------------------------


def contents(folder: Path) -> list[Path]:
    return sorted(path for path in (folder / "sha256").rglob("*") if path.is_file())


def test_an_index_is_built_once(tmp_path):
    cache = IndexCache(tmp_path / "labelindex")
    built = []

    def names():
        built.append(1)
        return NAMES

    assert not cache.holds(GRAPH)
    for _ in range(3):
        assert answers(cache.open(GRAPH, names, "first")) == answers(LabelIndex.of(GRAPH, NAMES))
    assert len(built) == 1
    cache.open(GRAPH, names, "second")
    assert len(built) == 2
    assert cache.holds(GRAPH, "second")
    assert cache.holds(GRAPH, "first")  # of another ontology with the same labels
    cache.drop(GRAPH.digest)
    assert not cache.holds(GRAPH, "first")
    assert not cache.holds(GRAPH, "second")


def damage_of(folder: Path) -> dict[str, object]:
    """Every kind of damage, as a function that does it to the files of one index."""
    (content,) = contents(folder)
    (document,) = (folder / "index").glob("*.json")
    data = content.read_bytes()
    flipped = bytearray(data)
    flipped[-1] ^= 1
    other = open_store(str(folder)).put_arrays(*LabelIndex.to_arrays(LabelGraph.grid((2, 2))))
    old = f'{{"format": "labelgrove/labelindex/0", "annotations": "", "sha256": "{content.name}"}}'
    return {
        "missing content": content.unlink,
        "missing document": document.unlink,
        "empty": lambda: content.write_bytes(b""),
        "cut short": lambda: content.write_bytes(data[: len(data) // 2]),
        "one bit": lambda: content.write_bytes(flipped),
        "no JSON": lambda: document.write_text("{"),
        "no object": lambda: document.write_text("[]"),
        "no digest": lambda: document.write_text(f'{{"format": "{INDEX_FORMAT}", "annotations": ""}}'),
        "format of another time": lambda: document.write_text(old),
        "another version": lambda: document.write_text(
            f'{{"format": "{INDEX_FORMAT}", "annotations": "", "sha256": "{other}"}}'
        ),
    }


@pytest.mark.parametrize(
    "damage",
    [
        "missing content",
        "missing document",
        "empty",
        "cut short",
        "one bit",
        "no JSON",
        "no object",
        "no digest",
        "format of another time",
        "another version",
    ],
)
def test_a_damaged_index_is_built_again(damage, tmp_path, caplog):
    folder = tmp_path / "labelindex"
    cache = IndexCache(folder)
    cache.open(GRAPH)
    damage_of(folder)[damage]()
    assert not cache.holds(GRAPH)
    caplog.clear()
    assert answers(cache.open(GRAPH)) == answers(LabelIndex.of(GRAPH))
    assert cache.holds(GRAPH)
    silent = damage in ("missing content", "missing document", "format of another time")
    assert ("is built again" in caplog.text) != silent


def test_a_folder_that_cannot_be_written_leaves_the_index_in_memory(tmp_path, caplog):
    folder = tmp_path / "labelindex"
    folder.write_text("a file stands where the folder should be")
    with caplog.at_level(logging.WARNING):
        index = IndexCache(folder).open(GRAPH)
    assert answers(index) == answers(LabelIndex.of(GRAPH))
    assert "is kept in memory" in caplog.text


class Removing(IndexCache):
    """An `IndexCache` whose folder somebody removes between the writing of an index and the tidying."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.folder = folder

    def _remove_oldest(self) -> None:
        shutil.rmtree(self.folder)
        super()._remove_oldest()


def test_a_folder_that_is_removed_meanwhile_leaves_the_index_in_memory(tmp_path, caplog):
    cache = Removing(tmp_path / "labelindex")
    assert answers(cache.open(GRAPH)) == answers(LabelIndex.of(GRAPH))
    assert "is kept in memory" in caplog.text
    assert not cache.holds(GRAPH)
    assert answers(IndexCache(tmp_path / "labelindex").open(GRAPH)) == answers(LabelIndex.of(GRAPH))


def test_only_the_indexes_opened_last_are_kept(tmp_path):
    cache = IndexCache(tmp_path)
    graphs = [LabelGraph.from_edges([], labels=[f"label {i}"]) for i in range(MOST_KEPT + 3)]
    for graph in graphs[:MOST_KEPT]:
        cache.open(graph)
    cache.open(graphs[0])  # in use again
    for graph in graphs[MOST_KEPT:]:
        cache.open(graph)
    assert [cache.holds(graph) for graph in graphs] == [
        True,
        *[False] * 3,
        *[True] * (MOST_KEPT - 1),
    ]
    assert len(list((tmp_path / "index").iterdir())) == MOST_KEPT
