"""An artifact store in a folder whose disk fails: at one operation, from one on, or by a bit."""

from __future__ import annotations

import errno
import mmap
import os
import random
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath

from labelgrove.ontology.store.artifacts import LocalStore

__all__ = ["FaultyStore", "flipped"]


class FaultyStore(LocalStore):
    """A `LocalStore` that counts what is asked of its disk, and fails as told.

    Attributes
    ----------
    operations : int
        How often the disk was asked for something that the fault concerns.
    fail_at : int or None
        Number of the operation, from 1, that fails; None: none does.
    lasting : bool
        Whether every operation after it fails, too.
    flips : random.Random or None
        Turns one bit of what the next reading gives, then is None again.
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
        """Whether the fault was met."""
        return self.fail_at is not None and self.operations >= self.fail_at

    def _disk(self, *, writes: bool) -> None:
        if not writes and self.fault != errno.EIO:
            return  # a full or read-only disk can be read
        self.operations += 1
        if self.operations == self.fail_at or (self.failed and self.lasting):
            raise OSError(self.fault, os.strerror(self.fault))

    def _write(self, path: PurePosixPath, chunks: Sequence[memoryview]) -> None:
        try:
            self._disk(writes=True)
        except OSError:  # the disk took the half, and the process died before it could tidy up
            folder = (self.root / path).parent
            folder.mkdir(parents=True, exist_ok=True)
            data = b"".join(chunks)
            (folder / f".tmp-{os.getpid()}-{self.operations}").write_bytes(data[: len(data) // 2])
            raise
        super()._write(path, chunks)

    def _read(self, path: PurePosixPath) -> bytes | mmap.mmap:
        self._disk(writes=False)
        data = super()._read(path)
        if self.flips is None:
            return data
        draw, self.flips = self.flips, None
        return flipped(bytes(data), draw)

    def _size(self, path: PurePosixPath) -> int:
        self._disk(writes=False)
        return super()._size(path)

    def _touch(self, path: PurePosixPath) -> None:
        self._disk(writes=True)
        super()._touch(path)

    def _delete(self, path: PurePosixPath) -> None:
        self._disk(writes=True)
        super()._delete(path)

    def _list(self, folder: str) -> Iterable[str]:
        self._disk(writes=False)
        return super()._list(folder)


def flipped(data: bytes, draw: random.Random) -> bytes:
    """Return `data` with one bit turned."""
    bit = draw.randrange(8 * len(data))
    turned = bytearray(data)
    turned[bit // 8] ^= 1 << bit % 8
    return bytes(turned)
