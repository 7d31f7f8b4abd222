"""Lock files and look for processes, which is possible on Linux and macOS but not on other systems."""

from __future__ import annotations

import os
from typing import IO, Any

from labelgrove.ontology.errors import PlatformError

__all__ = ["is_alive", "require_posix", "try_lock"]


def require_posix(purpose: str) -> None:
    """Raise `PlatformError` on a system without POSIX locks.

    Parameters
    ----------
    purpose : str
        What needs the locks, as the subject of a sentence.
    """
    try:
        import fcntl  # noqa: F401
    except ImportError:
        raise PlatformError(
            f"{purpose} needs Linux or macOS; scoring, readers and reports work on every system"
        ) from None


def try_lock(file: int | IO[Any]) -> bool:
    """Lock an open file until it is closed; return False if another process has locked it.

    Raises
    ------
    PlatformError
        On a system without POSIX locks.
    OSError
        If files in this folder cannot be locked.
    """
    require_posix("a lock on a file")
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):  # network folders raise either
        return False
    return True


def is_alive(process: int) -> bool:
    """Return whether a process with this process ID runs on this machine."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
