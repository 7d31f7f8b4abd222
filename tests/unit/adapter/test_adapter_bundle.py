"""A bundle survives the disk, is named by its bytes, and refuses every file that breaks the format."""

import dataclasses
import hashlib

import numpy as np
import pytest

from labelgrove.adapter import Adapter, open_bundle
from labelgrove.adapter.bundles.bundle import Bundle, build_bundle
from labelgrove.adapter.bundles.bundlechecks import FORMAT
from labelgrove.ontology.errors import (
    ArtifactError,
    BundleError,
    InputError,
    NotFoundError,
    ServiceError,
    SpaceError,
    UnknownLabelError,
)
from labelgrove.ontology.geometry import CompleteSpace, MatrixSpace, metric_space
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.store.artifacts import open_store, write_safetensors

TREE = LabelGraph.from_edges(
    [("oak", "tree"), ("elm", "tree"), ("tree", "plant"), ("moss", "plant")],
    weights=[1.0, 1.5, 2.0, 1.0],
    names={"oak": "Oak", "elm": "Ülme"},
)
GRID = LabelGraph.grid((3, 3))

BUNDLES = {
    "tree": lambda: build_bundle(TREE, ["oak", "moss"], ontology={"name": "plants", "digest": TREE.digest}),
    "leaves": lambda: build_bundle(TREE, ["tree", "moss"], labels="leaves"),
    "grid": lambda: build_bundle(GRID, ["2,2", "0,0"]),
    "restricted grid": lambda: build_bundle(GRID, ["1,1", "0,0"], labels=["0,0", "2,2", "0,2"]),
    "complete": lambda: build_bundle(LabelGraph.complete(5), ["3", "1"]),
    "restricted complete": lambda: build_bundle(LabelGraph.complete(5), ["3", "1"], labels=["0", "3"]),
    "matrix": lambda: build_bundle(MatrixSpace(np.array([[0.0, 0.3], [0.3, 0.0]]), ["a", "b"]), ["b"]),
}


@pytest.mark.parametrize("name", BUNDLES)
def test_save_and_load_keep_everything(name, tmp_path):
    bundle = BUNDLES[name]()
    path = tmp_path / "one.safetensors"
    assert bundle.save(path) == bundle.digest == hashlib.sha256(path.read_bytes()).hexdigest()
    loaded = open_bundle(path)
    assert loaded.digest == bundle.digest
    assert loaded.inspect() == bundle.inspect()
    assert loaded.inspect()["bytes"] == path.stat().st_size
    assert loaded.observed_keys == bundle.observed_keys
    assert loaded.observed_names == bundle.observed_names
    assert loaded.space().keys == bundle.space().keys
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("name", BUNDLES)
def test_store_and_file_give_one_name(name, tmp_path):
    bundle = BUNDLES[name]()
    assert open_store(str(tmp_path)).put_arrays(*bundle.to_arrays()) == bundle.digest


def test_equal_content_gives_equal_bytes_whatever_the_order_of_the_edges():
    edges = [("oak", "tree"), ("elm", "tree"), ("tree", "plant")]
    one = build_bundle(LabelGraph.from_edges(edges), ["oak", "elm"])
    other = build_bundle(LabelGraph.from_edges(edges[::-1]), ["oak", "elm"])
    assert one.digest == other.digest
    assert build_bundle(LabelGraph.from_edges(edges), ["elm", "oak"]).digest != one.digest


def test_what_each_kind_holds():
    tree, block, complete = (BUNDLES[name]() for name in ("tree", "grid", "complete"))
    assert (tree.kind, tree.n_points, tree.n_labels, tree.diameter) == ("tree", 5, 5, 4.5)
    assert (tree.ontology, tree.ontology_digest) == ("plants", TREE.digest)
    assert tree.observed_names == ("Oak", "moss")
    assert block.kind == "block"
    assert block.distances.dtype == np.uint8
    space = metric_space(GRID)
    assert (block.distances == space.distances(None, space.point_index(["2,2", "0,0"]))).all()
    assert (complete.kind, complete.diameter) == ("complete", 1.0)


def test_observed_labels_may_lie_outside_the_allowed_ones():
    bundle = BUNDLES["restricted grid"]()
    assert bundle.n_labels == 3
    assert bundle.n_points == 4
    assert bundle.observed_keys == ("1,1", "0,0")
    assert bundle.space().keys.take(range(3)) == ("0,0", "0,2", "2,2")
    assert bundle.distances.tolist() == [[2, 0], [2, 2], [2, 4]]


def test_a_block_is_never_rounded():
    graph = LabelGraph.from_edges(
        [("a", "b"), ("b", "c"), ("a", "c")], weights=[0.1, 0.25, 0.3], directed=False
    )
    assert build_bundle(graph, ["a"]).distances.dtype == np.float64
    graph = LabelGraph.from_edges(
        [("a", "b"), ("b", "c"), ("a", "c")], weights=[0.5, 0.25, 0.5], directed=False
    )
    assert build_bundle(graph, ["a"]).distances.dtype == np.float32


def test_a_matrix_without_all_columns_needs_the_diameter():
    space = MatrixSpace(np.array([[0, 2], [2, 0], [3, 1]], dtype=np.uint8), ["a", "b", "c"], ["a", "b"])
    with pytest.raises(SpaceError, match="diameter"):
        build_bundle(space, ["b"])
    bundle = build_bundle(space, ["b"], diameter=3)
    assert bundle.distances.tolist() == [[2], [0], [1]]
    assert bundle.diameter == 3.0


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: build_bundle(TREE, []), InputError, "at least one"),
        (lambda: build_bundle(TREE, "oak"), InputError, "single string"),
        (lambda: build_bundle(TREE, ["oak", "oak"]), InputError, "'oak'"),
        (lambda: build_bundle(TREE, ["oka"]), UnknownLabelError, "'oak'"),
        (lambda: build_bundle(TREE, ["oak"], ontology={"digest": "0" * 64}), InputError, "digest"),
        (lambda: build_bundle(CompleteSpace(["a"]), ["a"], labels="leaves"), InputError, "space has both"),
    ],
)
def test_wrong_arguments_are_refused(call, error, match):
    with pytest.raises(error, match=match):
        call()


# ---- files that break a rule ---------------------------------------------------------------------------


def _with(name, value):
    def change(arrays, metadata):
        arrays[name] = value(arrays[name]) if callable(value) else value

    return change


def _without(name):
    return lambda arrays, metadata: arrays.pop(name)


def _saying(field, value):
    def change(arrays, metadata):
        metadata[field] = value

    return change


def _set(index, value):
    def change(array):
        array = array.copy()
        array[index] = value
        return array

    return change


def _with_one_class_less(arrays, metadata):
    first, label = arrays["groups.first"], arrays["groups.label"]
    arrays["groups.first"] = np.delete(first, 1)
    arrays["groups.label"] = np.concatenate([np.sort(label[: first[2]]), label[first[2] :]])
    arrays["groups.begin"] = _set(-1, arrays["groups.begin"][-1] - 1)(arrays["groups.begin"])


def _with_a_class_turned(arrays, metadata):
    first, label = arrays["groups.first"], arrays["groups.label"].copy()
    at = first[np.flatnonzero(np.diff(first) > 1)[0]]
    label[at : at + 2] = label[at : at + 2][::-1]
    arrays["groups.label"] = label


FAULTS = {
    "foreign format": ("tree", _saying("format", "safetensors/model"), "not a bundle"),
    "newer format": ("tree", _saying("format", "labelgrove/bundle/3"), "upgrade"),
    "format of a block": ("tree", _saying("format", FORMAT), "a tree bundle is 'labelgrove/bundle/1'"),
    "far newer format": ("tree", _saying("format", "labelgrove/bundle/" + "9" * 5000), "upgrade"),
    "older format": ("tree", _saying("format", "labelgrove/bundle/0"), "build the bundle again"),
    "unknown kind": ("tree", _saying("kind", "forest"), "kind is 'forest'"),
    "other unit": ("tree", _saying("unit", "miles"), "unit is 'miles'"),
    "unknown rule": ("tree", _saying("labels", "some"), "labels is 'some'"),
    "negative diameter": ("tree", _saying("diameter", "-1"), "diameter"),
    "diameter no number": ("tree", _saying("diameter", "wide"), "diameter"),
    "diameter nan": ("tree", _saying("diameter", "nan"), "diameter"),
    "short digest": ("tree", _saying("ontology_digest", "abc"), "ontology_digest"),
    "miscounted labels": ("tree", _saying("n_labels", "4"), "n_labels is '4', but the arrays have 5"),
    "miscounted points": ("tree", _saying("n_points", "6"), "n_points"),
    "miscounted observed": ("tree", _saying("n_observed", "1"), "n_observed"),
    "missing field": ("tree", lambda a, m: m.pop("metric"), "'metric' is missing"),
    "terminal escapes": ("tree", _saying("ontology", "a\x1b[2J"), "printable"),
    "no keys": ("tree", _without("keys.blob"), "keys.blob"),
    "no parent": ("tree", _without("tree.parent"), "tree.parent"),
    "no distances": ("grid", _without("block.distances"), "block.distances"),
    "foreign array": ("tree", _with("extra", np.zeros(1)), "extra"),
    "length in a block": ("grid", _with("tree.length", np.ones(9)), "tree.length"),
    "half of the names": ("tree", _without("names.blob"), "come together"),
    "too few names": ("tree", _with("names.offsets", lambda a: np.delete(a, 1)), "4 names for 5 keys"),
    "offsets run back": ("tree", _with("keys.offsets", _set(1, 99)), "offsets"),
    "keys no UTF-8": ("tree", _with("keys.blob", _set(0, 0xFF)), "keys"),
    "character cut": ("tree", _with("names.offsets", lambda a: _cut(a)), "cut a character"),
    "offsets of another type": ("tree", _with("keys.offsets", lambda a: a.astype(np.int32)), "dtype int32"),
    "order no permutation": ("tree", _with("keys.order", _set(0, 1)), "permutation"),
    "order out of range": ("tree", _with("keys.order", _set(0, 9)), "keys.order runs"),
    "order not sorting": ("tree", _with("keys.order", lambda a: a[::-1].copy()), "ascending"),
    "order too short": ("tree", _with("keys.order", lambda a: a[1:]), "keys.order has shape"),
    "parent of another type": ("tree", _with("tree.parent", lambda a: a.astype(np.int64)), "dtype int64"),
    "parent out of range": ("tree", _with("tree.parent", _set(1, 5)), "tree.parent runs"),
    "two roots": ("tree", _with("tree.parent", _set(1, -1)), "2 roots"),
    "length not positive": ("tree", _with("tree.length", _set(2, 0.0)), "tree.length"),
    "length infinite": ("tree", _with("tree.length", _set(2, np.inf)), "tree.length"),
    "nothing allowed": ("leaves", _with("labels.allowed", lambda a: a * 0), "0 of 5"),
    "mask of twos": ("leaves", _with("labels.allowed", lambda a: a * 2), "labels.allowed runs"),
    "mask too long": (
        "leaves",
        _with("labels.allowed", np.ones(9, dtype=np.uint8)),
        "labels.allowed has shape",
    ),
    "nothing observed": ("tree", _with("observed.indices", lambda a: a[:0]), "observed.indices"),
    "observed twice": ("tree", _with("observed.indices", lambda a: a[[0, 0]]), "each once"),
    "observed out of range": ("tree", _with("observed.indices", _set(0, 5)), "observed.indices runs"),
    "observed negative": ("tree", _with("observed.indices", _set(0, -1)), "observed.indices runs"),
    "block of another shape": (
        "grid",
        _with("block.distances", lambda a: a[:, :1]),
        "block.distances has shape",
    ),
    "block of integers": ("grid", _with("block.distances", lambda a: a.astype(np.int64)), "dtype int64"),
    "block with nan": ("grid", _with("block.distances", lambda a: a * np.float64("nan")), "runs from nan"),
    "block negative": ("grid", _with("block.distances", lambda a: a * np.float32(-1)), "not negative"),
    "groups in the first format": ("grid", _saying("format", "labelgrove/bundle/1"), "has no arrays groups"),
    "half of the groups": ("grid", _without("groups.begin"), "needs the arrays groups.begin"),
    "bounds of another dtype": (
        "grid",
        _with("groups.bounds", lambda a: a.astype(np.uint16)),
        "groups.bounds has dtype uint16",
    ),
    "bounds of another shape": (
        "grid",
        _with("groups.bounds", lambda a: a[:, :1]),
        "groups.bounds has shape",
    ),
    "bounds too large": ("grid", _with("groups.bounds", lambda a: a + 1), "groups.bounds must not be above"),
    "bounds nan": ("matrix", _with("groups.bounds", lambda a: a * np.nan), "groups.bounds must not be above"),
    "bounds negative": ("matrix", _with("groups.bounds", lambda a: a - 9), "groups.bounds must not be neg"),
    "largest too small": ("grid", _with("groups.largest", lambda a: a - 1), "groups.largest is not"),
    "begin at nothing": ("grid", _with("groups.begin", _set(0, 0)), "groups.begin must start"),
    "begin wraps": ("grid", _with("groups.begin", _set(0, -1)), "groups.begin must start"),
    "begin too far": ("grid", _with("groups.begin", _set(-1, 2**31 - 1)), "groups.begin must end with"),
    "begin does not rise": ("grid", _with("groups.begin", _set(1, 1)), "groups.begin must start .* rise"),
    "begin too short": ("grid", _with("groups.begin", lambda a: a[:1]), "groups.b"),
    "first miscounted": ("grid", _with("groups.first", _set(-1, 8)), "groups.first must rise"),
    "first does not rise": ("grid", _with("groups.first", _set(1, 0)), "groups.first must rise"),
    "first joins unequal rows": ("grid", _with_one_class_less, "groups.first joins labels"),
    "label out of range": ("grid", _with("groups.label", _set(0, 9)), "groups.label must be within"),
    "label negative": ("grid", _with("groups.label", _set(0, -1)), "groups.label must be within"),
    "label twice": ("grid", _with("groups.label", lambda a: a * 0), "groups.label must contain"),
    "labels of a class turned round": ("grid", _with_a_class_turned, "groups.label must rise"),
    "matrix flattened": ("grid", _with("block.distances", lambda a: a.ravel()), "block.distances has shape"),
}


def _cut(offsets):
    """Move the border between two names into the two bytes of the first letter of 'Ülme'."""
    offsets = offsets.copy()
    names = [TREE.names[i] for i in range(5)]
    offsets[names.index("Ülme")] += 1
    return offsets


@pytest.mark.parametrize("fault", FAULTS)
def test_a_file_that_breaks_a_rule_is_refused_and_says_why(fault, tmp_path):
    source, change, match = FAULTS[fault]
    arrays, metadata = BUNDLES[source]().to_arrays()
    Bundle.from_arrays(arrays, metadata)
    change(arrays, metadata)
    path = tmp_path / "bad.safetensors"
    path.write_bytes(write_safetensors(arrays, metadata))
    with pytest.raises(BundleError, match=match) as caught:
        open_bundle(path)
    assert str(path) in str(caught.value)


def test_a_loop_among_the_parents_is_refused_when_the_space_is_built():
    arrays, metadata = BUNDLES["tree"]().to_arrays()
    arrays["tree.parent"] = np.array([-1, 2, 1, 1, 0], dtype=np.int32)
    with pytest.raises(BundleError, match="not a tree"):
        Bundle.from_arrays(arrays, metadata).space()


def test_cut_and_foreign_files_are_artifact_errors(tmp_path):
    path = tmp_path / "cut.safetensors"
    BUNDLES["tree"]().save(path)
    whole = path.read_bytes()
    for size in (0, 4, 100, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(ArtifactError):
            open_bundle(path)
    path.write_bytes(b"\x80\x04pickled")
    with pytest.raises(ArtifactError):
        open_bundle(path)
    with pytest.raises(ArtifactError, match="folder"):
        open_bundle(tmp_path)
    for unreadable in (path / "below-a-file", tmp_path / ("n" * 300), f"{path}\0"):
        with pytest.raises(ArtifactError, match="cannot be read"):
            open_bundle(unreadable)
    with pytest.raises(NotFoundError):
        open_bundle(tmp_path / "absent.safetensors")
    with pytest.raises(NotFoundError, match="folder"):
        BUNDLES["tree"]().save(tmp_path / "absent" / "b.safetensors")
    with pytest.raises(ServiceError, match=r"cannot be written .*a file that you may write"):
        BUNDLES["tree"]().save(tmp_path)


def test_the_safetensors_library_reads_the_file(tmp_path):
    safetensors = pytest.importorskip("safetensors")
    path = tmp_path / "tree.safetensors"
    bundle = BUNDLES["tree"]()
    bundle.save(path)
    with safetensors.safe_open(path, framework="numpy") as file:
        assert file.metadata()["format"] == "labelgrove/bundle/1"
        assert (file.get_tensor("tree.parent") == bundle.parent).all()


def test_a_loaded_bundle_cannot_be_written_to(tmp_path):
    path = tmp_path / "grid.safetensors"
    BUNDLES["grid"]().save(path)
    with pytest.raises(ValueError, match="read-only"):
        open_bundle(path).distances[0, 0] = 9


def test_the_digest_of_a_known_bundle_stays():
    """A change here is a change of the format: raise FORMAT and the version of the bundle job."""
    assert BUNDLES["tree"]().digest == "b5ed44d262c6120d845502f72fdae7d29036c4d601cab2a0773293f84d5ab2f3"


def test_the_digest_of_a_known_block_stays():
    """A change here is a change of the groups: raise the version of the bundle job."""
    assert BUNDLES["grid"]().digest == "0abae11969deb7ab223363d2cdb42fd956558b8a3787d668debb439e52e54934"


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32, np.float64])
def test_groups_are_saved_and_mapped(dtype, tmp_path):
    rng = np.random.default_rng(7)
    distances = rng.integers(1, 5, (300, 6)).astype(dtype)
    distances[:6] = 1 - np.eye(6)
    keys = [f"{i:03d}" for i in range(300)]
    bundle = build_bundle(MatrixSpace(distances, keys, keys[:6]), keys[:6], diameter=9)
    bundle.save(tmp_path / "block.safetensors")
    loaded = open_bundle(tmp_path / "block.safetensors")
    for name, array in vars(bundle.groups).items():
        mapped = getattr(loaded.groups, name)
        np.testing.assert_array_equal(mapped, array)
        assert not mapped.flags.owndata
        assert not mapped.flags.writeable
    rows = np.exp(4 * rng.standard_normal((50, 6)))
    rows /= rows.sum(axis=1, keepdims=True)
    best = (rows @ np.square(distances.T, dtype=np.float64)).argmin(axis=1)
    assert list(Adapter(loaded).predict(rows)) == [keys[i] for i in best]


def test_a_block_of_the_first_format_keeps_its_bytes_and_answers(tmp_path):
    new = BUNDLES["restricted grid"]()
    old = dataclasses.replace(new, groups=None)
    digest = old.save(tmp_path / "old.safetensors")
    loaded = open_bundle(tmp_path / "old.safetensors")
    assert loaded.groups is None
    assert loaded.digest == digest != new.digest
    assert loaded.inspect()["format"] == "labelgrove/bundle/1"
    rows = [[0.9, 0.1], [0.2, 0.8]]
    assert list(Adapter(loaded).predict(rows)) == list(Adapter(new).predict(rows))
