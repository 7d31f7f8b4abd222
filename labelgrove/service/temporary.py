"""Keep bodies of requests in temporary files while they are read."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from labelgrove.ontology.errors import ServiceError
from labelgrove.ontology.store.disk_faults import disk_advice

__all__ = ["SCORE", "UPLOAD", "no_room", "remove_left_over", "temporary_file"]

SCORE, UPLOAD = "grove-score-", "grove-upload-"
"""Prefixes of the names of temporary folders, by what their files are for."""

_OLD_S = 24 * 3600
"""Seconds after which no file is being read any more."""


@contextmanager
def temporary_file(prefix: str, name: str, fill: Callable[[BinaryIO], object]) -> Iterator[Path]:
    """Yield the path of a file in a folder of its own, which is removed at the end.

    Parameters
    ----------
    prefix : str
        `SCORE` or `UPLOAD`.
    name : str
        Of the file.
    fill : callable
        Writes the file.

    Raises
    ------
    ServiceError
        If the file cannot be written.
    """
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix=prefix))
            path = Path(folder) / name
            with path.open("wb") as file:
                fill(file)
        except OSError as error:
            raise no_room(error) from error
        yield path


def no_room(error: OSError) -> ServiceError:
    """Return the error for a body that could not be written to a file."""
    other = "look at the folder that TMPDIR names"
    advice = disk_advice(error, "the folder of temporary files", "TMPDIR", otherwise=other)
    return ServiceError(f"the body of this request cannot be kept in a file ({error.strerror}); {advice}")


def remove_left_over() -> None:
    """Remove files of requests whose server was killed while it read them."""
    for prefix in (SCORE, UPLOAD):
        for folder in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
            with suppress(OSError):  # somebody else's, or removed meanwhile
                if time.time() - folder.stat().st_mtime > _OLD_S:
                    shutil.rmtree(folder)
