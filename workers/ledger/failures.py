"""Make the error texts that the ledger stores, and tell which of them are about the request."""

from __future__ import annotations

import re

__all__ = ["defect_text", "is_of_request", "lost_worker_text", "shortened", "spent_text"]

_LONGEST = 2000  # characters of an error in a row

_DEFECT = re.compile(r"\w*(Error|Exception|Warning): ")
_LOST = "the worker that ran it was lost "
_SPENT = re.compile(r"\(attempt \d+ of \d+\)$")


def defect_text(error: Exception) -> str:
    """Return the text of an error that is a defect of the program; the text begins with a class name.

    >>> defect_text(ZeroDivisionError("division by zero")), defect_text(StopIteration("end"))
    ('ZeroDivisionError: division by zero', 'Exception: StopIteration: end')
    """
    text = f"{type(error).__name__}: {error}"
    return text if _DEFECT.match(text) else f"Exception: {text}"


def lost_worker_text(n_times: int) -> str:
    """Return the error of a unit whose worker was lost in each of its `n_times` attempts."""
    return f"{_LOST}{n_times} times; read the log of the workers, then submit the job again"


def spent_text(error: str, n_attempts: int, max_attempts: int) -> str:
    """Return the error of a unit whose last allowed attempt ended with a temporary fault."""
    return f"{error} (attempt {n_attempts} of {max_attempts})"


def is_of_request(text: str) -> bool:
    """Return whether an error in the ledger says what to change in the request.

    Other errors report a defect of the program, lost workers, or a service that failed in every attempt.

    >>> is_of_request("locus: metric is 'x'; choose tree")
    True
    >>> is_of_request("ZeroDivisionError: division by zero"), is_of_request(lost_worker_text(4))
    (False, False)
    """
    return not (_DEFECT.match(text) or text.startswith(_LOST) or _SPENT.search(text))


def shortened(text: str) -> str:
    """Return the beginning of an error, as much of it as a row of the ledger keeps."""
    return text[:_LONGEST]
