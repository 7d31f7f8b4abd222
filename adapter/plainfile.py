"""Read files whose paths come from users.

Only regular files are read, and reading text stops at the first byte that is not text.
"""

from __future__ import annotations

import codecs
import errno
import os
import stat
from typing import BinaryIO

from labelgrove.ontology.errors import InputError, no_such_file

__all__ = ["decoded", "open_plain", "plain_text", "read_plain"]

_BLOCK = 1 << 20


def open_plain(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a regular file, or a link to one, for reading bytes; for anything else raise `OSError` at once.

    Without this check, reading a pipe or a device could wait forever or never end.
    """
    file = open(path, "rb", opener=_without_waiting)  # noqa: SIM115 - closed by the caller
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "this is a pipe, a device or a socket, not a file")
    return file


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))  # opening a pipe would wait for a writer


def decoded(file: BinaryIO) -> str:
    """Return the UTF-8 text of a file, with its line ends unchanged.

    `ValueError` is raised for bytes that are not UTF-8 text.

    The file is decoded while it is read, and a NUL byte is an error, so only the beginning of ``/dev/zero``
    or of a sparse file of a terabyte is read.
    """
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    parts = []
    while block := file.read(_BLOCK):
        if b"\0" in block:
            raise ValueError("it contains NUL bytes")
        parts.append(decoder.decode(block))
    return "".join([*parts, decoder.decode(b"", final=True)])


def plain_text(path: str | os.PathLike[str]) -> str:
    """Return the text of a UTF-8 file, with its line ends unchanged.

    Raises
    ------
    NotFoundError, InputError
        `NotFoundError` if the file does not exist; `InputError` if it cannot be read as UTF-8 text.
    """
    try:
        with open_plain(path) as file:
            return decoded(file)
    except FileNotFoundError:
        raise no_such_file(path) from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read as UTF-8 text ({error}); save it as UTF-8") from error


def read_plain(path: str | os.PathLike[str], most: int) -> bytes:
    """Return the bytes of a regular file.

    If the file has more than `most` bytes, nothing is read and `OSError` is raised.
    """
    with open_plain(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > most:
            raise OSError(errno.EFBIG, f"it has {size} bytes, but at most {most} are read")
        return file.read(size)
