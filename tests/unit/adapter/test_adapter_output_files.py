"""Files of outputs: every format gives the same rows in blocks, and every damaged file is refused."""

import csv
import json
import os

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from labelgrove.adapter import Adapter, evaluate
from labelgrove.adapter.calibration import fit_temperature
from labelgrove.adapter.outputs.outputfiles import FORMATS, NAMED_FORMATS, OutputFile
from labelgrove.ontology.errors import GroveError, InputError, NotFoundError, WeightError
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.store.safetensors_file import write_safetensors

COLUMNS = ("moss", "oak", "elm")
P = np.random.default_rng(0).dirichlet(np.ones(3), 50)
GRAPH = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree"), ("tree", "plant"), ("moss", "plant")])


def write_arrow(path, table):
    with pa.ipc.new_file(path, table.schema) as file:
        file.write_table(table, max_chunksize=7)


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
    elif ending == ".arrow":
        write_arrow(path, pa.table({c: values[:, i] for i, c in enumerate(COLUMNS)}))
    else:
        lines = [",".join(map(repr, row)) for row in values.tolist()]
        path.write_text("\n".join([",".join(COLUMNS), *lines, "", ""]))
    return path


@pytest.mark.parametrize("ending", FORMATS)
def test_every_format_gives_the_same_rows_as_often_as_asked(ending, tmp_path):
    file = OutputFile(written(tmp_path, ending))
    named = ending in NAMED_FORMATS
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
    "an empty csv": (_text("p.csv", ""), r"p\.csv: the file is empty"),
    "an empty npy": (_text("p.npy", ""), r"p\.npy: not a \.npy file"),
    "an empty npz": (_text("p.npz", ""), r"p\.npz: not a \.npz file"),
    "an empty safetensors": (_text("p.safetensors", ""), r"the file is empty"),
    "an empty parquet": (_text("p.parquet", ""), r"p\.parquet: not a \.parquet file"),
    "no header": (_text("p.csv", "1,2\n3,4\n"), r"p\.csv:1: the first line contains only numbers"),
    "a cell that is no number": (
        _text("p.csv", "a,b\n1,2\n3,x\n"),
        r"p\.csv:3: row 1, column 1 \('b'\) holds 'x'",
    ),
    "an empty cell": (_text("p.csv", "a,b\n1,\n"), r"p\.csv:2: row 0, column 1 \('b'\) holds nothing"),
    "a row of empty cells": (
        _text("p.csv", "a,b\n1,2\n,\n3,4\n"),
        r"p\.csv:3: row 1, column 0 \('a'\) holds nothing",
    ),
    "a cell too many": (
        _text("p.csv", "a,b\n1,2\n\n1,2,3\n"),
        r"p\.csv:4: rows of different lengths \(3 cells under a header of 2\)",
    ),
    "one axis": (_arrays("p.npy", p=np.arange(3.0)), r"shape \(3,\) given; give two axes"),
    "text": (_arrays("p.npy", p=np.array([["a", "b"]])), "dtype <U1 given; give real numbers"),
    "no array of two axes": (
        _arrays("p.npz", a=np.arange(3.0)),
        r"0 arrays of two axes, expected one; the file contains 'a'",
    ),
    "two of them": (_arrays("p.safetensors", a=P, b=P), r"2 arrays of two axes.*array=.*--array NAME"),
    "an array by columns": (_arrays("p.npz", a=np.asfortranarray(P)), r"stored column by column"),
    "half an archive": (_cut(_arrays("p.npz", a=P), 700), r"p\.npz: not a \.npz file"),
    "half a safetensors": (_cut(_arrays("p.safetensors", a=P), 700), r"p\.safetensors"),
    "half a parquet": (_cut(_table(a=[1.0]), 90), r"p\.parquet: not a \.parquet file"),
    "a column of text": (_table(a=[1.0], b=["x"]), "column 'b': dtype string given; give real numbers"),
    "an empty cell in a table": (
        _table(a=[1.0, 2.0], b=[1.0, None]),
        r"row 1, column 1 \('b'\) holds nothing",
    ),
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


IDS = ["007", "", "a,b", 'say "x"', "=1", *(f"sample {i}" for i in range(45))]


def with_ids(folder, ending, name, place, ids=IDS):
    path = folder / f"with-ids{ending}"
    columns = {c: P[:, i].tolist() for i, c in enumerate(COLUMNS)}
    named = list(columns.items())
    named.insert(place, (name, ids))
    if ending == ".parquet":
        table = pa.Table.from_arrays([pa.array(v) for _, v in named], names=[n for n, _ in named])
        pq.write_table(table, path, row_group_size=7)
    elif ending == ".arrow":
        write_arrow(path, pa.table([pa.array(v) for _, v in named], names=[n for n, _ in named]))
    else:
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow([n for n, _ in named])
            writer.writerows(zip(*(v for _, v in named), strict=True))
    return path


@pytest.mark.parametrize("place", [0, 1, 3])
@pytest.mark.parametrize("ending", NAMED_FORMATS)
def test_a_column_may_name_the_samples(ending, place, tmp_path):
    file = OutputFile(with_ids(tmp_path, ending, "sample", place), id_column="sample")
    assert (file.columns, file.n_columns, file.id_column) == (COLUMNS, 3, "sample")
    assert (file.read() == P).all()
    assert all((np.concatenate(list(file.blocks(size))) == P).all() for size in (1, 7, 1000))
    assert list(file.ids()) == list(file.ids()) == IDS
    assert OutputFile(written(tmp_path, ending)).ids() is None


@pytest.mark.parametrize("name", ["id", "ID", "", "__index_level_0__"])
@pytest.mark.parametrize("ending", NAMED_FORMATS)
def test_what_is_called_an_id_names_the_samples_unless_it_is_a_label(ending, name, tmp_path):
    numbers = list(range(50))
    path = with_ids(tmp_path, ending, name, 0, numbers)
    file = OutputFile(path, labels=set(COLUMNS))
    assert (file.columns, file.id_column) == (COLUMNS, name)
    assert list(file.ids()) == [str(i) for i in numbers]
    for label in (OutputFile(path), OutputFile(path, labels={*COLUMNS, name})):
        assert label.columns == (name, *COLUMNS)
        assert label.ids() is None


@pytest.mark.parametrize(
    ("first", "keys"),
    [("0,2,3", ["0", "2", "3"]), ("3, 2,0", ["0", "2", "3"]), ("7", ["7"]), ("-1,0.5", ["0.5", "-1"])],
)
def test_a_first_line_of_numbers_that_are_the_keys_names_the_columns(first, keys, tmp_path):
    (tmp_path / "p.csv").write_text(f"{first}\n{first}\n")
    file = OutputFile(tmp_path / "p.csv", keys=keys)
    assert file.columns == tuple(cell.strip() for cell in first.split(","))
    assert file.read().tolist() == [[float(cell) for cell in first.split(",")]]


@pytest.mark.parametrize(
    ("first", "keys"),
    [
        ("0,2,3", ["0", "2"]),
        ("0,2,3", ["0", "2", "3", "6"]),
        ("0,2,2", ["0", "2", "3"]),
        ("0,2,3.0", ["0", "2", "3"]),
        ("0,1", ["0", "1"]),  # as good a row of probabilities
        ("0.25,1", ["1", "0.25"]),
        ("1", ["1"]),
    ],
)
def test_other_numbers_in_the_first_line_are_no_header(first, keys, tmp_path):
    (tmp_path / "p.csv").write_text(f"{first}\n{first}\n")
    with pytest.raises(InputError, match=r"p\.csv:1: .*only numbers.*add a first column that is called id"):
        OutputFile(tmp_path / "p.csv", keys=keys)


def test_of_two_columns_that_could_name_the_samples_the_id_does(tmp_path):
    (tmp_path / "p.csv").write_text(",id,oak,elm\n0,x,0.5,0.5\n")
    file = OutputFile(tmp_path / "p.csv", labels={"oak", "elm"})
    assert (file.id_column, file.columns) == ("id", ("", "oak", "elm"))


def test_a_fault_beside_a_column_of_ids_is_named_by_its_own_column(tmp_path):
    (tmp_path / "p.csv").write_text("oak,id,elm\n1,x,2\n3,y,z\n")
    with pytest.raises(InputError, match=r"p\.csv:3: row 1, column 1 \('elm'\) holds 'z'"):
        OutputFile(tmp_path / "p.csv", id_column="id").read()
    table = pa.table({"oak": [1.0, None], "id": ["x", "y"], "elm": [1.0, 2.0]})
    pq.write_table(table, tmp_path / "p.parquet")
    with pytest.raises(InputError, match=r"row 1, column 0 \('oak'\) holds nothing"):
        OutputFile(tmp_path / "p.parquet", id_column="id").read()
    with pytest.raises(InputError, match=r"column 'id': dtype string given.*id_column=.*--id-column"):
        OutputFile(tmp_path / "p.parquet")


@pytest.mark.parametrize("ending", FORMATS)
def test_a_column_of_ids_that_is_not_there_is_refused(ending, tmp_path):
    with pytest.raises(InputError, match="id_column"):
        OutputFile(written(tmp_path, ending), id_column="sample")
    (tmp_path / "twice.csv").write_text("id,oak,id\n1,2,3\n")
    with pytest.raises(InputError, match="has 2 columns named 'id'"):
        OutputFile(tmp_path / "twice.csv", id_column="id")


@pytest.mark.parametrize("ending", FORMATS)
def test_a_file_of_another_width_is_refused_by_its_name(ending, tmp_path):
    adapter = Adapter.from_graph(GRAPH, ["oak", "elm"])
    path = written(tmp_path, ending)
    with pytest.raises(WeightError, match=rf"p\{ending}: 3 columns given, expected 2.*oak, elm"):
        evaluate(adapter, OutputFile(path), ["oak"] * 50)


def test_an_array_is_chosen_by_name(tmp_path):
    for name in ("p.npz", "p.safetensors"):
        path = _arrays(name, a=P, b=2 * P)(tmp_path)
        assert (OutputFile(path, array="b").read() == 2 * P).all()
        with pytest.raises(InputError, match="has no array 'c'; name one that it has: 'a' of shape"):
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
    with pytest.raises(InputError, match=r"row 2, column 1 \('b'\) holds nothing"):
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
