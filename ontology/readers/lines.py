"""Text files as blocks of checked lines: gzip, encodings and line ends, whatever the format."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from pathlib import Path

from ontology.readers.report import Recorder

__all__ = ["Lines", "foreign_kind", "head"]

LONGEST_LINE = 1 << 20
"""Bytes of the longest line that is read."""
UNPACKED_LIMIT = 2 << 30
"""Bytes beyond which a gzip stream is refused."""
RATIO_LIMIT = 200
"""Unpacked bytes per packed byte beyond which a gzip stream is refused."""
RATIO_FLOOR = 16 << 20
"""Unpacked bytes up to which any ratio passes."""

_CHUNK = 1 << 20
_HEAD = 1 << 16
_BOM = b"\xef\xbb\xbf"
_GZIP = b"\x1f\x8b"

_FOREIGN = (
    (b"PK\x03\x04", "a zip archive: unpack it first"),
    (b"BZh", "bzip2: unpack it with bunzip2 first"),
    (b"\xfd7zXZ\x00", "xz: unpack it with unxz first"),
    (b"\x28\xb5\x2f\xfd", "zstandard: unpack it with unzstd first"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive: unpack it first"),
    (b"PAR1", "parquet: write it as CSV first"),
    (b"\x89HDF", "HDF5: write it as CSV first"),
    (b"SQLite format 3\x00", "a SQLite database: export the edges as CSV first"),
    (b"\x93NUMPY", "a numpy array: write the edges as CSV first"),
    (b"%PDF", "a PDF"),
    (b"\xff\xfe\x00\x00", "UTF-32: convert it with iconv -f UTF-32 -t UTF-8"),
    (b"\x00\x00\xfe\xff", "UTF-32: convert it with iconv -f UTF-32 -t UTF-8"),
    (b"\xff\xfe", "UTF-16: convert it with iconv -f UTF-16 -t UTF-8"),
    (b"\xfe\xff", "UTF-16: convert it with iconv -f UTF-16 -t UTF-8"),
    (b"version https://git-lfs.github.com", "a Git LFS pointer: fetch the file with git lfs pull"),
    (b"<!doctype html", "an HTML page, perhaps an error page: download the file again"),
    (b"<html", "an HTML page, perhaps an error page: download the file again"),
    (b"<?xml", "XML: write the hierarchy as an edge list first"),
    (b"@prefix", "Turtle: write the hierarchy as an edge list first"),
    (b"format-version:", "OBO: write the hierarchy as an edge list first"),
)  # fmt: skip


def head(path: Path) -> bytes:
    """Return up to 64 KiB from the start of `path`, unpacked; damage is left for the full pass to report."""
    try:
        with path.open("rb") as raw:
            packed = raw.read(_HEAD)
        return zlib.decompressobj(wbits=31).decompress(packed, _HEAD) if packed.startswith(_GZIP) else packed
    except (OSError, zlib.error):
        return b""


def foreign_kind(start: bytes) -> str | None:
    r"""Return what a file that starts so is, and what to do with it; None where it may be text.

    >>> foreign_kind(b"PK\x03\x04...")
    'a zip archive: unpack it first'
    """
    plain = start.removeprefix(_BOM)
    if plain.lstrip()[:1] in (b"<", b"@"):
        plain = plain.lstrip().lower()
    return next((kind for magic, kind in _FOREIGN if plain.startswith(magic)), None)


def _is_bomb(unpacked: int, packed: int) -> bool:
    return unpacked > UNPACKED_LIMIT or (unpacked > RATIO_FLOOR and unpacked > RATIO_LIMIT * max(packed, 1))


class Lines:
    """The lines of one file, checked and decoded.

    Parameters
    ----------
    path : Path
        A plain or gzip file; which one is told by its first bytes.
    recorder : Recorder
        Takes the defects of the file as bytes and text.
    longest : int
        Bytes of the longest line that is read.
    """

    def __init__(self, path: Path, recorder: Recorder, longest: int = LONGEST_LINE) -> None:
        self.name = str(path)
        self._path = path
        self._recorder = recorder
        self._longest = longest
        self._number = 1
        self._damaged = False

    def blocks(self) -> Iterator[tuple[int, list[str]]]:
        """Yield (number of the first line, lines without their ends), in order, covering the file.

        A line that cannot be read is reported and comes as an empty one, so that numbers stay right. Memory
        stays below a few times the longest line and the chunk of 1 MiB.
        """
        parts: list[bytes] = []
        held = 0
        for chunk in self._chunks():
            cut = chunk.rfind(b"\n")
            if cut < 0:
                held += len(chunk)
                if held <= self._longest:
                    parts.append(chunk)
                continue
            end = chunk.find(b"\n")
            if held + end > self._longest:
                yield self._overlong(b"".join(parts)[:_HEAD])
                parts, first = [], end + 1
            else:
                first = 0
            if first <= cut:
                yield self._decoded(b"".join([*parts, chunk[first:cut]]))
            parts, held = [chunk[cut + 1 :]], len(chunk) - cut - 1
        if held > self._longest:
            yield self._overlong(b"".join(parts)[:_HEAD])
        elif held and not self._damaged:  # where the stream broke off, the last line is not whole
            yield self._decoded(b"".join(parts))

    def _chunks(self) -> Iterator[bytes]:
        with self._path.open("rb") as raw:
            stream: io.BufferedIOBase = raw
            chunk = self._read(raw)
            packed = chunk.startswith(_GZIP)
            if packed:
                raw.seek(0)
                stream = gzip.GzipFile(fileobj=raw)
                chunk = self._read(stream)
            total = 0
            while chunk:
                total += len(chunk)
                if packed and _is_bomb(total, raw.tell()):
                    self._damage("gzip-bomb", f"{total:,} bytes unpacked from {raw.tell():,}")
                    return
                yield chunk
                chunk = self._read(stream)
            if not total and not self._damaged:
                self._recorder.add("empty-file", self.name, 0, "0 bytes")

    def _read(self, stream: io.BufferedIOBase) -> bytes:
        """Return the next chunk; what is wrong with the stream ends it."""
        try:
            # read1 hands out what was unpacked before a stream turns out to be cut.
            return stream.read1(_CHUNK)
        except EOFError as error:
            self._damage("gzip-truncated", error)
        except (gzip.BadGzipFile, zlib.error) as error:
            self._damage("gzip-damaged", error)
        except OSError as error:
            self._damage("unreadable", error)
        return b""

    def _damage(self, code: str, text: object) -> None:
        self._damaged = True
        self._recorder.add(code, self.name, self._number, str(text))

    def _overlong(self, start: bytes) -> tuple[int, list[str]]:
        number = self._number
        self._number += 1
        self._recorder.add("line-too-long", self.name, number, start.decode(errors="backslashreplace"))
        return number, [""]

    def _decoded(self, data: bytes) -> tuple[int, list[str]]:
        number = self._number
        if number == 1 and data.startswith(_BOM):
            data = data[len(_BOM) :]
            self._recorder.add("bom", self.name, 1, "U+FEFF at the start")
        ended = data.count(b"\r\n") + data.endswith(b"\r")
        if ended:
            line = number + data[: data.find(b"\r")].count(b"\n")
            self._recorder.add("crlf", self.name, line, "this line and others end in CR LF", count=ended)
            data = data.replace(b"\r\n", b"\n").removesuffix(b"\r")
        try:
            text = data.decode()
        except UnicodeDecodeError:
            lines = [self._checked(number + i, raw) for i, raw in enumerate(data.split(b"\n"))]
        else:
            if any(c in text for c in "\0\r\ufeff\ufffd"):
                lines = [self._checked(number + i, raw) for i, raw in enumerate(data.split(b"\n"))]
            else:
                lines = text.split("\n")
        self._number += len(lines)
        return number, lines

    def _checked(self, number: int, raw: bytes) -> str:
        """Return one line whose block did not pass as a whole; an empty one if it cannot be read."""
        try:
            line = raw.decode()
        except UnicodeDecodeError as error:
            shown = f"{raw[:_HEAD].decode(errors='backslashreplace')} (byte {raw[error.start]:#04x})"
            self._recorder.add("encoding", self.name, number, shown)
            return ""
        for character, code in (("\0", "nul"), ("\r", "carriage-return")):
            if character in line:
                self._recorder.add(code, self.name, number, line)
                return ""
        if "\ufffd" in line:
            self._recorder.add("replacement-character", self.name, number, line)
        if "\ufeff" in line:
            self._recorder.add("bom-inside", self.name, number, line)
            line = line.replace("\ufeff", "")
        return line
