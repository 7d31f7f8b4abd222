"""Artifacts that somebody forged: whatever a file holds, it reads to a sound object or raises a typed error.

The sha256 of a forged file is right: it is that of the forged bytes. Mutants are drawn with a seed, each by a
rule of its own, and what is read is used through and through.
"""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from labelgrove.adapter import Adapter, Bundle, build_bundle
from labelgrove.ontology.errors import ArtifactError, GroveError
from labelgrove.ontology.geometry import locus, metric_space, minimum_locus_cover, select_classes, summarize
from labelgrove.ontology.keys import Texts
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.results.documents import pack_document, read_document
from labelgrove.ontology.store.artifacts import open_store
from labelgrove.ontology.store.safetensors_file import read_safetensors, write_safetensors
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers.kinds.cover import pack_cover, read_cover
from labelgrove.workers.kinds.distances import pack_distances, read_distances
from labelgrove.workers.kinds.locus.file import pack_locus, read_locus
from labelgrove.workers.kinds.selection import pack_selection, read_selection
from labelgrove.workers.kinds.summary import pack_summary, read_summary
from tests.integration.workers_support import add_version, settings_in

N_MUTANTS = 300
Arrays = dict[str, np.ndarray[Any, Any]]
Metadata = dict[str, str]

GRAPH = LabelGraph.from_edges(
    [
        ("oak", "tree"),
        ("elm", "tree"),
        ("tree", "plant"),
        ("moss", "plant"),
        ("ahörn", "tree"),
        ("elm", "plant"),
    ],
    weights=[1.0, 2.0, 0.5, 3.0, 1.5, 1.0],
    ranks=[0, 0, 0, 0, 0, 1],
    names={"oak": "Eiche", "elm": "Ulme 🌳"},
)
GRID = LabelGraph.grid((3, 3))
DECIMALS = LabelGraph.from_edges(
    [(f"n{i}", f"n{(i + 1) % 9}") for i in range(9)] + [("n0", "n4")],
    weights=[0.1 * (i + 3) for i in range(10)],
    directed=False,
)
SOME = ["oak", "moss", "plant"]


# ---- what can be forged ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Forgery:
    """An artifact, how it is read, and what a reader's answer is used for."""

    packed: tuple[Mapping[str, Any], Mapping[str, str]]
    read: Callable[[Any, str], Any]
    use: Callable[[Any], object]


def use_graph(graph: LabelGraph) -> None:
    keys = list(graph.keys)
    assert len(set(keys)) == len(keys) == graph.n_labels > 0
    assert graph.keys.indices(keys).tolist() == list(range(len(keys)))
    assert len(list(graph.names)) == len(keys)
    assert all(0 < w < math.inf and c != p for c, p, w, _ in graph.edges())
    assert len({(c, p) for c, p, _, _ in graph.edges()}) == graph.n_edges
    if graph.directed:
        assert len(graph.depth) == len(keys)
        graph.descendants(keys[0])
        assert set(graph.roots) <= set(keys)
    assert set(graph.leaves) <= set(keys)
    assert graph.n_components >= 1
    assert graph.shape is None or math.prod(graph.shape) == len(keys)
    again = LabelGraph.from_arrays(*read_safetensors(write_safetensors(*graph.to_arrays())))
    assert list(again.keys) == keys
    for metric in ("auto", "tree", "graph"):
        with suppress(GroveError):
            metric_space(graph, metric).distances()


def use_bundle(bundle: Bundle) -> None:
    try:
        adapter = Adapter(bundle)
    except ArtifactError:  # loops among parents are found where the tree is built
        assert bundle.kind == "tree"
        return
    rows = np.eye(adapter.n_observed)
    assert len(adapter.predict(rows)) == len(rows)
    assert set(adapter.observed) <= set(bundle.points)
    assert list(bundle.names)
    bundle.inspect()


def use_locus(found: Any) -> None:
    assert set(found.unique) <= set(found.members)
    assert all(min(w) >= 0 < max(w) and len(w) == len(found.observed) for w in found.witnesses)
    assert all(found.witness(key) for key in found.members)
    assert found.tolerance >= 0


def use_cover(found: Any) -> None:
    assert len(set(found.keys)) == len(found.keys) > 0
    assert found.gap >= 0
    assert (found.status == "exact") == (found.gap == 0)


def use_selection(found: Any) -> None:
    assert len(set(found.keys)) == len(found.keys)
    assert (found.gains >= 0).all()
    assert found.gains.sum() <= found.upper_bound
    assert found.spent >= 0
    found.sizes.tolist()


def use_summary(found: Any) -> None:
    assert 0 < found.largest_share <= 1
    members = [found.members(s).tolist() for s in range(found.n_supernodes)]
    assert sorted(itertools.chain.from_iterable(members)) == list(range(found.source.n_labels))
    assert len(found.keys) == found.n_supernodes
    assert found.graph().n_labels == found.n_supernodes
    assert (found.diameters >= 0).all()
    bounds = found.distortion([0])
    assert (bounds.lower <= bounds.upper).all()


def use_distances(space: Any) -> None:
    table = space.distances()
    assert (table >= 0).all()
    assert table.shape == (len(list(space.keys)), len(list(space.points)))


def of_graph(graph: LabelGraph) -> Forgery:
    return Forgery(
        graph.to_arrays(), lambda store, digest: LabelGraph.from_arrays(*store.open_arrays(digest)), use_graph
    )


def of_bundle(bundle: Bundle) -> Forgery:
    arrays, metadata = bundle.to_arrays()
    return Forgery(
        (arrays, metadata),
        lambda store, digest: Bundle.from_arrays(*store.open_arrays(digest), name=digest),
        use_bundle,
    )


def of_result(packed: Any, read: Any, use: Any, graph: LabelGraph) -> Forgery:
    return Forgery(packed, lambda store, digest: read(store, digest, graph), use)


def of_locus(graph: LabelGraph, found: Any, method: str = "exact") -> Forgery:
    return of_result(pack_locus(graph, found, method=method), read_locus, use_locus, graph)


def of_cover(space: Any) -> Forgery:
    packed = pack_cover(GRAPH, space, minimum_locus_cover(space), method="minimum")
    return of_result(packed, read_cover, use_cover, GRAPH)


def of_distances(space: Any, columns: Any) -> Forgery:
    packed = pack_distances(GRAPH, space, columns, space.distances(cols=columns))
    return of_result(packed, read_distances, use_distances, GRAPH)


FORGERIES: dict[str, Callable[[], Forgery]] = {
    "hierarchy": lambda: of_graph(GRAPH),
    "grid": lambda: of_graph(GRID),
    "complete": lambda: of_graph(LabelGraph.complete(4)),
    "undirected": lambda: of_graph(DECIMALS),
    "tree bundle": lambda: of_bundle(build_bundle(GRAPH, ["oak", "moss"], metric="tree", labels="leaves")),
    "block bundle": lambda: of_bundle(build_bundle(GRAPH, ["oak", "moss", "plant"], metric="graph")),
    "locus": lambda: of_locus(GRAPH, locus(metric_space(GRAPH, "graph", SOME), ["oak", "moss", "tree"])),
    "locus of a tree": lambda: of_locus(GRAPH, locus(metric_space(GRAPH, "tree"), ["oak", "moss"])),
    "locus of pairs": lambda: of_locus(
        DECIMALS, locus(metric_space(DECIMALS), ["n0", "n3", "n6"], method="pairs"), method="pairs"
    ),
    "cover": lambda: of_cover(metric_space(GRAPH, "tree", "leaves")),
    "selection": lambda: of_result(
        pack_selection(GRID, select_classes(metric_space(GRID), ["0,0"], 3), method="active", seed=0),
        read_selection,
        use_selection,
        GRID,
    ),
    "summary": lambda: of_result(
        pack_summary(summarize(GRID, 3, method="capped", cap=4, seed=1)), read_summary, use_summary, GRID
    ),
    "distances": lambda: of_distances(metric_space(GRAPH, "graph"), np.arange(GRAPH.n_labels)),
    "distances of some": lambda: of_distances(metric_space(GRAPH, "graph", SOME), np.arange(1, 4)),
}


NAMES = tuple(FORGERIES)


# ---- how -------------------------------------------------------------------------------------------------


def forged(draw: np.random.Generator, arrays: Arrays, metadata: Metadata) -> str:
    """Change one thing in place; return by which rule."""
    rules = [*ARRAY_RULES, *METADATA_RULES]
    rule = rules[int(draw.integers(len(rules)))]
    if rule in ARRAY_RULES:
        name = sorted(arrays)[int(draw.integers(len(arrays)))]
        changed = ARRAY_RULES[rule](draw, np.atleast_1d(arrays[name]))
        if changed is None:
            del arrays[name]
        else:
            arrays[name] = changed
        return f"{rule} of {name}"
    name = sorted(metadata)[int(draw.integers(len(metadata)))]
    changed_text = METADATA_RULES[rule](draw, metadata[name])
    if changed_text is None:
        del metadata[name]
    else:
        metadata[name] = changed_text
    return f"{rule} of {name}"


def _one(draw: np.random.Generator, array: Any, value: Any) -> Any:
    """The array with one entry changed, as far as its dtype takes the value."""
    changed = array.copy()
    if changed.size:
        info = np.iinfo(array.dtype) if array.dtype.kind in "iu" else None
        value = (
            value if info is None else int(np.clip(value if math.isfinite(value) else 0, info.min, info.max))
        )
        changed.reshape(-1)[int(draw.integers(changed.size))] = value
    return changed


def _other_dtype(draw: np.random.Generator, array: Any) -> Any:
    others = [
        d for d in (np.int8, np.int32, np.int64, np.uint8, np.float32, np.float64, bool) if d != array.dtype
    ]
    with np.errstate(all="ignore"):
        return array.astype(others[int(draw.integers(len(others)))])


ARRAY_RULES: dict[str, Callable[[np.random.Generator, Any], Any]] = {
    "loss": lambda draw, array: None,
    "another dtype": _other_dtype,
    "one axis more": lambda draw, array: array[None],
    "no axis": lambda draw, array: array.reshape(-1)[0] if array.size else array[None],
    "cut": lambda draw, array: array[: int(draw.integers(len(array) + 1))],
    "emptied": lambda draw, array: array[:0],
    "doubled": lambda draw, array: np.concatenate([array, array]),
    "turned round": lambda draw, array: np.ascontiguousarray(array[::-1]),
    "shuffled": lambda draw, array: draw.permutation(array),
    "one entry below zero": lambda draw, array: _one(draw, array, -1),
    "one entry zero": lambda draw, array: _one(draw, array, 0),
    "one entry one": lambda draw, array: _one(draw, array, 1),
    "one entry small": lambda draw, array: _one(draw, array, int(draw.integers(0, 12))),
    "one entry large": lambda draw, array: _one(draw, array, 2**62),
    "one byte high": lambda draw, array: _one(draw, array, int(draw.integers(128, 256))),
    "one entry not a number": lambda draw, array: _one(draw, array, math.nan),
    "one entry infinite": lambda draw, array: _one(draw, array, math.inf),
    "one entry twice": lambda draw, array: _one(draw, array, array.reshape(-1)[0]) if array.size else array,
    "all alike": lambda draw, array: np.full_like(array, array.reshape(-1)[0]) if array.size else array,
}

METADATA_RULES: dict[str, Callable[[np.random.Generator, str], str | None]] = {
    "loss": lambda draw, text: None,
    "nothing": lambda draw, text: "",
    "more": lambda draw, text: text + "0",
    "another number": lambda draw, text: str(int(draw.integers(-3, 12))),
    "a number of any sort": lambda draw, text: str(
        draw.choice(
            ["nan", "inf", "-1", "1e999", "1_0", "\u0661", " 3", "9" * 5000, "0x3", "-0.0", "1.5", "true"]
        )
    ),
    "a word of any sort": lambda draw, text: str(
        draw.choice(
            ["exact", "lower_bound", "tree", "graph", "complete", "block", "leaves", "grid:3,3", "hierarchy"]
        )
    ),
    "a shape of any sort": lambda draw, text: str(
        draw.choice(
            ["grid:", "grid:0,9", "grid:-3,-3", "grid:9", "grid:3,3,1", "grid:1e1", "grid:99999999999,0"]
        )
    ),
    "a control character": lambda draw, text: text + "\x1b[2J",
}


@pytest.fixture(scope="module")
def store() -> Any:
    return open_store("memory://forged")


# ---- what comes of it ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_a_forged_artifact_reads_to_a_sound_object_or_raises_a_typed_error(name: str, store: Any) -> None:
    forgery, outcomes = FORGERIES[name](), Counter[str]()
    whole = store.put_arrays(*forgery.packed)
    forgery.use(forgery.read(store, whole))
    for seed in range(N_MUTANTS):
        draw = np.random.default_rng([NAMES.index(name), seed])
        arrays, metadata = ({**part} for part in forgery.packed)
        rules = [forged(draw, arrays, metadata) for _ in range(1 + int(draw.integers(4) == 0))]
        digest = store.put_arrays(arrays, metadata)
        try:
            found = forgery.read(store, digest)
        except ArtifactError:
            outcomes["refused"] += 1
        except Exception as error:
            raise AssertionError(f"seed {seed}: {rules} raises {error!r}") from error
        else:
            try:
                forgery.use(found)
            except Exception as error:
                raise AssertionError(f"seed {seed}: {rules} reads, and is not sound: {error!r}") from error
            outcomes["read"] += 1
    assert outcomes["refused"] > N_MUTANTS / 3, outcomes


@pytest.mark.parametrize("name", NAMES)
def test_a_forged_file_of_any_bytes_is_refused_or_read(name: str, store: Any) -> None:
    forgery = FORGERIES[name]()
    data = write_safetensors(*forgery.packed)
    for seed in range(N_MUTANTS):
        draw = np.random.default_rng([99, NAMES.index(name), seed])
        mutant = bytearray(data)
        for _ in range(int(draw.integers(1, 4))):
            mutant[int(draw.integers(len(mutant)))] = int(draw.integers(256))
        if draw.integers(4) == 0:
            del mutant[int(draw.integers(len(mutant))) :]
        digest = store.put_bytes(bytes(mutant))
        try:
            forgery.use(forgery.read(store, digest))
        except ArtifactError:
            continue
        except Exception as error:
            raise AssertionError(f"seed {seed}: {error!r}") from error


def test_a_forged_document_is_refused_or_read(store: Any) -> None:
    data = pack_document({"format": "labelgrove/evaluation/1", "error": 0.5, "rows": [1, 2, {"a": None}]})
    assert read_document(store, store.put_bytes(data))["error"] == 0.5
    for bad in (
        b"[" * 100_000,
        b'{"error": NaN}',
        b'{"error": -Infinity}',
        b"\xff\xfe{",
        b"[]",
        b"",
        b'{"a": 1' * 2,
    ):
        with pytest.raises(ArtifactError):
            read_document(store, store.put_bytes(bad))
    for seed in range(N_MUTANTS):
        draw = np.random.default_rng([98, seed])
        mutant = bytearray(data)
        for _ in range(int(draw.integers(1, 4))):
            mutant[int(draw.integers(len(mutant)))] = int(draw.integers(256))
        try:
            found = read_document(store, store.put_bytes(bytes(mutant)))
        except ArtifactError:
            continue
        json.dumps(found, allow_nan=False)


def test_forged_definitions_are_refused_or_read(tmp_path: Any, monkeypatch: Any) -> None:
    whole = Texts.from_strings(["", "a plant", "hard 🌳", "", "", ""])
    with Workspace.open(settings_in(tmp_path)) as workspace:
        add_version(workspace, "plants", GRAPH)
        version, refused = workspace.catalog.version("plants"), 0
        for seed in range(60):
            metadata = {"format": "labelgrove/definitions/1", "ontology": GRAPH.digest}
            arrays: Arrays = {"definitions.blob": whole.blob, "definitions.offsets": whole.offsets}
            if seed:
                forged(np.random.default_rng([97, seed]), arrays, metadata)
            described = replace(version, annotations_sha256=workspace.artifacts.put_arrays(arrays, metadata))
            monkeypatch.setattr(workspace.catalog, "version", lambda *given, found=described: found)
            try:
                found = workspace.annotations("plants")
            except ArtifactError:
                refused += 1
                continue
            assert found is not None
            assert len(list(found.definitions)) == GRAPH.n_labels
            assert seed or found.definitions[2] == "hard 🌳"
        assert refused > 20


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(layout="grid:2,3"), "layout is 'grid:2,3' with 9 labels"),
        (dict(layout="complete"), "layout is 'complete' with 9 labels and 12 edges"),
        (dict(digest="0" * 63), "digest is '0"),
    ],
)
def test_a_snapshot_is_of_the_shape_that_it_says(change: dict[str, str], message: str) -> None:
    arrays, metadata = GRID.to_arrays()
    with pytest.raises(ArtifactError, match=message):
        LabelGraph.from_arrays(arrays, {**metadata, **change})
