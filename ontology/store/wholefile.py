"""Write files that readers see completely or not at all, even if the writer is killed."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import IO

__all__ = [
    "PRIVATE",
    "TEMPORARY",
    "beside",
    "flush_to_disk",
    "make_folder",
    "open_private",
    "sync_file",
    "sync_folder",
    "write_whole",
]

TEMPORARY = ".tmp-"
"""Beginning of the names of files that are still being written, or are about to be removed."""


PRIVATE = 0o600
"""Rights of a file that only its owner can access."""


def beside(target: Path) -> Path:
    """Return a new temporary path in the folder of `target`; readers skip files with such names."""
    return target.parent / f"{TEMPORARY}{os.getpid()}-{secrets.token_hex(8)}"


def make_folder(folder: Path, *, rights: int = 0o700) -> None:
    """Create a folder and its missing parents, and make sure that their names are on disk (fsync).

    By default, only the owner has access.
    """
    missing = [folder, *folder.parents]
    missing = missing[: next((i for i, f in enumerate(missing) if f.is_dir()), len(missing))]
    for new in reversed(missing):
        try:
            new.mkdir(mode=rights)
        except FileExistsError:  # created by another process meanwhile, or not a folder
            if not new.is_dir():
                raise
        else:
            _set_rights(new, rights)
        with contextlib.suppress(PermissionError):  # a folder that may be entered but not read
            sync_folder(new.parent)


def open_private(path: str, flags: int) -> int:
    """Open a file; if it is new, only its owner has access. Pass this function to `open` as ``opener``."""
    return os.open(path, flags, PRIVATE)


def sync_folder(folder: Path) -> None:
    """Make sure that the file names in a folder are on disk (fsync), if the operating system can do that."""
    if hasattr(os, "O_DIRECTORY"):
        _sync(folder, os.O_RDONLY | os.O_DIRECTORY)


def sync_file(path: Path) -> None:
    """Make sure that the content of a closed file is on disk (fsync); any process may have written it."""
    _sync(path, os.O_RDONLY)


def flush_to_disk(file: IO[bytes]) -> None:
    """Make sure that all content written to an open file is on disk (fsync)."""
    file.flush()
    os.fsync(file.fileno())


def write_whole(target: Path, chunks: Iterable[bytes | memoryview], *, rights: int | None = None) -> None:
    """Write a file that appears under its name only when all of it is on disk.

    Parameters
    ----------
    target : Path
        Path in an existing folder; an earlier file of this name is replaced.
    chunks : iterable of bytes or memoryview
        Content of the file.
    rights : int, optional
        Access rights of the file; by default those that the umask of the process allows.

    Raises
    ------
    OSError
        Any error of the system; an earlier file is left unchanged.
    """
    temporary = beside(target)
    try:
        with open(temporary, "xb", opener=lambda path, flags: os.open(path, flags, rights or 0o666)) as file:
            if rights is not None:
                _set_rights(file.fileno(), rights)
            for chunk in chunks:
                file.write(chunk)
            flush_to_disk(file)
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _sync(place: Path, flags: int) -> None:
    descriptor = os.open(place, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _set_rights(place: Path | int, rights: int) -> None:
    """Give a new file or folder exactly `rights`; the umask may have removed some of them.

    On a file system without rights, nothing happens.
    """
    if os.stat(place).st_mode & 0o7777 != rights:
        with contextlib.suppress(PermissionError):
            os.chmod(place, rights)
