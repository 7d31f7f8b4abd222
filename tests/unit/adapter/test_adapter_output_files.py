"""Files of outputs: every format gives the same rows in blocks, and every damaged file is refused."""

import json
import os

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from adapter import Adapter, evaluate
from adapter.calibration import fit_temperature
from adapter.outputfiles import FORMATS, OutputFile
from ontology.errors import GroveError, InputError, NotFoundError
from ontology.labelgraph import LabelGraph
from ontology.safetensors_file import write_safetensors

COLUMNS = ("moss", "oak", "elm")
P = np.random.default_rng(0).dirichlet(np.ones(3), 50)
GRAPH = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree"), ("tree", "plant"), ("moss", "plant")])


def written(folder, ending, values=P):
    path = folder / f"p{ending}"
    if ending == ".npy":
        np.save(path, values)
    elif ending == ".npz":
        np.savez_compressed(path, probs=values, other=np.arange(4))
    elif ending == ".safetensors":
        path.write_bytes(write_safetensors({"probs": values, "other": np.arange(4)}, {}))
    elif ending == ".parquet":
        pq.write_table(pa.table({c: values[:, i] for i, c in enumerate(COLUMNS)}), path, row_group_size=7)
    else:
        lines = [",".join(map(repr, row)) for row in values.tolist()]
        path.write_text("\n".join([",".join(COLUMNS), *lines, "", ""]))
    return path


@pytest.mark.parametrize("ending", FORMATS)
def test_every_format_gives_the_same_rows_as_often_as_asked(ending, tmp_path):
    file = OutputFile(written(tmp_path, ending))
    named = ending in (".csv", ".parquet")
    assert file.columns == (COLUMNS if named else None)
    assert (file.n_columns, file.n_rows) == (3, None if ending == ".csv" else 50)
    for size in (1, 7, 49, 50, 1000):
        blocks = list(file.blocks(size))
        assert max(map(len, blocks)) <= size
        assert (np.concatenate(blocks) == P).all()
    assert (file.read() == P).all()


@pytest.mark.parametrize("ending", FORMATS)
def test_an_evaluation_of_a_file_is_that_of_its_rows(ending, tmp_path):
    adapter = Adapter.from_graph(GRAPH, COLUMNS)
    truth = [GRAPH.keys[i % 5] for i in range(50)]
    file = OutputFile(written(tmp_path, ending))
    assert evaluate(adapter, file, truth) == evaluate(adapter, P, truth)
    fitted = [fit_temperature(given, truth, adapter=adapter, by="ece") for given in (file, P)]
    assert fitted[0] == fitted[1]
    with pytest.raises(InputError, match="49 labels for 50 rows"):
        evaluate(adapter, file, truth[1:])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int32])
def test_numbers_keep_their_type(dtype, tmp_path):
    values = (P * 100).astype(dtype)
    for ending in (".npy", ".npz", ".safetensors"):
        assert OutputFile(written(tmp_path, ending, values)).read().dtype == dtype


def _text(name, text):
    def make(folder):
        (folder / name).write_text(text)
        return folder / name

    return make


def _arrays(name, **arrays):
    def make(folder):
        path = folder / name
        if name.endswith(".npz"):
            np.savez(path, **arrays)
        elif name.endswith(".npy"):
            np.save(path, arrays["p"])
        else:
            path.write_bytes(write_safetensors(arrays, {}))
        return path

    return make


def _table(**columns):
    def make(folder):
        pq.write_table(pa.table(columns), folder / "p.parquet")
        return folder / "p.parquet"

    return make


def _cut(make, keep):
    def cut(folder):
        path = make(folder)
        path.write_bytes(path.read_bytes()[:keep])
        return path

    return cut


WRONG = {
    "an empty csv": (_text("p.csv", ""), r"p\.csv: is empty"),
    "an empty npy": (_text("p.npy", ""), r"p\.npy: not a \.npy file"),
    "an empty npz": (_text("p.npz", ""), r"p\.npz: not a \.npz file"),
    "an empty safetensors": (_text("p.safetensors", ""), r"an empty file"),
    "an empty parquet": (_text("p.parquet", ""), r"p\.parquet: not a \.parquet file"),
    "no header": (_text("p.csv", "1,2\n3,4\n"), r"p\.csv:1: the first line holds numbers alone"),
    "a cell that is no number": (_text("p.csv", "a,b\n1,2\n3,x\n"), r"p\.csv:3: column 'b' holds 'x'"),
    "an empty cell": (_text("p.csv", "a,b\n1,\n"), r"p\.csv:2: column 'b' holds ''"),
    "a row of empty cells": (_text("p.csv", "a,b\n1,2\n,\n3,4\n"), r"p\.csv:3: column 'a' holds ''"),
    "a cell too many": (_text("p.csv", "a,b\n1,2\n\n1,2,3\n"), r"p\.csv:4: 3 cells under a header of 2"),
    "one axis": (_arrays("p.npy", p=np.arange(3.0)), r"holds float64 of shape \(3,\)"),
    "text": (_arrays("p.npy", p=np.array([["a", "b"]])), r"holds <U1 of shape"),
    "no array of two axes": (_arrays("p.npz", a=np.arange(3.0)), r"0 arrays of two axes among 'a'"),
    "two of them": (_arrays("p.safetensors", a=P, b=P), r"2 arrays of two axes.*array=.*--array NAME"),
    "an array by columns": (_arrays("p.npz", a=np.asfortranarray(P)), r"stored column by column"),
    "half an archive": (_cut(_arrays("p.npz", a=P), 700), r"p\.npz: not a \.npz file"),
    "half a safetensors": (_cut(_arrays("p.safetensors", a=P), 700), r"p\.safetensors"),
    "half a parquet": (_cut(_table(a=[1.0]), 90), r"p\.parquet: not a \.parquet file"),
    "a column of text": (_table(a=[1.0], b=["x"]), r"column 'b' holds string"),
    "an empty cell in a table": (_table(a=[1.0, 2.0], b=[1.0, None]), r"row 1, column 'b' is empty"),
}


@pytest.mark.parametrize("name", list(WRONG))
def test_a_damaged_file_is_refused_and_says_where(name, tmp_path):
    make, said = WRONG[name]
    with pytest.raises(InputError, match=said):
        OutputFile(make(tmp_path)).read()


@pytest.mark.parametrize("ending", FORMATS)
def test_a_file_that_is_not_there_is_not_found(ending, tmp_path):
    with pytest.raises(NotFoundError, match="no such file"):
        OutputFile(tmp_path / f"p{ending}")


def test_an_array_is_chosen_by_name(tmp_path):
    for name in ("p.npz", "p.safetensors"):
        path = _arrays(name, a=P, b=2 * P)(tmp_path)
        assert (OutputFile(path, array="b").read() == 2 * P).all()
        with pytest.raises(InputError, match="has no 'c'; it has 'a' of shape"):
            OutputFile(path, array="c")


def test_a_pipe_or_a_folder_is_refused_at_once(tmp_path):
    for ending in FORMATS:
        (tmp_path / f"folder{ending}").mkdir()
        with pytest.raises(GroveError, match="folder"):
            OutputFile(tmp_path / f"folder{ending}")
        os.mkfifo(tmp_path / f"pipe{ending}")
        with pytest.raises(InputError, match=r"a pipe, .*give a file"):
            OutputFile(tmp_path / f"pipe{ending}")


def test_rows_of_a_table_are_counted_over_all_blocks(tmp_path):
    file = OutputFile(_table(a=[1.0, 2.0, 3.0], b=[1.0, 2.0, None])(tmp_path))
    with pytest.raises(InputError, match="row 2, column 'b' is empty"):
        list(file.blocks(1))


@pytest.mark.parametrize("ending", [".npy", ".safetensors"])
def test_of_a_mapped_file_a_block_is_in_memory_at_a_time(ending, tmp_path):
    shape = 1 << 14, 1 << 12  # 256 MiB of float32, none of which is on disk
    path = tmp_path / f"p{ending}"
    if ending == ".npy":
        np.lib.format.open_memmap(path, "w+", np.float32, shape).flush()
    else:
        n = 4 * shape[0] * shape[1]
        head = json.dumps({"p": {"dtype": "F32", "shape": shape, "data_offsets": [0, n]}}).encode()
        path.write_bytes(len(head).to_bytes(8, "little") + head)
        os.truncate(path, 8 + len(head) + n)
    resident = psutil.Process().memory_info
    file, before, most = OutputFile(path), resident().rss, 0
    for block in file.blocks(1 << 10):
        assert not block.any()
        most = max(most, resident().rss - before)
    assert 16 << 20 <= most < 48 << 20  # a block has 16 MiB
