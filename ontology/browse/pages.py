"""Cut a long list into pages; an opaque cursor says where the next page begins."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from labelgrove.ontology.errors import InputError

__all__ = ["LARGEST_PAGE", "Page", "cursor", "cut", "position"]

LARGEST_PAGE = 1_000
"""Most items on one page."""

T = TypeVar("T")


@dataclass(frozen=True)
class Page(Generic[T]):
    """A part of a list.

    Attributes
    ----------
    items : sequence
    total : int
        Length of the whole list.
    next : str or None
        Cursor of the next page; None if this is the last one.
    """

    items: Sequence[T]
    total: int
    next: str | None


def cut(items: Sequence[T], question: Sequence[object], *, limit: int, after: str | None = None) -> Page[T]:
    """Return one page of `items`.

    Parameters
    ----------
    items : sequence
        The whole list; it may be an array.
    question : sequence of plain values
        Everything that decides the list, beginning with the version. A cursor continues only the list from
        which it came.
    limit : int
        Most items on the page, at most `LARGEST_PAGE`.
    after : str, optional
        The `next` of the page before; the first page by default.

    Raises
    ------
    InputError
        For another limit, and for a cursor that does not come from this list.

    Examples
    --------
    >>> page = cut("abcde", ["letters"], limit=3)
    >>> page.items, page.total, cut("abcde", ["letters"], limit=3, after=page.next)
    ('abc', 5, Page(items='de', total=5, next=None))
    """
    begin = position(question, len(items), limit=limit, after=after)
    part = items[begin : begin + limit]
    return Page(part, len(items), cursor(question, begin + limit) if begin + limit < len(items) else None)


def position(question: Sequence[object], total: int, *, limit: int, after: str | None) -> int:
    """Return where the page begins that follows the cursor `after` in a list of `total` items; see `cut`."""
    if not 1 <= limit <= LARGEST_PAGE:
        raise InputError(f"limit: {limit:,} given; give 1 to {LARGEST_PAGE:,}")
    if after is None:
        return 0
    try:
        of, begin = json.loads(base64.urlsafe_b64decode(after.encode("ascii")))
    except (ValueError, TypeError, binascii.Error, RecursionError):
        of, begin = None, None
    if of != _digest(question) or type(begin) is not int or not 0 <= begin < total:
        raise InputError(
            f"after: {after!r:.80} is not a cursor of this list; give the 'next' of its page before, with "
            "the same question and version"
        )
    return begin


def cursor(question: Sequence[object], begin: int) -> str:
    """Return the cursor of the page that begins at `begin`, in the list that `question` decides."""
    return base64.urlsafe_b64encode(json.dumps([_digest(question), begin]).encode()).decode()


def _digest(question: Sequence[object]) -> str:
    return hashlib.sha256(json.dumps(list(question)).encode()).hexdigest()[:16]
