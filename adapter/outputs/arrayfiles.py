"""Check ``.npy`` and ``.npz`` files before their arrays are read, and load ``.npy`` files.

A file may be damaged or malicious; the checks refuse it before it can fill the memory.
"""

from __future__ import annotations

import os
import tokenize
import zipfile
import zlib
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
from numpy.typing import NDArray

from labelgrove.adapter.plainfile import open_plain
from labelgrove.ontology.errors import InputError, no_such_file

try:
    from lzma import LZMAError
except ImportError:  # a Python without lzma cannot open such an archive
    LZMAError = zlib.error  # type: ignore[assignment, misc]

__all__ = ["FAULTS", "load_npy", "npy_header", "refuse_bomb", "refuse_long_header"]

FAULTS: tuple[type[Exception], ...] = (
    ArithmeticError,  # for blocks without rows
    AttributeError,  # for a format field that is not text
    EOFError,
    KeyError,  # for a missing member
    LZMAError,
    MemoryError,
    OSError,
    RuntimeError,  # for recursion, encrypted members and unknown compressions
    SyntaxError,
    TypeError,
    ValueError,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)
"""Errors that numpy, scipy and zipfile raise for corrupt bytes."""

_LONGEST_HEADER = 10_000  # bytes; numpy refuses longer headers too, but only after reading them
_FREE_BYTES = 16 * 2**20
_MOST_TIMES = 200


def refuse_long_header(file: IO[bytes]) -> None:
    """Raise `ValueError` for a ``.npy`` file of version 2 or later that states a header above 10,000 bytes.

    After the check, the next read starts at the beginning of the file. Without the check, numpy would read a
    header of the stated length, up to 4 GiB, before refusing the file. Files of format version 1 need no
    check: they cannot state more than 65,535 bytes, and numpy may read that many.
    """
    head = file.read(12)
    file.seek(0)
    length = int.from_bytes(head[8:12], "little")
    if head[6:7] > b"\x01" and length > _LONGEST_HEADER:
        raise ValueError(f"its header claims {length} bytes, but at most {_LONGEST_HEADER} are read")


def npy_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return the shape of the array in a ``.npy`` file, whether it is stored by columns, and its dtype.

    The next read from the file starts after the header. If the bytes are not a ``.npy`` header, one of
    `FAULTS` is raised.
    """
    refuse_long_header(file)
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        return np.lib.format.read_array_header_1_0(file)
    if version == (2, 0):
        return np.lib.format.read_array_header_2_0(file)
    raise ValueError(f"an array has the unknown format version {version}")


def refuse_bomb(path: str | os.PathLike[str]) -> None:
    """Raise `ValueError` for a small ``.npz`` file that would unpack to very large arrays.

    All arrays together may be up to 200 times as large as the file; 16 MiB are always allowed. `ValueError`
    is also raised if two arrays have the same name or if a header is too long.
    """
    with open_plain(path) as file, zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        names = [member.filename.removesuffix(".npy") for member in members]
        if len(set(names)) < len(names):
            raise ValueError("two of its arrays have the same name")
        unpacked = sum(member.file_size for member in members)
        packed = os.fstat(file.fileno()).st_size
        if unpacked > max(_FREE_BYTES, _MOST_TIMES * packed):
            raise ValueError(
                f"its {packed} bytes unpack to {unpacked}, more than {_MOST_TIMES} times as many; write it "
                "with np.savez, uncompressed"
            )
        for member in members:
            with archive.open(member) as opened:
                refuse_long_header(opened)


def load_npy(path: Path, mmap_mode: Literal["r"] | None = None) -> NDArray[Any]:
    """Load the array of a ``.npy`` file without unpickling.

    Raises
    ------
    NotFoundError, InputError
        `NotFoundError` if the file does not exist; `InputError` if it is not an array of numbers or strings.
    """
    try:
        with open_plain(path) as file:
            refuse_long_header(file)
        with np.errstate(over="ignore"):  # numpy multiplies a shape before it refuses it
            array = np.load(path, mmap_mode=mmap_mode, allow_pickle=False)
    except FileNotFoundError:
        raise no_such_file(path) from None
    except FAULTS as error:
        raise InputError(f"{path}: not a .npy file of numbers or strings ({error})") from error
    if not isinstance(array, np.ndarray):
        array.close()
        raise InputError(f"{path}: an archive of several arrays (.npz); give one array as .npy")
    return array
