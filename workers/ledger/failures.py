"""The errors of jobs as the text that the ledger keeps: written here, and read here to tell defects apart."""

from __future__ import annotations

import re

from labelgrove.ontology.errors import GroveError

__all__ = ["error_text", "is_defect", "shortened"]

_LONGEST = 2000  # characters of an error in a row

_DEFECT = re.compile(r"\w*(Error|Exception|Warning): ")


def error_text(error: Exception) -> str:
    """Return an error as the ledger keeps it; that of a defect of the program begins with the error's class.

    >>> error_text(ZeroDivisionError("division by zero")), error_text(StopIteration("end"))
    ('ZeroDivisionError: division by zero', 'Exception: StopIteration: end')
    """
    if isinstance(error, GroveError):
        return str(error)
    text = f"{type(error).__name__}: {error}"
    return text if is_defect(text) else f"Exception: {text}"


def is_defect(text: str) -> bool:
    """Return whether a text of the ledger is a defect of the program, not an error raised on purpose.

    The errors of labelgrove do not begin with the name of a class; they say what to change in the request.

    >>> is_defect("ZeroDivisionError: division by zero"), is_defect("locus: metric is 'x'; choose tree")
    (True, False)
    """
    return _DEFECT.match(text) is not None


def shortened(text: str) -> str:
    """Return the part of an error that a row of the ledger keeps."""
    return text[:_LONGEST]
