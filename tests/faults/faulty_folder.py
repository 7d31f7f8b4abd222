"""A folder on a disk that fails, at one operation or all later ones, or flips a bit."""

from __future__ import annotations

import errno
import mmap
import os
import random
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath

from labelgrove.ontology.store.localfolder import LocalFolder

__all__ = ["FaultyFolder", "flipped"]


class FaultyFolder(LocalFolder):
    """A `LocalFolder` that counts the operations of its disk, and fails at a chosen one.

    Attributes
    ----------
    operations : int
        The number of operations so far that the fault can affect.
    fail_at : int or None
        The number of the operation that fails, counted from 1; None if none fails.
    lasting : bool
        Whether every later operation fails too.
    flips : random.Random or None
        Draws the bit to flip in the bytes of the next read; afterwards it is None again.
    """

    def __init__(self, root: Path, fault: int = errno.EIO) -> None:
        super().__init__(root)
        self.fault = fault
        self.operations = 0
        self.fail_at: int | None = None
        self.lasting = False
        self.flips: random.Random | None = None

    @property
    def failed(self) -> bool:
        """Whether the fault has happened."""
        return self.fail_at is not None and self.operations >= self.fail_at

    def _disk(self, *, writes: bool) -> None:
        if not writes and self.fault != errno.EIO:
            return  # a full or read-only disk can still be read
        self.operations += 1
        if self.operations == self.fail_at or (self.failed and self.lasting):
            raise OSError(self.fault, os.strerror(self.fault))

    def write(self, path: PurePosixPath, chunks: Sequence[memoryview]) -> None:
        try:
            self._disk(writes=True)
        except OSError:  # half was written, and the process died before it could clean up
            folder = (self._root / path).parent
            folder.mkdir(parents=True, exist_ok=True)
            data = b"".join(chunks)
            (folder / f".tmp-{os.getpid()}-{self.operations}").write_bytes(data[: len(data) // 2])
            raise
        super().write(path, chunks)

    def read(self, path: PurePosixPath) -> bytes | mmap.mmap:
        self._disk(writes=False)
        data = super().read(path)
        if self.flips is None:
            return data
        draw, self.flips = self.flips, None
        return flipped(bytes(data), draw)

    def size(self, path: PurePosixPath) -> int:
        self._disk(writes=False)
        return super().size(path)

    def touch(self, path: PurePosixPath) -> None:
        self._disk(writes=True)
        super().touch(path)

    def delete(self, path: PurePosixPath) -> None:
        self._disk(writes=True)
        super().delete(path)

    def list(self, folder: str) -> Iterable[str]:
        self._disk(writes=False)
        return super().list(folder)


def flipped(data: bytes, draw: random.Random) -> bytes:
    """Return `data` with one bit flipped."""
    bit = draw.randrange(8 * len(data))
    turned = bytearray(data)
    turned[bit // 8] ^= 1 << bit % 8
    return bytes(turned)
