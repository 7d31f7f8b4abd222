"""Read and write tensors of the Open Inference Protocol, version 2, with its binary extension.

A request is a JSON document. With the header ``Inference-Header-Content-Length``, the document has only that
many bytes, and the contents of tensors that state ``binary_data_size`` follow it, one after the other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from labelgrove.service.problems import Problem
from labelgrove.service.scoring.jsonrows import read_numbers

__all__ = ["DATATYPES", "InferRequest", "Tensor", "Wanted", "read_request", "write_answer"]

DATATYPES = {
    "FP16": "<f2",
    "FP32": "<f4",
    "FP64": "<f8",
    "INT8": "<i1",
    "INT16": "<i2",
    "INT32": "<i4",
    "INT64": "<i8",
    "UINT8": "<u1",
    "UINT16": "<u2",
    "UINT32": "<u4",
    "UINT64": "<u8",
}
"""The datatypes of inputs, as numpy has them."""

_PASSED_OVER = ("BYTES", "BOOL")  # a model before this one may answer them beside its numbers
_WRITTEN = {"<f8": "FP64", "<i8": "INT64"}
_MOST_TENSORS = 16
_MOST_OBJECTS = 100_000
_LONGEST_VALUE = 4 << 20  # bytes of one entry besides the numbers: keys of candidates may be many
_LONGEST_TEXT = 200
_ABSENT = msgspec.Raw(b"null")


class _Document(msgspec.Struct):
    """A request, none of whose entries is decoded yet."""

    inputs: msgspec.Raw = _ABSENT
    outputs: msgspec.Raw = _ABSENT
    parameters: msgspec.Raw = _ABSENT
    id: msgspec.Raw = _ABSENT


class _Described(msgspec.Struct):
    """An input or output, none of whose entries is decoded yet."""

    name: msgspec.Raw = _ABSENT
    datatype: msgspec.Raw = _ABSENT
    shape: msgspec.Raw = _ABSENT
    parameters: msgspec.Raw = _ABSENT
    data: msgspec.Raw = _ABSENT


@dataclass(frozen=True)
class Tensor:
    """An array with its name; `values` has the shape that the request states, or texts in an object array."""

    name: str
    values: NDArray[Any]


@dataclass(frozen=True)
class Wanted:
    """An output that a request names; ``classification`` asks for that many classes as text."""

    name: str
    binary: bool
    classification: int = 0


@dataclass(frozen=True)
class InferRequest:
    """A request: its tensors, the outputs it names (all if none), and its parameters."""

    tensors: list[Tensor]
    wanted: list[Wanted]
    id: str | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    binary: bool = False


def read_request(body: bytes, head_length: str | None, most_values: int) -> InferRequest:
    """Read a request.

    A body that a model before this one answered is accepted as it is: its ``outputs`` are the inputs then.

    Parameters
    ----------
    body : bytes
    head_length : str or None
        Value of the header ``Inference-Header-Content-Length``.
    most_values : int
        Most numbers in all tensors together.

    Raises
    ------
    Problem
        If the request breaks a rule; the message names the tensor, the value and the rule.
    """
    head = memoryview(body)
    rest = memoryview(b"")
    if head_length is not None:
        if not (head_length.isascii() and head_length.isdigit() and len(head_length) < 12):
            raise _wrong(
                f"Inference-Header-Content-Length: {head_length!r:.40} given; give a number of bytes"
            )
        if int(head_length) > len(body):
            raise _wrong(
                f"Inference-Header-Content-Length: {head_length} given for a body of {len(body)} bytes; give "
                "the length of the JSON document at its beginning"
            )
        head, rest = head[: int(head_length)], head[int(head_length) :]
    document = _document(head)
    given, asked = document.get("inputs"), document.get("outputs")
    if given is None and asked is not None:
        given, asked = asked, None
    tensors = []
    for one in given or []:
        if one.get("datatype") in _PASSED_OVER:
            rest = rest[_size(_name(one), one, rest) or 0 :]
            continue
        tensor, rest, most_values = _tensor(one, rest, most_values)
        tensors.append(tensor)
    if not tensors:
        raise _wrong(
            "inputs: no numbers given; send one tensor, such as "
            '{"name": "probabilities", "datatype": "FP32", "shape": [1, 2], "data": [0.5, 0.5]}'
        )
    if len(rest):
        raise _wrong(
            f"body: {len(rest)} bytes are left after the last tensor; let binary_data_size of each tensor be "
            "the number of its bytes"
        )
    parameters = _parameters("request", document)
    binary = parameters.get("binary_data_output") is True
    named = document.get("id")
    if named is not None and not (isinstance(named, str) and len(named) <= _LONGEST_TEXT):
        raise _wrong(f"id: {named!r:.80} given; give text of at most {_LONGEST_TEXT} characters")
    wanted = [_wanted(one, binary=binary) for one in asked or []]
    return InferRequest(tensors, wanted, named, parameters, binary)


def write_answer(head: dict[str, Any], tensors: list[tuple[Tensor, bool]]) -> tuple[bytes, int | None]:
    """Return the body of an answer, and the length of its JSON document if binary contents follow it.

    Parameters
    ----------
    head : dict
        The entries of the document except ``outputs``.
    tensors : list of (Tensor, bool)
        Each with whether its contents are written in binary form.
    """
    described, contents = [], []
    for tensor, binary in tensors:
        values = tensor.values
        is_text = values.dtype == object
        entry: dict[str, Any] = {
            "name": tensor.name,
            "shape": list(values.shape),
            "datatype": "BYTES" if is_text else _WRITTEN[values.dtype.newbyteorder("<").str],
        }
        if binary:
            content = _texts(values) if is_text else values.astype(values.dtype.newbyteorder("<")).tobytes()
            entry["parameters"] = {"binary_data_size": len(content)}
            contents.append(content)
        else:
            entry["data"] = values.ravel().tolist()
        described.append(entry)
    document = msgspec.json.encode(head | {"outputs": described})
    return b"".join([document, *contents]), len(document) if contents else None


def _texts(values: NDArray[Any]) -> bytes:
    """Return texts as the protocol writes them: each behind its length in four bytes."""
    parts = []
    for text in values.ravel().tolist():
        encoded = text.encode()
        parts += [len(encoded).to_bytes(4, "little"), encoded]
    return b"".join(parts)


def _document(head: memoryview) -> dict[str, Any]:
    """Return the entries of a request as Python values, except the numbers of tensors, which stay text.

    What is large are the numbers alone: other entries are refused before there is an object for each part.
    """
    if bytes(head).count(b"{") > _MOST_OBJECTS:
        raise _wrong(f"body: more than {_MOST_OBJECTS:,} objects given; describe each tensor by one")
    try:
        found = msgspec.json.decode(head, type=_Document)
    except msgspec.ValidationError:
        raise _wrong("body: not a JSON object; send an object with inputs, see /reference") from None
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        raise _wrong(f"body: not a JSON document ({error}); send one, see /reference") from None
    return {
        "inputs": _objects("inputs", found.inputs),
        "outputs": _objects("outputs", found.outputs),
        "parameters": _value("parameters", found.parameters),
        "id": _value("id", found.id),
    }


def _objects(name: str, given: msgspec.Raw) -> list[dict[str, Any]] | None:
    try:
        found = msgspec.json.decode(given, type=list[_Described] | None)
    except (msgspec.DecodeError, RecursionError, ValueError):
        raise _wrong(f"{name}: give a list of objects, each with a name") from None
    if found is None:
        return None
    if len(found) > _MOST_TENSORS:
        raise _wrong(f"{name}: {len(found)} given; give at most {_MOST_TENSORS}")
    return [
        {
            **{
                entry: _value(entry, getattr(one, entry))
                for entry in ("name", "datatype", "shape", "parameters")
            },
            "data": one.data,
        }
        for one in found
    ]


def _value(name: str, given: msgspec.Raw) -> Any:
    if len(bytes(given)) > _LONGEST_VALUE:
        raise _wrong(f"{name}: more than {_LONGEST_VALUE:,} bytes given; send less")
    try:
        return msgspec.json.decode(given)
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        raise _wrong(f"{name}: not JSON ({error}); see /reference") from None


def _parameters(owner: str, of: dict[str, Any]) -> dict[str, Any]:
    found = of.get("parameters")
    if found is None:  # KServe writes null for none
        return {}
    if not isinstance(found, dict):
        raise _wrong(f"parameters of {owner}: {found!r:.80} given; give an object")
    return found


def _name(of: dict[str, Any]) -> str:
    name = of.get("name")
    if not isinstance(name, str) or not 0 < len(name) <= _LONGEST_TEXT:
        raise _wrong(f"name: {name!r:.80} given; name each tensor, in at most {_LONGEST_TEXT} characters")
    return name


def _wanted(of: dict[str, Any], *, binary: bool) -> Wanted:
    name = _name(of)
    parameters = _parameters(name, of)
    classes = parameters.get("classification", 0)
    if not isinstance(classes, int) or isinstance(classes, bool) or classes < 0:
        raise _wrong(f"classification of {name!r:.80}: {classes!r:.40} given; give a number of classes")
    return Wanted(name, parameters.get("binary_data", binary) is True, classes)


def _tensor(of: dict[str, Any], rest: memoryview, most: int) -> tuple[Tensor, memoryview, int]:
    """Return a tensor, the contents that follow those of it, and how many numbers others may have."""
    name = _name(of)
    datatype, shape = of.get("datatype"), of.get("shape")
    if not isinstance(datatype, str) or datatype not in DATATYPES:
        raise _wrong(f"datatype of {name!r:.80}: {datatype!r:.40} given; give one of {', '.join(DATATYPES)}")
    if not isinstance(shape, list) or not all(type(n) is int and 0 <= n <= most for n in shape):
        raise _wrong(f"shape of {name!r:.80}: {shape!r:.80} given; give a list of numbers, [rows, columns]")
    if len(shape) > 2 or (n_values := math.prod(shape)) > most:
        raise _wrong(
            f"shape of {name!r:.80}: {shape!r:.80} given; give [rows, columns] of at most {most:,} numbers, "
            "or send the rows in several requests"
        )
    size = _size(name, of, rest)
    if size is None:
        values = _of_data(name, of["data"], DATATYPES[datatype], tuple(shape))
    else:
        dtype = np.dtype(DATATYPES[datatype])
        if size != n_values * dtype.itemsize:
            raise _wrong(
                f"binary_data_size of {name!r:.80}: {size} given; its shape and datatype need "
                f"{n_values * dtype.itemsize}"
            )
        values = np.frombuffer(rest[:size], dtype)
        rest = rest[size:]
    return Tensor(name, values.reshape(shape)), rest, most - n_values


def _size(name: str, of: dict[str, Any], rest: memoryview) -> int | None:
    """Return how many bytes behind the document a tensor has; None if its numbers are in the document."""
    size = _parameters(name, of).get("binary_data_size")
    if size is not None and (type(size) is not int or not 0 <= size <= len(rest)):
        raise _wrong(
            f"binary_data_size of {name!r:.80}: {size!r:.40} given, with {len(rest)} bytes left behind the "
            "document; give the number of bytes of the tensor, and Inference-Header-Content-Length"
        )
    return size


def _of_data(name: str, data: msgspec.Raw, dtype: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """Return numbers of a JSON list, which may be nested as the shape is."""
    try:
        return read_numbers(bytes(data), shape, dtype)  # an infinity is refused when its row is scored
    except ValueError:
        raise _wrong(
            f"data of {name!r:.80}: {bytes(data)[:40].decode(errors='replace')!r} given; give a list of "
            f"{math.prod(shape):,} numbers, flat or nested as the shape {list(shape)}"
        ) from None
    except OverflowError:
        raise _wrong(
            f"data of {name!r:.80}: a number that its datatype cannot hold; give whole numbers in its range, "
            "or another datatype"
        ) from None


def _wrong(detail: str) -> Problem:
    return Problem(HTTPStatus.BAD_REQUEST, "tensor", detail)
