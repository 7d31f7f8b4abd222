"""Define `Storage`: what can be done with files in a place such as a folder or a bucket.

`ontology.store.artifacts.ArtifactStore` uses these operations to store index files, and artifacts, which are
named by their digests.
"""

from __future__ import annotations

import mmap
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath

__all__ = ["Storage"]


class Storage(ABC):
    """A place for files, which are named by their relative paths.

    Every operation raises `OSError` for a fault of the disk or the service, and `FileNotFoundError` for a
    file that does not exist.

    Attributes
    ----------
    where : str
        The folder or URL of the place, without passwords.
    folder : Path or None
        The folder on this machine that contains the files; None for a service.
    """

    where: str
    folder: Path | None = None

    @abstractmethod
    def write(self, path: PurePosixPath, chunks: Sequence[memoryview]) -> None:
        """Write or replace a file as a whole; readers never see a part of it."""

    @abstractmethod
    def read(self, path: PurePosixPath) -> bytes | mmap.mmap:
        """Return the content of a file, as a read-only memory map where that is possible."""

    @abstractmethod
    def size(self, path: PurePosixPath) -> int:
        """Return the size of a file in bytes."""

    @abstractmethod
    def modified(self, path: PurePosixPath) -> float:
        """Return when a file was last written or touched, in seconds since 1970 by the storage's clock."""

    @abstractmethod
    def touch(self, path: PurePosixPath) -> None:
        """Make `modified` return the current time for a file, as if the file had just been written."""

    @abstractmethod
    def delete(self, path: PurePosixPath) -> None:
        """Remove a file."""

    def delete_unless_modified(self, path: PurePosixPath, since: float) -> bool:
        """Remove a file if it was last written or touched before `since`; return whether it was removed."""
        if self.modified(path) >= since:
            return False
        self.delete(path)
        return True

    @abstractmethod
    def list(self, folder: str) -> Iterable[str]:
        """Return the names of the files in the folder ``index`` or ``sha256``, in no particular order.

        The files of ``sha256`` are one level deeper, in folders that are listed one at a time.
        """

    def temporaries(self) -> Iterator[tuple[Path, float]]:
        """Yield the path of each temporary file and the time of its last write.

        The process that writes the file may still be at work, or it may have been killed.
        """
        yield from ()
