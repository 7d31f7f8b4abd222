"""Write the errors of jobs as texts for the ledger, and tell from a text whether it reports a defect."""

from __future__ import annotations

import re

from labelgrove.ontology.errors import GroveError

__all__ = ["error_text", "is_defect", "shortened"]

_LONGEST = 2000  # characters of an error in a row

_DEFECT = re.compile(r"\w*(Error|Exception|Warning): ")


def error_text(error: Exception) -> str:
    """Return the text of an error for the ledger; a defect of the program begins with its error class.

    >>> error_text(ZeroDivisionError("division by zero")), error_text(StopIteration("end"))
    ('ZeroDivisionError: division by zero', 'Exception: StopIteration: end')
    """
    if isinstance(error, GroveError):
        return str(error)
    text = f"{type(error).__name__}: {error}"
    return text if is_defect(text) else f"Exception: {text}"


def is_defect(text: str) -> bool:
    """Return whether an error text of the ledger reports a defect of the program.

    The text of a defect begins with the name of an error class. Errors that labelgrove raises on purpose do
    not; they say what to change in the request.

    >>> is_defect("ZeroDivisionError: division by zero"), is_defect("locus: metric is 'x'; choose tree")
    (True, False)
    """
    return _DEFECT.match(text) is not None


def shortened(text: str) -> str:
    """Return the beginning of an error text, as long as a row of the ledger keeps it."""
    return text[:_LONGEST]
