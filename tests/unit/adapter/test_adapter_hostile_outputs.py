"""Files of outputs and truths that are damaged, lie or mean harm: refused at once, in little memory."""

import os
import re
import struct
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse

from labelgrove.adapter import Adapter, evaluate
from labelgrove.adapter.outputs.arrayfiles import load_npy
from labelgrove.adapter.outputs.outputfiles import OutputFile
from labelgrove.adapter.outputs.sparsefiles import read_sparse
from labelgrove.adapter.outputs.truthfile import read_truth
from labelgrove.cli.options.labels import read_keys
from labelgrove.datasets.ownfiles import read_features
from labelgrove.ontology.errors import ArtifactError, InputError, NotFoundError, WeightError
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.store.safetensors_file import read_safetensors, write_safetensors
from tests.unit.adapter.adapter_limits import refused

GRAPH = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree"), ("tree", "plant"), ("moss", "plant")])
P = np.random.default_rng(0).random((3, 3))
MIB = 1 << 20


@pytest.fixture(scope="module", autouse=True)
def _loaded():
    """Load compiled loops and libraries before anything is measured."""
    evaluate(Adapter.from_graph(GRAPH, ["oak", "elm", "moss"]), P, ["oak"] * 3)
    scipy.sparse.csr_matrix(P).check_format()


def used(path, n_truths=3):
    """What `grove evaluate` does with a file of outputs."""
    sparse = read_sparse(path)
    adapter = Adapter.from_graph(GRAPH, ["oak", "elm", "moss"])
    return evaluate(adapter, OutputFile(path) if sparse is None else sparse, ["oak"] * n_truths)


def npy(shape, descr="<f8"):
    text = str({"descr": descr, "fortran_order": False, "shape": shape}).encode() + b"\n"
    return b"\x93NUMPY\x01\0" + struct.pack("<H", len(text)) + text


LONG_HEADER = b"\x93NUMPY\x02\0" + struct.pack("<I", 208 * MIB)


def archive(path, members, n_mib=0, compression=zipfile.ZIP_DEFLATED):
    """An archive of members, each followed by MiB of zeros."""
    with zipfile.ZipFile(path, "w", compression, compresslevel=1) as made:
        for name, head in members:
            with made.open(name, "w") as member:
                member.write(head)
                for _ in range(n_mib):
                    member.write(bytes(MIB))
    return path


def marked(path, local, central, value):
    """The archive with a byte of the headers of every member set."""
    data = bytearray(path.read_bytes())
    for signature, offset in ((b"PK\x03\x04", local), (b"PK\x01\x02", central)):
        for found in re.finditer(re.escape(signature), bytes(data)):
            data[found.start() + offset] = value
    path.write_bytes(bytes(data))
    return path


DENSE = [("P.npy", npy((3, 3)) + P.tobytes())]
LISTED = [
    ("indices.npy", npy((3, 1), "<i8") + np.arange(3).tobytes()),
    ("values.npy", npy((3, 1)) + np.ones(3).tobytes()),
]


@pytest.mark.parametrize("members", [DENSE, LISTED], ids=["dense", "listed"])
@pytest.mark.parametrize("harm", ["encrypted", "unknown compression", "broken deflate", "broken lzma"])
def test_an_archive_that_cannot_be_unpacked_is_refused(members, harm, tmp_path):
    path = tmp_path / "p.npz"
    archive(path, members, compression=zipfile.ZIP_LZMA if harm == "broken lzma" else zipfile.ZIP_DEFLATED)
    if harm == "encrypted":
        marked(path, 6, 8, 1)
    elif harm == "unknown compression":
        marked(path, 8, 10, 99)
    else:
        data = bytearray(path.read_bytes())
        begin = data.find(b".npy") + 4 + (20 if harm == "broken lzma" else 0)
        data[begin : begin + 3] = bytes(255 - byte for byte in data[begin : begin + 3])
        path.write_bytes(bytes(data))
    refused(lambda: used(path), InputError, r"p\.npz: (not a \.npz file|its indices and values)")


def test_listed_outputs_whose_header_is_no_literal_are_refused(tmp_path):
    head = b"\x93NUMPY\x01\0" + struct.pack("<H", 5) + b"((((\n"
    path = archive(tmp_path / "p.npz", [("indices.npy", head), ("values.npy", head)])
    refused(lambda: used(path), InputError, "indices and values cannot be read")


def test_two_arrays_of_one_name_are_refused(tmp_path):
    archive(tmp_path / "p.npz", [("P", DENSE[0][1]), *DENSE])
    refused(lambda: used(tmp_path / "p.npz"), InputError, "two arrays are called 'P'")
    members = [*LISTED, ("values", LISTED[1][1])]
    refused(lambda: used(archive(tmp_path / "q.npz", members)), InputError, "two|called 'values'")


def test_a_header_that_claims_much_is_not_read(tmp_path):
    with open(tmp_path / "p.npy", "wb") as file:
        file.write(LONG_HEADER)
        file.truncate(210 * MIB)
    refused(lambda: used(tmp_path / "p.npy"), InputError, "header claims 218103808 bytes")
    refused(lambda: read_truth(tmp_path / "p.npy"), InputError, "header claims 218103808 bytes")
    path = archive(tmp_path / "p.npz", [("P.npy", LONG_HEADER)], 209)
    refused(lambda: used(path), InputError, "header claims 218103808 bytes")


@pytest.mark.parametrize("shape", [(2**63 - 1, 6), (2**62, 6), (2**64, 2), (-1, 3)])
def test_a_shape_that_no_memory_holds_is_refused_without_a_warning(shape, tmp_path):
    path = tmp_path / "p.npy"
    path.write_bytes(npy(shape) + bytes(64))
    for read in (load_npy, used):
        refused(lambda read=read: read(path), InputError, r"p\.npy: not a \.npy file")


def test_an_archive_that_would_fill_the_memory_is_not_unpacked(tmp_path):
    wide = archive(tmp_path / "wide.npz", [("P.npy", npy((1, 26 * MIB)))], 208)
    refused(lambda: used(wide, n_truths=1), WeightError, "27,262,976 columns given, expected")
    members = [("indices.npy", npy((3, MIB), "<i8")), ("values.npy", npy((3, MIB)))]
    listed = archive(tmp_path / "listed.npz", members, 24)
    refused(lambda: used(listed), InputError, "more than 200 times as many; write it with np.savez")


@pytest.mark.parametrize(
    "change",
    [
        {"indptr": np.array([0, 10**6, 2, 3])},
        {"indptr": np.array([0, -10, 2, 3])},
        {"indices": np.array([0, 1, 10**7])},
        {"indices": np.array([0, 1, -5])},
        {"indices": np.array([0, 1, 10**6]), "format": b"csc"},
        {"shape": np.array([3, 3, 3])},
        {"indptr": np.array([0, 1, 2, -1])},
        {"indices": np.array([0, 1, 1.5])},
        {"indices": np.arange(3) + 0j},
        {"shape": np.array([3.0, np.inf])},
        {"format": 5},
        {"format": b"bsr", "data": np.ones((3, 0, 1))},
        {"format": b"dia", "offsets": np.array([0.5])},
    ],
    ids=[
        *("rows cross", "rows negative", "outside", "negative", "csc", "three axes", "end negative"),
        *("fractions", "complex", "endless", "no format", "blocks without rows", "fraction of a diagonal"),
    ],
)
def test_a_matrix_of_scipy_with_wrong_indices_is_refused(change, tmp_path):
    sound = {"data": np.ones(3), "indices": np.arange(3), "indptr": np.arange(4), "format": b"csr"}
    path = tmp_path / "p.npz"
    np.savez(path, **(sound | {"shape": np.array([3, 3])} | change))
    for read in (used, read_features):
        refused(lambda read=read: read(path), InputError, "not a sparse matrix of scipy")


def test_a_damaged_page_of_a_table_is_refused(tmp_path):
    path = tmp_path / "p.parquet"
    pq.write_table(pa.table({key: np.random.default_rng(0).random(500) for key in ("a", "b", "c")}), path)
    data = bytearray(path.read_bytes())
    data[4:12] = b"\xff" * 8
    path.write_bytes(bytes(data))
    refused(lambda: used(path, 500), InputError, r"p\.parquet: a damaged page .*write it again")


def test_a_table_with_a_name_that_is_no_text_is_refused(tmp_path):
    path = tmp_path / "p.parquet"
    pq.write_table(pa.table({"ééé": [1.0]}), path, store_schema=False)
    path.write_bytes(path.read_bytes().replace("ééé".encode(), b"\xed\xed\xed\xed\xed\xed"))
    refused(lambda: used(path), InputError, "not UTF-8")


def test_a_line_without_end_is_not_read_to_its_end(tmp_path):
    path = tmp_path / "p.csv"
    with open(path, "wb") as file:
        file.truncate(1 << 32)
    refused(lambda: used(path), InputError, r"p\.csv:\d: .*a line of more than")


def test_endless_text_is_not_read_to_its_end(tmp_path):
    with open(tmp_path / "hole.txt", "wb") as file:
        file.truncate(1 << 32)
    refused(lambda: read_truth(tmp_path / "hole.txt"), InputError, "NUL bytes")
    refused(lambda: read_keys(str(tmp_path / "hole.txt")), InputError, "NUL bytes")
    refused(lambda: read_keys("/dev/zero"), InputError, "NUL bytes")


@pytest.mark.parametrize("ending", [".txt", ".csv", ".npy"])
def test_a_truth_in_a_pipe_is_refused_at_once(ending, tmp_path):
    os.mkfifo(tmp_path / f"truth{ending}")
    refused(lambda: read_truth(tmp_path / f"truth{ending}"), InputError, "a pipe, a device")
    with pytest.raises(NotFoundError):
        read_truth(tmp_path / f"none{ending}")


def test_features_in_a_pipe_are_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "x.npz")
    refused(lambda: read_features(tmp_path / "x.npz"), InputError, "a pipe, a device")
    with pytest.raises(NotFoundError):
        read_features(tmp_path / "none.npz")


def test_listed_outputs_that_list_nothing_without_end_are_refused(tmp_path):
    text = b'{"indices":{"dtype":"I64","shape":[1000000000000,0],"data_offsets":[0,0]},'
    text += b'"values":{"dtype":"F64","shape":[1000000000000,0],"data_offsets":[0,0]}}'
    (tmp_path / "p.safetensors").write_bytes(struct.pack("<Q", len(text)) + text)
    refused(lambda: used(tmp_path / "p.safetensors"), WeightError, "at least one entry")


def test_a_long_header_of_a_safetensors_file_is_not_parsed():
    text = b'{"a":[' + b"{}," * 5_000_000 + b"{}]}"
    refused(lambda: read_safetensors(struct.pack("<Q", len(text)) + text), ArtifactError, "header claims")
    assert read_safetensors(write_safetensors({"a": P}, {"b": "x" * MIB}))[1] == {"b": "x" * MIB}
