"""Bodies of requests for scores: documents and files that lie about what they hold."""

from __future__ import annotations

import gzip
import io
import json
import struct
from typing import Any

import numpy as np

from tests.unit.service.hostile.hostile_case import Case, get, post
from tests.unit.service.scoring_cases import N_OBSERVED, outputs_of

__all__ = ["CASES"]

_ROUTE = "/v1/bundles/zoo/tree"
_JSON, _NPY, _CSV = "application/json", "application/x-npy", "text/csv"
_SAFETENSORS, _PARQUET = "application/x-safetensors", "application/vnd.apache.parquet"
_ARROW = "application/vnd.apache.arrow.stream"
_VALUES = outputs_of("probabilities", 2)
_SOUND = json.dumps({"rows": _VALUES.tolist()}).encode()
_KEYS = [f"k{i}" for i in range(10, 10 + N_OBSERVED)]


def _body(
    rule: str, says: str, body: bytes, kind: str, *, status: int = 400, type_: str = "input", **headers: str
) -> Case:
    return post(rule, status, type_, says, f"{_ROUTE}/score", body, Content_Type=kind, **headers)


def _rows(rule: str, says: str, rows: Any, *columns: str) -> Case:
    document = {"rows": rows} | ({"columns": list(columns)} if columns else {})
    return _body(rule, says, json.dumps(document).encode(), _JSON)


def _asked(
    rule: str, says: str, query: str, *, status: int = 400, kind: str = "input", route: str = "score"
) -> Case:
    return post(rule, status, kind, says, f"{_ROUTE}/{route}?{query}", _SOUND, Content_Type=_JSON)


def _npy(values: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, np.asarray(values), allow_pickle=True)
    return file.getvalue()


def _npy_head(described: str, content: bytes = b"", version: bytes = b"\x01\x00") -> bytes:
    head = described.encode().ljust(117) + b"\n"
    return b"\x93NUMPY" + version + struct.pack("<H", len(head)) + head + content


def _safetensors(head: Any, content: bytes = b"", *, length: int | None = None) -> bytes:
    text = head if isinstance(head, bytes) else json.dumps(head).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + content


def _tensor(
    dtype: str = "F64", shape: Any = (1, N_OBSERVED), offsets: Any = (0, 8 * N_OBSERVED)
) -> dict[str, Any]:
    return {"outputs": {"dtype": dtype, "shape": shape, "data_offsets": offsets}}


def _parquet(columns: dict[str, Any], **options: Any) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink, **options)
    return sink.getvalue()


def _arrow(columns: dict[str, Any], compression: str | None = None) -> bytes:
    import pyarrow as pa

    sink, table = io.BytesIO(), pa.table(columns)
    with pa.ipc.new_stream(
        sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)
    ) as file:
        file.write_table(table)
    return sink.getvalue()


def _announcing(data: bytes, old: int, new: int) -> bytes:
    """Return a file whose header says `new` where it said `old`."""
    return data.replace(struct.pack("<q", old), struct.pack("<q", new))


def _csv(*rows: str) -> bytes:
    return "\n".join([",".join(_KEYS), *rows, ""]).encode()


_ONE = np.full((1, N_OBSERVED), 1 / N_OBSERVED).tobytes()
_LINE = ",".join(["0.1"] * N_OBSERVED)
CASES = [
    _body("a type of body that nobody knows", "send one of application/json", b"x", "text/plain"),
    _body(
        "a pickled object as the body", "send one of application/json", b"\x80\x04N.", "application/x-pickle"
    ),
    _body(
        "a body compressed by gzip",
        "gzip",
        gzip.compress(_SOUND),
        _JSON,
        status=415,
        type_="encoding",
        Content_Encoding="gzip",
    ),
    _body(
        "a bomb of gzip",
        "gzip",
        gzip.compress(b"\0" * (1 << 24)),
        _NPY,
        status=415,
        type_="encoding",
        Content_Encoding="gzip",
    ),
    _body(
        "a body compressed by br", "br", _SOUND, _JSON, status=415, type_="encoding", Content_Encoding="br"
    ),
    _body(
        "a body compressed twice",
        "gzip, gzip",
        _SOUND,
        _JSON,
        status=415,
        type_="encoding",
        Content_Encoding="gzip, gzip",
    ),
    post(
        "a pasted row of two megabytes",
        400,
        "input",
        "characters given; paste one row, in at most",
        f"{_ROUTE}/row",
        b"k10: 1\n" * 299_593 + b"\n",
        Content_Type="text/plain",
    ),
    _body("rows that are not JSON", "body: ", b"rows", _JSON),
    _body("rows of text", "body: ", b'{"rows": [["a"]]}', _JSON),
    _body("rows that are not there", "missing required field", b"{}", _JSON),
    _body("rows of brackets", "body: ", b'{"rows": ' + b"[" * 100_000, _JSON),
    _body(
        "rows of a number of a thousand digits",
        "body: Number out of range - at `$.rows[0][0]`; send a",
        b'{"rows": [[' + b"9" * 1_000 + b"]]}",
        _JSON,
    ),
    _body("rows of not-a-number", "body: ", b'{"rows": [[NaN]]}', _JSON),
    _body("columns that are a text", "body: ", b'{"rows": [[1]], "columns": "k10"}', _JSON),
    _rows("ragged rows", "the same number", [[1], [1, 2]]),
    _rows("rows of fewer columns", "2 columns", [[1, 2]]),
    _rows("rows without numbers", "a row without numbers", [[]] * 9),
    _rows("a row of nothing but zeros", "sums to 0", [[0] * N_OBSERVED]),
    _rows("a negative probability", "negative", [[-1] + [1] * (N_OBSERVED - 1)]),
    _rows(
        "a number beyond all numbers",
        "P: row 0 sums to inf; the weights of a row must sum to at",
        [[1e308 * 10] * N_OBSERVED] if False else [[1e308] * N_OBSERVED],
    ),
    _rows("columns of nobody", "nobody", [[1]], "nobody"),
    _rows("one column twice", "k10", [[1.0] * N_OBSERVED], *["k10"] * N_OBSERVED),
    _rows(
        "columns without some", "2 columns cannot be bound to 7 labels (by auto):", [[1.0, 2.0]], "k10", "k11"
    ),
    _rows("far more columns than labels", "columns: 1,001 given", [[1]], *["nobody"] * 1_001),
    _body(
        "a header of far more columns",
        "columns: 1,002 given",
        b"nobody," * 1_001 + b"k10\n" + b"1," * 1_001 + b"1\n",
        _CSV,
    ),
    _body("a table of words", "body.csv", _csv("a," * 6 + "b"), _CSV),
    _body("a table with a longer row", "body.csv", _csv(_LINE, _LINE + ",1"), _CSV),
    _body("a table with a shorter row", "body.csv", _csv(_LINE, "0.1"), _CSV),
    _body("a table with an open quote", "body.csv", _csv('"' + _LINE), _CSV),
    _body("a table that is not UTF-8", "body.csv", b"\xff\xfe\x00" + _csv(_LINE), _CSV),
    _body("a table with a NUL", "body.csv", _csv("0.1\0," + _LINE), _CSV),
    _body(
        "a table with a column twice",
        "1 of 2 columns cannot be bound to 7 labels (by auto):",
        b"k10,k10\n1,1\n",
        _CSV,
    ),
    _body("a table of nothing", "body.csv", b"", _CSV),
    _body(
        "a table of an infinite number",
        "body.csv: row 0, column 0 ('k10') holds inf; a row must",
        _csv(_LINE.replace("0.1", "inf")),
        _CSV,
    ),
    _body("an array of objects", "body.npy", _npy(np.array([[{}] * N_OBSERVED], dtype=object)), _NPY),
    _body(
        "an array whose header is a program", "body.npy", _npy_head("__import__('os').system('true')"), _NPY
    ),
    _body("an array whose header is not a dict", "body.npy", _npy_head("[1, 2]"), _NPY),
    _body(
        "an array without a shape", "body.npy", _npy_head("{'descr': '<f8', 'fortran_order': False}"), _NPY
    ),
    _body(
        "an array of a negative shape",
        "body.npy",
        _npy_head("{'descr': '<f8', 'fortran_order': False, 'shape': (-1, 7), }"),
        _NPY,
    ),
    _body(
        "an array that says it has 10^12 rows",
        "body.npy",
        _npy_head("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000, 7), }", _ONE),
        _NPY,
    ),
    _body(
        "an array of a shape that overflows",
        "body.npy",
        _npy_head(f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({2**62}, 7), }}"),
        _NPY,
    ),
    _body(
        "an array with a record in each cell",
        "body.npy",
        _npy_head("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1, 7), }", _ONE),
        _NPY,
    ),
    _body("an array of texts", "body.npy", _npy(np.array([["a"] * N_OBSERVED])), _NPY),
    _body(
        "an array of dates", "body.npy", _npy(np.array([["2020-01-01"] * N_OBSERVED], dtype="M8[D]")), _NPY
    ),
    _body("an array of complex numbers", "body.npy", _npy(np.ones((1, N_OBSERVED), dtype=complex)), _NPY),
    _body(
        "an array of three axes",
        "body.npy: shape (1, 1, 7) given; give two axes, samples x",
        _npy(np.ones((1, 1, N_OBSERVED))),
        _NPY,
    ),
    _body(
        "an array of no axes",
        "body.npy: shape () given; give two axes, samples x columns",
        _npy(np.float64(1)),
        _NPY,
    ),
    _body("an array of another width", "columns", _npy(np.ones((1, N_OBSERVED + 1))), _NPY),
    _body("an array of not-a-number", "NaN", _npy(np.full((1, N_OBSERVED), np.nan)), _NPY),
    _body("an array of an unknown version", "body.npy", _npy_head("{}", version=b"\x09\x00"), _NPY),
    _body("half an array", "body.npy", _npy(_VALUES)[:-9], _NPY),
    _body("half the head of an array", "body.npy", _npy(_VALUES)[:20], _NPY),
    _body("zeros for an array", "body.npy", bytes(64), _NPY),
    _body("several arrays in an archive", "body.npy", b"PK\x03\x04" + bytes(60), _NPY),
    _body("a header that says it has 2^64 bytes", "body.safetensors", b"\xff" * 16, _SAFETENSORS),
    _body(
        "a header longer than the body",
        "body.safetensors",
        _safetensors(_tensor(), _ONE, length=10_000),
        _SAFETENSORS,
    ),
    _body("a header of no bytes", "body.safetensors", _safetensors(b""), _SAFETENSORS),
    _body("a header that is not JSON", "body.safetensors", _safetensors(b"{nonsense"), _SAFETENSORS),
    _body("a header that is a list", "body.safetensors", _safetensors([]), _SAFETENSORS),
    _body("a header of brackets", "body.safetensors", _safetensors(b'{"a":' + b"[" * 50_000), _SAFETENSORS),
    _body("no tensors", "body.safetensors", _safetensors({}), _SAFETENSORS),
    _body(
        "two tensors",
        "body.safetensors",
        _safetensors(_tensor() | {"b": _tensor(offsets=[56, 112])["outputs"]}, _ONE * 2),
        _SAFETENSORS,
    ),
    _body("a tensor of an unknown type", "body.safetensors", _safetensors(_tensor("F4"), _ONE), _SAFETENSORS),
    _body(
        "a tensor of a shape that is text",
        "body.safetensors",
        _safetensors(_tensor(shape="1,7"), _ONE),
        _SAFETENSORS,
    ),
    _body(
        "a tensor of a negative shape",
        "body.safetensors",
        _safetensors(_tensor(shape=[-1, -7]), _ONE),
        _SAFETENSORS,
    ),
    _body(
        "a tensor of a shape beyond its bytes",
        "body.safetensors",
        _safetensors(_tensor(shape=[10**12, 7]), _ONE),
        _SAFETENSORS,
    ),
    _body(
        "a tensor that begins behind its end",
        "body.safetensors",
        _safetensors(_tensor(offsets=[56, 0]), _ONE),
        _SAFETENSORS,
    ),
    _body(
        "a tensor beyond the body",
        "body.safetensors",
        _safetensors(_tensor(offsets=[0, 560]), _ONE),
        _SAFETENSORS,
    ),
    _body(
        "a tensor without offsets",
        "body.safetensors",
        _safetensors({"outputs": {"dtype": "F64", "shape": [1, 7]}}, _ONE),
        _SAFETENSORS,
    ),
    _body("half a safetensors file", "body.safetensors", _safetensors(_tensor(), _ONE)[:-9], _SAFETENSORS),
    _body("a tensor of other width", "transposed", _safetensors(_tensor(shape=[7, 1]), _ONE), _SAFETENSORS),
    _body("no Parquet between the marks", "body.parquet", b"PAR1" + b"x" * 50, _PARQUET),
    _body("a Parquet file without its end", "body.parquet", _parquet({"k10": [1.0]})[:-4], _PARQUET),
    _body(
        "a Parquet file whose footer lies",
        "body.parquet",
        b"PAR1" + b"x" * 50 + b"\xff\xff\xff\x7fPAR1",
        _PARQUET,
    ),
    _body(
        "a Parquet file of texts",
        "body.parquet: column 'k10': dtype string given; give real",
        _parquet({key: ["a"] for key in _KEYS}),
        _PARQUET,
    ),
    _body(
        "a Parquet file of lists",
        "body.parquet: column 'k10': dtype list<element: double>",
        _parquet({key: [[0.1]] for key in _KEYS}),
        _PARQUET,
    ),
    _body(
        "a Parquet file with a gap",
        "body.parquet: row 0, column 0 ('k10') holds nothing; a row",
        _parquet({key: [None, 0.1] for key in _KEYS}),
        _PARQUET,
    ),
    _body("a Parquet file of nobody's columns", "nobody", _parquet({"nobody": [0.1]}), _PARQUET),
    _body(
        "a Parquet file of 10^8 equal numbers",
        "at most 50,000,000",
        _parquet({key: np.zeros(9_000_000, dtype=np.int8) for key in _KEYS}),
        _PARQUET,
    ),
    _body("a text as Arrow", "body.arrow: not a sound .arrow file", b"rows, and more of them", _ARROW),
    _body("half an Arrow stream", "body.arrow", _arrow({key: [0.1] for key in _KEYS})[:-300], _ARROW),
    _body("only the mark of an Arrow file", "body.arrow", b"ARROW1\0\0ARROW1", _ARROW),
    _body(
        "Arrow of texts",
        "body.arrow: column 'k10': dtype string given; give real",
        _arrow({key: ["a"] for key in _KEYS}),
        _ARROW,
    ),
    _body("Arrow of lists", "column 'k10': dtype list<", _arrow({key: [[0.1]] for key in _KEYS}), _ARROW),
    _body(
        "Arrow with a gap",
        "body.arrow: row 0, column 0 ('k10') holds nothing; a row",
        _arrow({key: [None, 0.1] for key in _KEYS}),
        _ARROW,
    ),
    _body(
        "Arrow with NaN",
        "row 1, column 0",
        _arrow({key: [0.1, float("nan")] for key in _KEYS}),
        _ARROW,
    ),
    _body("Arrow of nobody's columns", "nobody", _arrow({"nobody": [0.1]}), _ARROW),
    _body(
        "Arrow of 6 * 10^7 packed zeros",
        "at most 50,000,000",
        _arrow({key: np.zeros(9_000_000, dtype=np.int8) for key in _KEYS}, "zstd"),
        _ARROW,
    ),
    _body(
        "packed Arrow of few rows that would unpack to many",
        "would unpack to",
        _announcing(_arrow({key: np.zeros(1_000_000) for key in _KEYS}, "zstd"), 1_000_000, 1),
        _ARROW,
    ),
    _body(
        "packed Arrow that claims a terabyte",
        "would unpack to",
        _announcing(_arrow({key: np.zeros(1_000) for key in _KEYS}, "lz4"), 8_000, 1 << 40),
        _ARROW,
    ),
    _body(
        "Arrow that claims rows of a terabyte",
        "at most 50,000,000",
        _announcing(_arrow({key: np.zeros(1_000) for key in _KEYS}), 1_000, 1 << 40),
        _ARROW,
    ),
    _asked("no answers", "top", "top=0"),
    _asked("1,001 answers", "top", "top=1001"),
    _asked("outputs of an unknown kind", "outputs", "outputs=odds"),
    _asked("a temperature of 0", "temperature", "outputs=logits&temperature=0"),
    _asked("a temperature that is not a number", "temperature", "outputs=logits&temperature=nan"),
    _asked("a negative temperature", "temperature", "outputs=logits&temperature=-1"),
    _asked("a temperature of probabilities", "temperature", "temperature=2"),
    _asked("candidates of nobody", "nobody", "candidates=nobody", status=404, kind="unknown-label"),
    _asked(
        "candidates below nobody", "nobody", "candidates=subtree:nobody", status=404, kind="unknown-label"
    ),
    _asked("candidates of 100,002 characters", "at most 100000 characters", "candidates=" + "a," * 50_001),
    _asked("a row that is not there explained", "has 2 rows", "row=2", route="explain"),
    _asked("a row below zero explained", "row", "row=-1", route="explain"),
    post(
        "a bundle of nobody scored",
        404,
        "not-found",
        "there is no bundle 'zoo/nothing'; see /v1/bundles",
        "/v1/bundles/zoo/nothing/score",
        _SOUND,
        Content_Type=_JSON,
    ),
    get(
        "scores asked for by GET",
        405,
        "method-not-allowed",
        "Method Not Allowed; see /reference",
        f"{_ROUTE}/score",
    ),
]
