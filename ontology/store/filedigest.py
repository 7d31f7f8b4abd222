"""Compute the sha256 of files, which identifies their content without naming their path."""

from __future__ import annotations

import hashlib
from os.path import isdir
from pathlib import Path

from labelgrove.ontology.errors import InputError, no_such_file

__all__ = ["sha256_of"]


def sha256_of(path: Path, *, shown: str | None = None) -> str:
    """Return the sha256 of the content of a file or a folder.

    The content of a folder is that of all its files, one after the other in the order of their paths.

    Parameters
    ----------
    path : Path
        The file or folder.
    shown : str, optional
        How error messages name a file; by default by its path.

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
                hashlib.file_digest(opened, lambda: hashed)
        except FileNotFoundError:
            raise no_such_file(shown or file) from None
        except OSError as error:
            raise InputError(
                f"{shown or file}: cannot be read ({error.strerror}); check the file and its disk"
            ) from error
    return hashed.hexdigest()
