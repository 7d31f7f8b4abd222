"""Compute the sha256 of files that a run has read.

A sha256 identifies the content of a file without naming its path.
"""

from __future__ import annotations

import hashlib
from os.path import isdir
from pathlib import Path

from labelgrove.ontology.errors import InputError, NotFoundError

__all__ = ["sha256_of"]

_BLOCK = 1 << 20


def sha256_of(path: Path) -> str:
    """Return the sha256 of the content of a file or a folder.

    The content of a folder is that of all its files, one after the other in the order of their paths.

    Raises
    ------
    NotFoundError
        If the file does not exist.
    InputError
        If the file cannot be read.
    """
    hashed = hashlib.sha256()
    files = sorted(p for p in path.rglob("*") if p.is_file()) if isdir(path) else [path]
    for file in files:
        try:
            with file.open("rb") as opened:
                while block := opened.read(_BLOCK):
                    hashed.update(block)
        except FileNotFoundError:
            raise NotFoundError(f"{file}: there is no such file; check the path") from None
        except OSError as error:
            raise InputError(f"{file}: cannot be read ({error.strerror})") from error
    return hashed.hexdigest()
