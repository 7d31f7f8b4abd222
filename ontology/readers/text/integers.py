"""Read keys that are integers."""

from __future__ import annotations

from labelgrove.ontology.readers.defects import Recorder

__all__ = ["LARGEST", "integer_key", "is_plain_integer"]

LARGEST = str(2**63 - 1)
"""The largest integer that is a key."""


def is_plain_integer(text: str) -> bool:
    """Return whether a fast check finds that `text` is an integer key as it is written.

    >>> is_plain_integer("9606"), is_plain_integer("0"), is_plain_integer("07"), is_plain_integer("")
    (True, False, False, False)
    """
    return text.isdigit() and text[0] != "0" and len(text) < len(LARGEST) and text.isascii()


def integer_key(text: str, recorder: Recorder, file: str, at: int) -> str | None:
    """Return `text` as a key; None if it is not a 64-bit whole number, which is reported at ``file:at``."""
    digits = text.lstrip("0") or "0"
    if not (
        text.isascii() and text.isdigit() and len(digits) <= len(LARGEST) and int(digits) <= int(LARGEST)
    ):
        recorder.add("not-an-integer", file, at, text)
        return None
    if text[0] == "0" and len(text) > 1:
        recorder.add("leading-zeros", file, at, text)
        return digits
    return text
