"""Files of Arrow: what a message announces is checked before anything is unpacked."""

from __future__ import annotations

import io
import struct
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from labelgrove.adapter.outputs.formats import arrowfile
from labelgrove.adapter.outputs.outputfiles import OutputFile
from labelgrove.ontology.errors import InputError

P = np.random.default_rng(0).dirichlet(np.ones(3), 40)
COLUMNS = {name: P[:, i] for i, name in enumerate("abc")}
ZEROS = np.zeros(100_000)


def arrow(columns, *, file=False, compression=None, rows=7):
    table, sink = pa.table(columns), io.BytesIO()
    new = pa.ipc.new_file if file else pa.ipc.new_stream
    with new(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(table, max_chunksize=rows)
    return sink.getvalue()


def lists(values, mask=None):
    return pa.FixedSizeListArray.from_arrays(pa.array(values), 2, mask=mask)


def read(folder, data, **options):
    path = folder / "p.arrow"
    path.write_bytes(data)
    return OutputFile(path, **options)


@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
@pytest.mark.parametrize("file", [True, False])
def test_both_forms_are_read_packed_or_not(tmp_path, file, compression):
    found = read(tmp_path, arrow(COLUMNS, file=file, compression=compression))
    assert (found.n_rows, found.columns) == (40, ("a", "b", "c"))
    assert (found.read() == P).all()
    packed = pa.FixedSizeListArray.from_arrays(pa.array(P.ravel()), 3)
    found = read(tmp_path, arrow({"P": packed}, file=file, compression=compression))
    assert (found.n_rows, found.n_columns, found.columns) == (40, 3, None)
    assert all((np.concatenate(list(found.blocks(n))) == P).all() for n in (1, 5, 7, 100))


def test_the_names_of_rows_may_be_packed(tmp_path):
    ids = [f"sample {i}" for i in range(40)]
    found = read(tmp_path, arrow({"id": ids, **COLUMNS}, compression="zstd"), id_column="id")
    assert (list(found.ids()), found.columns) == (ids, ("a", "b", "c"))


def announcing(data, old, new, times=1):
    """Return a stream whose messages announce `new` where they announced `old`."""
    old, new = struct.pack("<q", old), struct.pack("<q", new)
    assert data.count(old) >= times
    return data.replace(old, new, times)


SOUND = arrow(COLUMNS)
FILE = arrow(COLUMNS, file=True)
PACKED = arrow({"a": ZEROS}, compression="zstd", rows=len(ZEROS))
TEXTS = pa.array(["x"] * 40)
REFUSED = {
    "nothing": (b"", "the file is empty"),
    "a text": (b"rows, and more of them", "not a sound .arrow file"),
    "half a message": (SOUND[: len(SOUND) // 2], "not a sound .arrow file"),
    "half a file": (FILE[: len(FILE) // 2], "its end is missing"),
    "only the mark of a file": (b"ARROW1\0\0ARROW1", "not a sound .arrow file"),
    "a dictionary": (arrow({"a": TEXTS.dictionary_encode()}), "column 'a': dtype dictionary"),
    "texts": (arrow({"a": TEXTS}), "column 'a': dtype string given"),
    "truth values": (arrow({"a": [True]}), "column 'a': dtype bool given"),
    "nulls alone": (arrow({"a": pa.nulls(40)}), "column 'a': dtype null given"),
    "decimals": (arrow({"a": pa.array([1], pa.decimal128(5))}), "column 'a': dtype decimal128"),
    "lists of any length": (arrow({"a": [[1.0]]}), "column 'a': dtype list<"),
    "structs": (arrow({"a": [{"b": 1.0}]}), "column 'a': dtype struct<"),
    "lists among columns": (arrow({"a": lists([1.0, 2.0]), "b": [1.0]}), "column 'a': dtype fixed_size_list"),
    "lists of texts": (arrow({"a": lists(["x", "y"])}), "column 'a': dtype fixed_size_list"),
    "lists without numbers": (arrow({"a": pa.array([[]] * 9, pa.list_(pa.float64(), 0))}), "without numbers"),
    "an empty cell": (arrow({"a": [1.0, 2.0], "b": [1.0, None]}), r"row 1, column 1 \('b'\) holds nothing"),
    "an empty cell of a list": (arrow({"a": lists([1.0, 2.0, 3.0, None])}), "row 1, column 1 holds nothing"),
    "an empty cell of many packed ones": (
        arrow({"a": pa.array(ZEROS, mask=ZEROS == 0)}, compression="lz4", rows=len(ZEROS)),
        r"row 0, column 0 \('a'\) holds nothing",
    ),
    "an empty list": (arrow({"a": lists([1.0, 2.0, 3.0, 4.0], pa.array([False, True]))}), "row 1, column 0"),
    "a buffer that claims a terabyte": (
        announcing(PACKED, 8 * len(ZEROS), 1 << 40),
        "1,099,511,627,776 bytes",
    ),
    "one row that unpacks to many": (announcing(PACKED, len(ZEROS), 1, 2), "of 1 rows that would unpack"),
    "fewer than no rows": (announcing(PACKED, len(ZEROS), -5, 2), "of -5 rows"),
    "more rows than numbers": (announcing(arrow({"a": ZEROS}, rows=10**6), len(ZEROS), 10**12, 2), "sound"),
    "very many batches": (arrow({"a": np.zeros(10_001)}, rows=1), "more than 10,000 record batches"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_rows_of_numbers_is_refused(tmp_path, name):
    data, says = REFUSED[name]
    with pytest.raises(InputError, match=says):
        read(tmp_path, data).read()


@pytest.mark.parametrize("ids", [TEXTS.dictionary_encode(), pa.array([["x"]] * 40), pa.nulls(40)])
def test_names_of_rows_are_texts_or_numbers(tmp_path, ids):
    with pytest.raises(InputError, match="column 'id', which names the rows, has type"):
        read(tmp_path, arrow({"id": ids, **COLUMNS}), id_column="id")


@pytest.mark.parametrize("ending", ["arrow", "parquet"])
@pytest.mark.parametrize(
    "ids",
    [
        pa.array([1] * 40, pa.timestamp("ns")),
        pa.array([1] * 40, pa.timestamp("ms", "Mars/Phobos")),
        pa.array([1] * 40, pa.time64("ns")),
        pa.array([2**31 - 1] * 40, pa.date32()),
    ],
    ids=lambda ids: str(ids.type),
)
def test_names_of_rows_that_python_has_no_values_for_are_refused(tmp_path, monkeypatch, ids, ending):
    monkeypatch.setitem(sys.modules, "pandas", None)  # it would hold times to the nanosecond
    path = tmp_path / f"p.{ending}"
    if ending == "arrow":
        path.write_bytes(arrow({"id": ids, **COLUMNS}))
    else:
        pq.write_table(pa.table({"id": ids, **COLUMNS}), path)
    with pytest.raises(InputError, match="column 'id', which names the rows, has a value of type"):
        list(OutputFile(path, id_column="id").ids())


def test_a_dictionary_that_no_column_needs_is_refused_unread(tmp_path):
    coded = arrow({"a": TEXTS.dictionary_encode()})
    messages = list(pa.ipc.MessageReader.open_stream(pa.py_buffer(coded)))
    dictionary = next(one for one in messages if one.type == "dictionary").serialize().to_pybytes()
    (begin,) = struct.unpack_from("<i", SOUND, 4)  # after the schema
    with pytest.raises(InputError, match="encoded as a dictionary"):
        read(tmp_path, SOUND[: 8 + begin] + dictionary + SOUND[8 + begin :])


def test_numbers_in_another_byte_order_are_refused(tmp_path):
    """pyarrow leaves the byte order out of a schema if it is little: let it point to a 1, which means big."""
    head = 8  # bytes in front of the message
    data = bytearray(SOUND)
    table = arrowfile._header(SOUND[head:]) + head
    fields = table - struct.unpack_from("<i", data, table)[0]
    assert struct.unpack_from("<H", data, fields + 4) == (0,)
    one = next(at for at in range(table + 4, len(data), 2) if data[at : at + 2] == b"\1\0")
    struct.pack_into("<H", data, fields + 4, one - table)
    with pytest.raises(InputError, match="byte order of another machine"):
        read(tmp_path, bytes(data))


@pytest.mark.parametrize("file", [True, False])
@pytest.mark.parametrize("compression", [None, "zstd"])
def test_a_changed_byte_is_refused_or_gives_rows(tmp_path, file, compression):
    """A fault of memory would end this process."""
    sound = arrow({"id": [f"{i}" for i in range(40)], **COLUMNS}, file=file, compression=compression)
    rng = np.random.default_rng(len(sound))
    n_read = 0
    for _ in range(400):
        data = bytearray(sound)
        for at in rng.integers(len(data), size=rng.integers(1, 4)):
            data[at] = rng.choice([0, 1, 127, 128, 255, rng.integers(256)])
        try:
            found = read(tmp_path, bytes(data), labels=set("abc"))
            assert len(found.read()) == found.n_rows
            list(found.ids() or ())
        except InputError:
            continue
        n_read += 1
    assert 0 < n_read < 400


BOMB = """
import resource, sys
from labelgrove.adapter.outputs.outputfiles import OutputFile
from labelgrove.ontology.errors import InputError
import pyarrow.ipc
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    OutputFile(sys.argv[1]).read()
except InputError as error:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_a_bomb_takes_no_memory(tmp_path):
    n = (1 << 26) + 12_345
    bomb = arrow({"a": np.zeros(n)}, compression="zstd", rows=n)
    assert len(bomb) < 1 << 17
    path = tmp_path / "bomb.arrow"
    path.write_bytes(announcing(bomb, n, 3, 2))
    done = subprocess.run([sys.executable, "-c", BOMB, str(path)], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 1 << 15  # KiB, of 512 MiB
