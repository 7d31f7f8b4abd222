"""Read the start of a file, unpacked if it is gzip; the kind of the file is recognized from its start."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

__all__ = ["BOM", "GZIP", "Head", "head", "head_of"]

BOM = b"\xef\xbb\xbf"
"""Byte order mark, which some editors write before text in UTF-8."""

GZIP = b"\x1f\x8b"
"""First bytes of every gzip file."""

_HEAD = 1 << 16
_LONGEST = 500


@dataclass(frozen=True)
class Head:
    """The unpacked start of a file.

    Attributes
    ----------
    start : bytes
        The first bytes, at most 64 KiB.
    whole : bool
        Whether `start` contains the whole file.
    packed : bool
        Whether the file is gzip.
    """

    start: bytes
    whole: bool = True
    packed: bool = False

    @cached_property
    def text(self) -> str:
        """The start as text, without a byte order mark."""
        return self.start.removeprefix(BOM).decode("utf-8", "replace").replace("\r\n", "\n")

    @cached_property
    def lines(self) -> list[str]:
        """Return the first 500 characters of each line; patterns would be slow on longer lines.

        If `start` ends in the middle of a line, this line is left out, unless it is the only one.
        """
        lines = self.text.split("\n")
        return [line[:_LONGEST] for line in (lines if self.whole or len(lines) == 1 else lines[:-1])]

    @cached_property
    def records(self) -> list[str]:
        """Return the lines that are neither blank nor a comment."""
        return [line for line in self.lines if line.strip() and not line.startswith("#")]

    @cached_property
    def first_record(self) -> str:
        """The first line that is neither blank nor a comment, in full length; empty if there is none."""
        lines = self.text.split("\n")
        return next((line for line in lines if line.strip() and not line.startswith("#")), "")


def head_of(lines: Iterable[str]) -> Head:
    r"""Return the start of a file with these lines; lines after the start are not made.

    >>> head_of(["oak\n", "elm\n"]).records
    ['oak', 'elm']
    """
    parts, size = [], 0
    for line in lines:
        parts.append(line.encode())
        size += len(parts[-1])
        if size > _HEAD:
            break
    return Head(b"".join(parts)[:_HEAD], size <= _HEAD)


def head(path: Path) -> Head:
    """Return the start of the file at `path`; empty if it cannot be read, which the reader will report."""
    try:
        with path.open("rb") as raw:
            start = raw.read(_HEAD + 1)
        if not start.startswith(GZIP):
            return Head(start[:_HEAD], len(start) <= _HEAD)
        stream = zlib.decompressobj(wbits=31)
        unpacked = stream.decompress(start, _HEAD)
    except (OSError, zlib.error):
        return Head(b"")
    return Head(unpacked, stream.eof and not stream.unused_data, packed=True)
