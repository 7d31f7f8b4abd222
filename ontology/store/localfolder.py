"""Files in a folder of this machine, or in one that several machines share."""

from __future__ import annotations

import contextlib
import mmap
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath

from labelgrove.ontology.store.storage import Storage
from labelgrove.ontology.store.wholefile import TEMPORARY, beside, make_folder, sync_folder, write_whole

__all__ = ["LocalFolder"]


class LocalFolder(Storage):
    """A folder of this machine, or one that several machines share.

    New files and folders in it get the access rights of the folder itself; the umask is ignored. If the
    folder does not exist, it is created with access only for its owner.
    """

    def __init__(self, folder: Path) -> None:
        self._root = self.folder = folder
        self.where = str(folder)

    def write(self, path: PurePosixPath, chunks: Sequence[memoryview]) -> None:
        """Write a file to disk under a temporary name, then rename it."""
        target = self._root / path
        make_folder(self._root)
        rights = stat.S_IMODE(self._root.stat().st_mode)  # whoever can use the folder can use its files
        make_folder(target.parent, rights=rights)
        write_whole(target, chunks, rights=rights & 0o666)
        sync_folder(target.parent)

    def read(self, path: PurePosixPath) -> bytes | mmap.mmap:
        """Return a read-only memory map of a file, which stays valid when the file is deleted."""
        with open(self._root / path, "rb", opener=_without_waiting) as file:
            if os.fstat(file.fileno()).st_size == 0:  # nothing to map
                return b""
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def size(self, path: PurePosixPath) -> int:
        """Return the size of a file in bytes."""
        return (self._root / path).stat().st_size

    def modified(self, path: PurePosixPath) -> float:
        """Return when a file was last written or touched."""
        return (self._root / path).stat().st_mtime

    def touch(self, path: PurePosixPath) -> None:
        """Set the modification time of a file to now."""
        os.utime(self._root / path)

    def delete(self, path: PurePosixPath) -> None:
        """Remove a file."""
        (self._root / path).unlink()

    def delete_unless_modified(self, path: PurePosixPath, since: float) -> bool:
        """Remove a file if it was last written or touched before `since`; return whether it was removed.

        The file is renamed, and then its time is compared once more. A writer who publishes a file of this
        name meanwhile creates a new file, which stays.
        """
        target = self._root / path
        if self.modified(path) >= since:
            return False
        aside = beside(target)
        os.rename(target, aside)
        if aside.stat().st_mtime >= since:  # published again meanwhile: move it back
            os.replace(aside, target)
            return False
        aside.unlink()
        return True

    def list(self, folder: str) -> Iterable[str]:
        """Return the names of the complete files in the folder ``index`` or ``sha256``."""
        for where in self._folders(folder):
            yield from (entry.name for entry in _entries(where) if not entry.name.startswith("."))

    def temporaries(self) -> Iterator[tuple[Path, float]]:
        """Yield the path of each temporary file and the time of its last write.

        The process that writes the file may still be at work, or it may have been killed.
        """
        for where in (self._root / "index", *self._folders("sha256")):
            for entry in _entries(where):
                if entry.name.startswith(TEMPORARY):
                    with contextlib.suppress(FileNotFoundError):  # its writer is alive and has renamed it
                        yield Path(entry.path), entry.stat().st_mtime

    def _folders(self, folder: str) -> Iterable[Path]:
        """Return the folders that contain the files of `folder`.

        For ``index``, this is the folder itself. For ``sha256``, these are the folders inside it.
        """
        top = self._root / folder
        return [top] if folder == "index" else [Path(entry.path) for entry in _entries(top) if entry.is_dir()]


def _without_waiting(path: str, flags: int) -> int:
    """Open a file; a pipe in its place is read as empty, because its other end may never be opened."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    """Yield the entries of `folder`, one at a time; nothing if it does not exist."""
    with contextlib.suppress(FileNotFoundError), os.scandir(folder) as entries:
        yield from entries
