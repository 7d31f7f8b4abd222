"""Say what to do about faults of a disk."""

from __future__ import annotations

import errno

__all__ = ["NOT_WRITABLE", "disk_advice"]

NOT_WRITABLE = frozenset({errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOSPC, errno.EDQUOT})
"""Error numbers of faults with which a disk cannot be written, but perhaps still be read."""


def disk_advice(error: OSError, what: str, named_by: str, *, otherwise: str) -> str:
    """Return the advice that ends an error message after a disk fault: what the user can do next.

    Parameters
    ----------
    error : OSError
        The error that the system raised.
    what : str
        What the caller wanted to use, such as ``the store``.
    named_by : str
        The variable or option that says where `what` is.
    otherwise : str
        The advice for a fault that is not known here.

    Examples
    --------
    >>> disk_advice(OSError(errno.ENOSPC, ""), "the store", "GROVE_ARTIFACTS_URL", otherwise="look there")
    'the disk is full: free some space, or move the store (GROVE_ARTIFACTS_URL)'
    """
    known = {
        errno.ENOSPC: f"the disk is full: free some space, or move {what} ({named_by})",
        errno.EDQUOT: f"the quota is used up: raise it, or move {what} ({named_by})",
        errno.EROFS: f"{what} is read-only: make it writable, or choose another place ({named_by})",
        errno.EACCES: f"give this user the right to read and write {what} ({named_by})",
        errno.EPERM: f"give this user the right to read and write {what} ({named_by})",
        errno.EIO: f"the disk reports a fault: check it before anything is written to {what}",
    }
    return known.get(error.errno or 0, otherwise)
