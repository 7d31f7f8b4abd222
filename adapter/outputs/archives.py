"""Arrays in files that somebody else wrote, damaged or harmful: what is refused before it costs memory."""

from __future__ import annotations

import os
import tokenize
import zipfile
import zlib
from typing import IO, Any

import numpy as np

from labelgrove.adapter.plainfile import open_plain

try:
    from lzma import LZMAError
except ImportError:  # a Python without it opens no such archive
    LZMAError = zlib.error  # type: ignore[assignment, misc]

__all__ = ["FAULTS", "npy_header", "refuse_bomb", "refuse_long_header"]

FAULTS: tuple[type[Exception], ...] = (
    ArithmeticError,  # of blocks without rows
    AttributeError,  # of a format that is no text
    EOFError,
    KeyError,  # of a member that is missing
    LZMAError,
    MemoryError,
    OSError,
    RuntimeError,  # also of recursion; encrypted members, unknown compressions
    SyntaxError,
    TypeError,
    ValueError,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)
"""What numpy, scipy and zipfile let through from bytes that lie, beside their own errors."""

_LONGEST_HEADER = 10_000  # bytes; numpy refuses longer ones as well, but after it has read them
_FREE_BYTES = 16 * 2**20
_MOST_TIMES = 200


def refuse_long_header(file: IO[bytes]) -> None:
    """Raise `ValueError` for a ``.npy`` file whose header claims to be long; else leave it at its beginning.

    numpy reads as many bytes as are claimed, up to 4 GiB, before it looks at them.
    """
    head = file.read(12)
    file.seek(0)
    length = int.from_bytes(head[8:12], "little")
    if head[6:7] > b"\x01" and length > _LONGEST_HEADER:
        raise ValueError(f"its header claims {length} bytes, at most {_LONGEST_HEADER} are read")


def npy_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return shape, whether column after column is stored, and dtype of a ``.npy`` file, left behind it.

    Raises one of `FAULTS` for any other bytes.
    """
    refuse_long_header(file)
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        return np.lib.format.read_array_header_1_0(file)
    if version == (2, 0):
        return np.lib.format.read_array_header_2_0(file)
    raise ValueError(f"format version {version} of an array")


def refuse_bomb(path: str | os.PathLike[str]) -> None:
    """Raise `ValueError` for a ``.npz`` file that is read as a whole and would fill the memory.

    Its arrays may take 200 times the bytes of the file, 16 MiB in any case, and no two have one name.
    """
    with open_plain(path) as file, zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        names = [member.filename.removesuffix(".npy") for member in members]
        if len(set(names)) < len(names):
            raise ValueError("two of its arrays have one name")
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
