"""The text that the ledger keeps of the error of a job: its wording, and whether it is about the request."""

from __future__ import annotations

import re

__all__ = ["defect_text", "is_of_request", "lost_worker_text", "shortened", "spent_text"]

_LONGEST = 2000  # characters of an error in a row

_DEFECT = re.compile(r"\w*(Error|Exception|Warning): ")
_LOST = "the worker that ran it was lost "
_SPENT = re.compile(r"\(attempt \d+ of \d+\)$")


def defect_text(error: Exception) -> str:
    """Return the text of an error that is a defect of the program; it begins with the error's class.

    >>> defect_text(ZeroDivisionError("division by zero")), defect_text(StopIteration("end"))
    ('ZeroDivisionError: division by zero', 'Exception: StopIteration: end')
    """
    text = f"{type(error).__name__}: {error}"
    return text if _DEFECT.match(text) else f"Exception: {text}"


def lost_worker_text(n_times: int) -> str:
    """Return the text for a unit whose worker was lost in each of its attempts."""
    return f"{_LOST}{n_times} times; read the log of the workers, then submit the job again"


def spent_text(error: str, n_attempts: int, max_attempts: int) -> str:
    """Return the text for a unit whose last attempt ended with a fault that may pass."""
    return f"{error} (attempt {n_attempts} of {max_attempts})"


def is_of_request(text: str) -> bool:
    """Return whether a text of the ledger says what to change in the request.

    Other texts are defects of the program, lost workers, and faults of services in every attempt.

    >>> is_of_request("locus: metric is 'x'; choose tree")
    True
    >>> is_of_request("ZeroDivisionError: division by zero"), is_of_request(lost_worker_text(4))
    (False, False)
    """
    return not (_DEFECT.match(text) or text.startswith(_LOST) or _SPENT.search(text))


def shortened(text: str) -> str:
    """Return the part of an error that a row of the ledger keeps."""
    return text[:_LONGEST]
