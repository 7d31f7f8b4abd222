"""Files that are there as a whole or not at all, whoever looks and whenever the writer dies."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from pathlib import Path

__all__ = ["TEMPORARY", "beside", "write_whole"]

TEMPORARY = ".tmp-"
"""What names of files begin with that are still being written, or taken aside."""


def beside(target: Path) -> Path:
    """Return a name of its own in the folder of `target`, under which nobody looks for content."""
    return target.parent / f"{TEMPORARY}{os.getpid()}-{secrets.token_hex(8)}"


def write_whole(target: Path, chunks: Iterable[bytes | memoryview]) -> None:
    """Write a file that appears under its name when all of it is on disk.

    Parameters
    ----------
    target : Path
        In a folder that exists; an earlier file of this name is replaced.
    chunks : iterable of bytes or memoryview
        What it holds.

    Raises
    ------
    OSError
        As the system says; what was there before is left as it was.
    """
    temporary = beside(target)
    try:
        with open(temporary, "xb") as file:
            for chunk in chunks:
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
