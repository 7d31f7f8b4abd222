"""Files that somebody else named: read only where they are plain, written whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

__all__ = ["open_plain", "read_plain", "write_whole"]


def open_plain(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a regular file, or a link to one, for reading bytes; anything else raises `OSError` at once.

    A pipe or a device would wait for ever, or never end.
    """
    file = open(path, "rb", opener=_without_waiting)  # noqa: SIM115 - closed by the caller
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "a pipe, a device or a socket, no file")
    return file


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))  # a pipe would wait for a writer


def read_plain(path: str | os.PathLike[str], most: int) -> bytes:
    """Return the bytes of a regular file of at most `most` bytes; a larger one raises `OSError` unread."""
    with open_plain(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > most:
            raise OSError(errno.EFBIG, f"{size} bytes, at most {most} are read")
        return file.read(size)


def write_whole(path: Path, chunks: Iterable[bytes | memoryview]) -> None:
    """Write a file that appears under its name when all of it is on disk; `OSError` leaves what was there."""
    temporary = path.with_name(f".{path.name}-{os.getpid()}-{secrets.token_hex(4)}")
    try:
        with open(temporary, "xb") as file:
            for chunk in chunks:
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
