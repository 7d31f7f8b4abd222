"""Record which files passed every check, so that a file is checked again only if it has changed.

Hashing a file of 82 MB takes longer than all other steps of opening it. A file that was read in full and
passed every check therefore gets a stamp: the file ``checked/<digest>`` in the folder of the cache records
its device, inode, size and time of last change. While these stay the same, the content is not checked again.
So a stamp is only as reliable as the disk and everyone who may write to that folder; open with
``verify="always"`` if you do not trust them.
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
"""Version of the rules; it rises when `bundlechecks` gets stricter, which makes older stamps invalid."""

_SETTLED_NS = 100_000_000
"""A file gets no stamp if it was changed fewer than this many nanoseconds ago: another change within one tick
of the file system's clock would not change its time of last change."""


class Stamps:
    """The stamps of one cache folder, in its subfolder ``checked``, which is created with the first stamp.

    Parameters
    ----------
    folder : Path
        Folder of the cache.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "checked"

    def open(self, path: Path, digest: str) -> mmap.mmap | None:
        """Return a read-only memory map of the file at `path`; None if it has no valid stamp for `digest`."""
        try:
            stamp = (self._folder / digest).read_text(encoding="ascii")
            with open_plain(path) as file:
                status = os.fstat(file.fileno())
                if stamp != _line(status) or status.st_size == 0:
                    return None
                data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError):  # no stamp, or no readable file: the full check reports it
            return None
        return data

    def seen(self, path: Path) -> str | None:
        """Return the stamp that the file at `path` would get now, or None if it would get no stamp.

        A file gets no stamp if it is missing, or if it changed so recently that a further change might leave
        its time of last change as it is.
        """
        try:
            status = path.stat()
        except OSError:
            return None
        settled = status.st_mtime_ns + _SETTLED_NS < time.time_ns()
        return _line(status) if settled else None

    def record(self, path: Path, digest: str, seen: str | None) -> None:
        """Record a stamp for the file at `path`, which has passed every check.

        `seen` is what the method `seen` returned before the check. No stamp is recorded if `seen` is None, if
        the file has changed since that call, or if the folder cannot be written; the file is then checked
        again next time.
        """
        if seen is None or self.seen(path) != seen:  # the file that was checked may not be the one seen
            return
        with contextlib.suppress(OSError):
            make_folder(self._folder)
            write_whole(self._folder / digest, [seen.encode("ascii")], rights=PRIVATE)


def mark_used(path: Path) -> None:
    """Set the time of last access of a file to now, and leave its time of last change as it is.

    The cache deletes the files with the oldest time of access first.
    """
    _set_times(path, back_ns=0)


def settle(path: Path) -> None:
    """Set a file's time of last change back by one second.

    Any later change of the file therefore gives it another time, even if the change happens at once.

    No other process may write to the file during the call.
    """
    _set_times(path, back_ns=10 * _SETTLED_NS)


def _set_times(path: Path, *, back_ns: int) -> None:
    with contextlib.suppress(OSError), open(path, "rb") as file:  # not another file of that name
        status = os.fstat(file.fileno())
        os.utime(file.fileno(), ns=(time.time_ns(), status.st_mtime_ns - back_ns))


def _line(status: os.stat_result) -> str:
    return f"{_RULES} {status.st_dev} {status.st_ino} {status.st_size} {status.st_mtime_ns}\n"
