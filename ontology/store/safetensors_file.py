"""Write safetensors files in canonical bytes, and read them after a check of the header.

A file consists of the length of its header (8 bytes, little-endian), a JSON header, and the data of the
arrays one after another. The files written here are canonical: arrays are sorted by element size, largest
first, then by name; metadata are sorted; there are no dates; and the header is padded so that the data begin
at a multiple of 64 bytes. Every array is therefore aligned to its element size. The ``safetensors`` library
can read these files, and `read_safetensors` reads the files of that library.
"""

from __future__ import annotations

import json
import math
import mmap
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from labelgrove.ontology.errors import ArtifactError, InputError, counted

__all__ = ["read_safetensors", "safetensors_chunks", "stored_array", "write_safetensors"]

MAX_HEADER_BYTES = 2 * 1024 * 1024
_ALIGNMENT = 64
_DTYPES = {
    "BOOL": np.dtype("?"),
    "U8": np.dtype("u1"),
    "I8": np.dtype("i1"),
    "U16": np.dtype("<u2"),
    "I16": np.dtype("<i2"),
    "F16": np.dtype("<f2"),
    "U32": np.dtype("<u4"),
    "I32": np.dtype("<i4"),
    "F32": np.dtype("<f4"),
    "U64": np.dtype("<u8"),
    "I64": np.dtype("<i8"),
    "F64": np.dtype("<f8"),
}
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}


def safetensors_chunks(arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, str]) -> list[memoryview]:
    """Return the bytes of the file as a list of buffers: the header, then the data of each array.

    Parameters
    ----------
    arrays : mapping of str to ndarray
        Boolean, integer or floating-point arrays of any shape. An array is copied only if it is not
        C-contiguous or not little-endian.
    metadata : mapping of str to str
        Stored under ``__metadata__``.

    Raises
    ------
    InputError
        For a dtype without a safetensors name, or metadata that are not text.
    """
    prepared = {name: _prepared(name, array) for name, array in arrays.items()}
    order = sorted(prepared, key=lambda name: (-prepared[name].itemsize, name))
    header: dict[str, Any] = {"__metadata__": dict(sorted(_checked_metadata(metadata).items()))}
    begin = 0
    for name in order:
        array = prepared[name]
        header[name] = {
            "dtype": _NAMES[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [begin, begin + array.nbytes],
        }
        begin += array.nbytes
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=True).encode()
    text += b" " * (-(8 + len(text)) % _ALIGNMENT)
    if len(text) > MAX_HEADER_BYTES:
        raise InputError(
            f"arrays: their header takes {len(text)} bytes, but readers accept at most {MAX_HEADER_BYTES}; "
            "write fewer arrays or less metadata"
        )
    head = memoryview(struct.pack("<Q", len(text)) + text)
    return [head, *(prepared[name].reshape(-1).view(np.uint8).data for name in order)]


def write_safetensors(arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, str]) -> bytes:
    """Return the canonical bytes of a safetensors file; equal arrays and metadata give equal bytes.

    Examples
    --------
    >>> data = write_safetensors({"a": np.arange(3, dtype=np.int16)}, {"unit": "edges"})
    >>> arrays, metadata = read_safetensors(data)
    >>> arrays["a"].tolist(), metadata
    ([0, 1, 2], {'unit': 'edges'})
    """
    return b"".join(safetensors_chunks(arrays, metadata))


def read_safetensors(
    buffer: bytes | memoryview | mmap.mmap, *, name: str = "safetensors data"
) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
    """Return the arrays and the metadata of a safetensors file.

    Parameters
    ----------
    buffer : bytes, memoryview or mmap
        The whole file. The arrays are read-only views of it: nothing is copied, and each array keeps the
        buffer alive.
    name : str
        Name of the file in messages.

    Raises
    ------
    ArtifactError
        For a header that is cut off, too long or not JSON, or that contains a name twice; an unknown dtype;
        offsets that are outside the file, overlap or leave a gap; a shape that does not match its offsets.
        Memory is never allocated for a size that only the header claims, such as 4 TiB.
    """
    view = memoryview(buffer).toreadonly()
    entries, metadata, start = _header(view, name)
    arrays: dict[str, NDArray[Any]] = {}
    expected = 0
    data = view[start:]
    for key, dtype, shape, begin, end in sorted(entries, key=lambda entry: (entry[3], entry[4])):
        if begin != expected:
            fault = (
                "overlaps the array before it" if begin < expected else "leaves a gap before its first byte"
            )
            raise ArtifactError(
                f"{name}: array {key!r} begins at byte {begin}, expected {expected}; it {fault}"
            )
        expected = end
        if end > len(data):
            raise ArtifactError(
                f"{name}: array {key!r} ends at byte {end} of the data, which have only {len(data)} bytes; "
                "the file is cut short, or its header is wrong"
            )
        arrays[key] = np.ndarray(shape, dtype=dtype, buffer=data[begin:end] if end > begin else b"")
    if expected != len(data):
        over = counted(len(data) - expected, "byte")
        raise ArtifactError(f"{name}: {over} after the last array, where a file must end")
    return arrays, metadata


def stored_array(
    arrays: Mapping[str, NDArray[Any]],
    name: str,
    dtypes: DTypeLike | tuple[DTypeLike, ...],
    shape: tuple[int | None, ...] = (None,),
) -> NDArray[Any]:
    """Return the array `name` of a file, after checking its dtype and shape.

    Parameters
    ----------
    arrays : mapping of str to ndarray
        The arrays of the file.
    name : str
        Name of the array.
    dtypes : dtype, or tuple of dtypes
        The allowed dtypes.
    shape : tuple of int or None
        The required length of each axis; None allows any length.

    Raises
    ------
    InputError
        If the array is missing, or has another dtype or shape. The message does not name the file; callers
        add its name.

    Examples
    --------
    >>> stored_array({"a": np.zeros((2, 3), np.int32)}, "a", np.int32, (None, 4))
    Traceback (most recent call last):
    ...
    labelgrove.ontology.errors.InputError: a has shape (2, 3), expected (any, 4)
    """
    if name not in arrays:
        raise InputError(f"array {name!r} is missing")
    array = arrays[name]
    allowed = [np.dtype(dtype) for dtype in (dtypes if isinstance(dtypes, tuple) else (dtypes,))]
    if array.dtype not in allowed:
        raise InputError(f"{name} has dtype {array.dtype}, expected {' or '.join(map(str, allowed))}")
    if array.ndim != len(shape) or any(n not in (None, m) for m, n in zip(array.shape, shape, strict=True)):
        expected = ", ".join("any" if n is None else str(n) for n in shape)
        raise InputError(f"{name} has shape {array.shape}, expected ({expected})")
    return array


# ---- building blocks -----------------------------------------------------------------------------------


def _prepared(name: str, array: NDArray[Any]) -> NDArray[Any]:
    if not isinstance(name, str) or not name or name == "__metadata__":
        raise InputError(f"arrays: {name!r} is not an array name; use text other than '__metadata__'")
    array = np.asarray(array)
    dtype = array.dtype.newbyteorder("<")
    if dtype not in _NAMES:
        raise InputError(
            f"array {name!r}: dtype {array.dtype} has no safetensors name; use one of {list(_DTYPES)}"
        )
    return np.ascontiguousarray(array, dtype=dtype).reshape(array.shape)


def _checked_metadata(metadata: Mapping[str, str]) -> Mapping[str, str]:
    for key, value in metadata.items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise InputError(f"metadata: {key!r}: {value!r} given; key and value must be text")
    return metadata


def _header(
    view: memoryview, name: str
) -> tuple[list[tuple[str, np.dtype[Any], tuple[int, ...], int, int]], dict[str, str], int]:
    """Check the header; return its entries, the metadata, and the position of the first byte of data.

    Each entry describes one array by a tuple (name, dtype, shape, begin, end), in which begin and end are
    byte positions in the data.
    """
    if len(view) < 8:
        raise ArtifactError(
            f"{name}: has only {counted(len(view), 'byte')}; a safetensors file has at least 8"
        )
    (length,) = struct.unpack("<Q", view[:8])
    if length > min(MAX_HEADER_BYTES, len(view) - 8):
        raise ArtifactError(
            f"{name}: its header claims {length} bytes, which is more than the rest of the file "
            f"({len(view) - 8} bytes) or more than the limit for headers ({MAX_HEADER_BYTES} bytes)"
        )
    try:
        header = json.loads(view[8 : 8 + length].tobytes().decode(), object_pairs_hook=_without_repeats)
    except (ValueError, RecursionError) as error:
        raise ArtifactError(f"{name}: its header is not the JSON of a safetensors file ({error})") from None
    if not isinstance(header, dict):
        raise ArtifactError(f"{name}: its header is a JSON {type(header).__name__}, expected an object")
    metadata = header.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise ArtifactError(f"{name}: __metadata__ must map text to text")
    return [_entry(name, key, value) for key, value in header.items()], metadata, 8 + length


def _entry(name: str, key: str, value: Any) -> tuple[str, np.dtype[Any], tuple[int, ...], int, int]:
    if not isinstance(value, dict) or value.keys() != {"dtype", "shape", "data_offsets"}:
        raise ArtifactError(f"{name}: array {key!r} must have dtype, shape and data_offsets and nothing else")
    dtype = _DTYPES.get(value["dtype"]) if isinstance(value["dtype"], str) else None
    if dtype is None:
        raise ArtifactError(
            f"{name}: array {key!r} has dtype {value['dtype']!r}; known are {', '.join(_DTYPES)}"
        )
    shape, offsets = value["shape"], value["data_offsets"]
    if not _counts(shape) or len(shape) > 32:
        raise ArtifactError(
            f"{name}: array {key!r} has shape {shape!r}; expected at most 32 whole numbers >= 0"
        )
    if not _counts(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
        raise ArtifactError(f"{name}: array {key!r} has data_offsets {offsets!r}; expected [begin, end]")
    size = dtype.itemsize
    for length in shape:
        size *= length
    if size != offsets[1] - offsets[0]:
        raise ArtifactError(
            f"{name}: array {key!r} of shape {shape} and dtype {value['dtype']} needs {size} bytes, "
            f"but its offsets span {offsets[1] - offsets[0]} bytes"
        )
    if math.prod((dtype.itemsize, *(max(length, 1) for length in shape))) >= 2**63:  # empty but too long
        raise ArtifactError(f"{name}: array {key!r} has shape {shape}, which no array can have")
    return key, dtype, tuple(shape), offsets[0], offsets[1]


def _counts(value: Any) -> bool:
    """Return whether `value` is a list of whole numbers from 0 to 2^63 - 1."""
    return isinstance(value, list) and all(type(v) is int and 0 <= v < 2**63 for v in value)


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name appears twice")
    return found
