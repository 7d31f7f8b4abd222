"""Stamps: which files were compared with their digest, were found sound, and have not changed since.

Hashing 82 MB takes longer than all else in opening them. A file that was read in full and passed every check
is therefore stamped: its device, inode, size and time of last change stand in ``checked/<digest>`` in the
folder of the cache. As long as they are the same, its content is taken as checked. Whoever may write that
folder is trusted by this, and so is the disk; to trust neither, open with ``verify="always"``.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import time
from pathlib import Path

from labelgrove.adapter.plainfile import open_plain
from labelgrove.ontology.store.wholefile import PRIVATE, make_folder, write_whole

__all__ = ["Stamps", "mark_used", "settle"]

_RULES = 1
"""Raised whenever `bundlechecks` refuses what it let through: older stamps then say nothing."""

_SETTLED_NS = 100_000_000
"""A file changed later than so long before it is looked at gets no stamp: within one tick of the clock of the
file system another change would leave the same time."""


class Stamps:
    """The stamps of one cache folder; nothing is created before the first is recorded.

    Parameters
    ----------
    folder : Path
        That of the cache.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "checked"

    def open(self, path: Path, digest: str) -> mmap.mmap | None:
        """Return a read-only map of the file at `path` if it bears the stamp of `digest`, else None."""
        try:
            stamp = (self._folder / digest).read_text(encoding="ascii")
            with open_plain(path) as file:
                status = os.fstat(file.fileno())
                if stamp != _line(status) or status.st_size == 0:
                    return None
                data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError):  # no stamp, no file, or one that cannot be read: the long way says so
            return None
        return data

    def seen(self, path: Path) -> str | None:
        """Return what a stamp of `path` would say just now; None where a stamp would prove nothing."""
        try:
            status = path.stat()
        except OSError:
            return None
        settled = status.st_mtime_ns + _SETTLED_NS < time.time_ns()
        return _line(status) if settled else None

    def record(self, path: Path, digest: str, seen: str | None) -> None:
        """Stamp the file at `path`, which was checked after it was `seen`, unless another lies there by now.

        Where the folder cannot be written, the file is checked again next time.
        """
        if seen is None or self.seen(path) != seen:  # what was seen is not what was checked
            return
        with contextlib.suppress(OSError):
            make_folder(self._folder)
            write_whole(self._folder / digest, [seen.encode("ascii")], rights=PRIVATE)


def mark_used(path: Path) -> None:
    """Set the time of access, by which the cache knows what was used longest ago, and no other."""
    _set_times(path, back_ns=0)


def settle(path: Path) -> None:
    """Date a file that nobody else writes a second back, so that any change from now on shows in its time."""
    _set_times(path, back_ns=10 * _SETTLED_NS)


def _set_times(path: Path, *, back_ns: int) -> None:
    with contextlib.suppress(OSError), open(path, "rb") as file:  # not another file of the same name
        status = os.fstat(file.fileno())
        os.utime(file.fileno(), ns=(time.time_ns(), status.st_mtime_ns - back_ns))


def _line(status: os.stat_result) -> str:
    return f"{_RULES} {status.st_dev} {status.st_ino} {status.st_size} {status.st_mtime_ns}\n"
