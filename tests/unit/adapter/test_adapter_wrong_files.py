"""Files that are damaged, lie or mean harm: a typed error that says what to do, at once, in little memory."""

import json
import os
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from labelgrove.adapter import Adapter, Binding
from labelgrove.adapter.bundles.bundle import build_bundle
from labelgrove.ontology.errors import ArtifactError, BindingError, BundleError, InputError, NotFoundError
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.store.artifacts import open_store
from labelgrove.ontology.store.safetensors_file import write_safetensors
from tests.unit.adapter.adapter_limits import refused

ROOT = Path(__file__).parents[3]
GRAPH = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree"), ("moss", "plant"), ("tree", "plant")])
BUNDLE = build_bundle(GRAPH, ["oak", "elm", "moss"])
DATA = write_safetensors(*BUNDLE.to_arrays())


def header_of(data):
    (length,) = struct.unpack("<Q", data[:8])
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def with_header(change):
    """The file with a header that `change` has had its way with."""
    header, body = header_of(DATA)
    text = json.dumps(change(header) or header).encode()
    return struct.pack("<Q", len(text)) + text + body


def with_content(arrays=None, **metadata):
    """A well-formed file that says something else."""
    held, said = BUNDLE.to_arrays()
    held = {name: a for name, a in (held | (arrays or {})).items() if a is not None}
    return write_safetensors(held, {name: v for name, v in (said | metadata).items() if v is not None})


def claim(name, **says):
    return with_header(lambda header: header[name].update(says))


def swapped(name, i, j):
    array = np.array(BUNDLE.to_arrays()[0][name])
    array[[i, j]] = array[[j, i]]
    return {name: array}


HUGE = 2**40
FILES = {
    "empty": (b"", ArtifactError, "the file is empty"),
    "seven bytes": (DATA[:7], ArtifactError, "at least 8"),
    "header cut": (DATA[:100], ArtifactError, "header claims"),
    "body cut": (DATA[:-1], ArtifactError, "cut short"),
    "bytes behind": (DATA + b"\0", ArtifactError, "after the last array"),
    "not a bundle at all": (b"PK\x03\x04" + DATA, ArtifactError, "header claims"),
    "a pickle": (b"\x80\x04\x95\0\0\0\0\0\0\0\0cposix\nsystem\n", ArtifactError, "header claims"),
    "header of 4 EiB": (struct.pack("<Q", 2**62) + DATA[8:], ArtifactError, "header claims"),
    "header no JSON": (struct.pack("<Q", 8) + b"nonsense" + DATA, ArtifactError, "not the JSON"),
    "header deeply nested": (struct.pack("<Q", 10**6) + b"[" * 10**6, ArtifactError, "not the JSON"),
    "name twice in the header": (
        struct.pack("<Q", 15) + b'{"a":1,"a":2}  ' + b"",
        ArtifactError,
        "appears twice",
    ),
    "shape of 8 TiB": (claim("tree.parent", shape=[HUGE, 2]), ArtifactError, "needs .* bytes"),
    "shape and offsets of 4 TiB": (
        claim("tree.parent", shape=[HUGE], data_offsets=[0, 4 * HUGE]),
        ArtifactError,
        "begins at byte|cut short",
    ),
    "shape that overflows": (claim("tree.parent", shape=[2**62, 4]), ArtifactError, "needs .* bytes"),
    "shape negative": (claim("tree.parent", shape=[-1]), ArtifactError, "whole numbers"),
    "shape empty and endless": (
        claim("tree.parent", shape=[0, 2**62, 2**62], data_offsets=[0, 0]),
        ArtifactError,
        "begins at byte|no array can have",
    ),
    "arrays that overlap": (
        with_header(lambda h: h.update({"tree.parent": h["keys.order"]})),
        ArtifactError,
        "overlaps",
    ),
    "dtype of objects": (claim("tree.parent", dtype="O"), ArtifactError, "has dtype 'O'"),
    "dtype of another array": (
        claim("tree.parent", dtype="F32"),
        BundleError,
        "dtype float32, expected int32",
    ),
    "format newer": (
        with_content(format="labelgrove/bundle/3"),
        BundleError,
        "upgrade with: pip install --upgrade",
    ),
    "format endless": (with_content(format="labelgrove/bundle/" + "9" * 5000), BundleError, "upgrade"),
    "format older": (with_content(format="labelgrove/bundle/0"), BundleError, "build the bundle again"),
    "format foreign": (with_content(format="elsewhere/bundle/1"), BundleError, "not a bundle"),
    "format missing": (with_content(format=None), BundleError, "not a bundle"),
    "kind unknown": (with_content(kind="forest"), BundleError, "expected one of tree"),
    "unit unknown": (with_content(unit="miles"), BundleError, "unit is 'miles'"),
    "counts that lie": (with_content(n_points=str(10**15)), BundleError, "but the arrays have 5"),
    "terminal codes": (with_content(ontology="\x1b[2J"), BundleError, "printable"),
    "digest that leaves the folder": (
        with_content(ontology_digest="../" * 20),
        BundleError,
        "64 hexadecimal",
    ),
    "array missing": (with_content({"tree.parent": None}), BundleError, "which are missing"),
    "array foreign": (with_content({"extra": np.zeros(1)}), BundleError, "has no arrays extra"),
    "parent outside": (with_content({"tree.parent": np.full(5, 9, np.int32)}), BundleError, "runs from"),
    "parents in a loop": (
        with_content({"tree.parent": np.array([-1, 2, 1, 0, 0], np.int32)}),
        BundleError,
        "not a tree .*remove the cycle",
    ),
    "observed outside": (with_content({"observed.indices": np.array([0, 1, 7])}), BundleError, "runs from"),
    "observed twice": (with_content({"observed.indices": np.array([1, 1, 2])}), BundleError, "each once"),
    "keys out of order": (with_content(swapped("keys.order", 0, 1)), BundleError, "ascending order"),
    "offsets outside": (
        with_content({"keys.offsets": np.array([0, 2, 4, 6, 8, HUGE])}),
        BundleError,
        "must rise from 0",
    ),
    "keys not UTF-8": (
        with_content({"keys.blob": np.full_like(BUNDLE.points.blob, 0xFF)}),
        BundleError,
        "utf-8",
    ),
    "diameter no number": (with_content(diameter="far"), BundleError, "diameter is 'far'"),
    "diameter that divides to nothing": (
        with_content(diameter="1e-320"),
        BundleError,
        "from 1e-150 to 1e.150",
    ),
    "diameter without end": (with_content(diameter="1e300"), BundleError, "from 1e-150 to 1e.150"),
    "diameter not a number": (with_content(diameter="nan"), BundleError, "diameter is .nan."),
    "metric unknown": (
        with_content(metric="crow"),
        BundleError,
        "metric is .crow., which no tree bundle has",
    ),
    "metric of another kind": (with_content(metric="complete"), BundleError, "which no tree bundle has"),
}


@pytest.mark.parametrize("case", FILES)
def test_a_wrong_file_is_refused(case, tmp_path):
    data, error, match = FILES[case]
    (tmp_path / "b.safetensors").write_bytes(data)
    refused(lambda: Adapter.load(tmp_path / "b.safetensors"), error, match)
    if data:
        store = open_store(str(tmp_path / "store"))
        digest = store.put_bytes(data)
        refused(lambda: Adapter.load(digest, artifacts_url=store.where), error, match)


def test_the_file_that_all_cases_begin_with_is_right(tmp_path):
    (tmp_path / "b.safetensors").write_bytes(with_header(lambda header: None))
    assert Adapter.load(tmp_path / "b.safetensors").predict([[0.5, 0.5, 0.0]]) == ["tree"]
    (tmp_path / "c.safetensors").write_bytes(with_content())
    assert Adapter.load(tmp_path / "c.safetensors").digest == BUNDLE.digest


@pytest.mark.parametrize("position", range(0, len(DATA), 41))
def test_any_byte_that_changed_in_the_store_is_found_out(position, tmp_path):
    store = open_store(str(tmp_path / "store"))
    digest = store.put_bytes(DATA)
    path = store.local_path(digest)
    path.write_bytes(DATA[:position] + bytes([DATA[position] ^ 0x10]) + DATA[position + 1 :])
    refused(
        lambda: Adapter.load(digest, artifacts_url=store.where), ArtifactError, "sha256 .*damaged: delete it"
    )


@pytest.mark.parametrize(
    "uri",
    [
        "../../etc/x",
        "plants/../../x",
        "plants/..",
        "plants/.hidden",
        "/".join([".."] * 9),
        "plants/mine@../../etc/passwd",
        "plants\\mine",
        "C:\\x",
        "plants/mine\0",
        "plants/mine\n",
        "PLANTS/mine",
        "a" * 10_000 + "/mine",
        "plants/mine@" + "0" * 100_000,
        "file://elsewhere/etc/x",
        "file:///etc/x\0",
        "redis://host:6379/0/../../x",
        "s3://bucket/x#sha256=../../x",
    ],
)
def test_a_name_leads_nowhere_else(uri, tmp_path):
    store = open_store(str(tmp_path / "store"))
    store.write_index("plants", {"bundles": {"mine": {"sha256": "0" * 64}}})
    before = sorted(p for p in tmp_path.rglob("*"))
    refused(
        lambda: Adapter.load(uri, artifacts_url=store.where),
        (InputError, NotFoundError, ArtifactError),
        "bundle|no such|cannot be read",
    )
    assert sorted(p for p in tmp_path.rglob("*")) == before


@pytest.mark.parametrize("sha256", ["../../secret", "0" * 63, "0" * 64 + "\n", ["0" * 64], None, "A" * 64])
def test_an_index_cannot_lead_out_of_the_store(sha256, tmp_path):
    store = open_store(str(tmp_path / "store"))
    (tmp_path / "secret").write_bytes(DATA)
    store.write_index("plants", {"bundles": {"mine": {"sha256": sha256}}})
    refused(
        lambda: Adapter.load("plants/mine", artifacts_url=store.where),
        ArtifactError,
        r"plants\.json: bundle 'mine' has sha256",
    )


def test_links_out_of_a_folder_change_nothing(tmp_path):
    """A link is read like the file it leads to: what counts is the digest."""
    store = open_store(str(tmp_path / "store"))
    digest = store.put_bytes(DATA)
    (tmp_path / "other").write_bytes(DATA[:-1] + b"!")
    path = store.local_path(digest)
    path.unlink()
    os.symlink(tmp_path / "other", path)
    refused(lambda: Adapter.load(digest, artifacts_url=store.where), ArtifactError, "sha256")


def test_a_foreign_module_called_adapter_beside_the_data_is_not_run(tmp_path):
    """The folder that bundles lie in is not on the path of modules, and loading adds none."""
    (tmp_path / "b.safetensors").write_bytes(DATA)
    for name in ("adapter.py", "ontology.py", "safetensors.py", "bundle.py"):
        (tmp_path / name).write_text("raise SystemExit('ran foreign code')")
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); from labelgrove.adapter import Adapter; import os\n"
        "os.chdir(sys.argv[2]); before = list(sys.path)\n"
        "print(Adapter.load('b.safetensors').predict([[0.5, 0.5, 0.0]])[0], sys.path == before)"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", program, str(ROOT), str(tmp_path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("tree True\n", "")


def test_other_kinds_of_files_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe.safetensors")
    cases = {
        tmp_path: (ArtifactError, "a folder.*from_pretrained"),
        tmp_path / "pipe.safetensors": (ArtifactError, "cannot be read .*a pipe, a device"),
        "/dev/zero": (ArtifactError, "cannot be read .*a pipe, a device"),
        tmp_path / "absent.safetensors": (NotFoundError, "no such bundle file"),
        f"./{'x' * 5000}": (ArtifactError, "cannot be read"),
    }
    for path, (error, match) in cases.items():
        refused(lambda path=path: Adapter.load(path), error, match)


def test_files_of_bindings_and_folders_keep_to_the_same_limits(tmp_path):
    wide = {"format": "labelgrove/binding/1", "bundle": "", "by": "key"}
    wide["columns"] = [{"column": str(i), "key": str(i)} for i in range(5_000)]
    (tmp_path / "b.json").write_text(json.dumps(wide))
    refused(lambda: Adapter(BUNDLE, Binding.load(tmp_path / "b.json")), BindingError, "is unknown")
    graph = LabelGraph.complete(4_000)
    bundle = build_bundle(graph, graph.keys)
    refused(lambda: Adapter(bundle, [f"class {i}" for i in range(4_000)]), BindingError, "is unknown")
    (tmp_path / "config.json").write_text("[" * 10**6)
    refused(lambda: Adapter.from_pretrained(tmp_path), BundleError, "not JSON")
    with open(tmp_path / "config.json", "wb") as file:
        file.truncate(2**40)
    refused(lambda: Adapter.from_pretrained(tmp_path), ArtifactError, "at most .* are read")
    os.unlink(tmp_path / "config.json")
    os.mkfifo(tmp_path / "config.json")
    refused(lambda: Adapter.from_pretrained(tmp_path), ArtifactError, "cannot be read .*a pipe")
    refused(lambda: Binding.load(tmp_path / "config.json"), BindingError, "cannot be read .*a pipe")
