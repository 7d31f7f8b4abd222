"""Read text files as blocks of checked lines: unpack gzip, decode UTF-8 and remove line endings."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from pathlib import Path

from labelgrove.ontology.readers.defects import Recorder
from labelgrove.ontology.readers.text.head import BOM, GZIP

__all__ = ["LONGEST_LINE", "Lines", "is_bomb", "is_record"]

LONGEST_LINE = 1 << 20
"""Length in bytes of the longest line that is read."""
UNPACKED_LIMIT = 2 << 30
"""Unpacked size in bytes above which a gzip stream is refused."""
RATIO_LIMIT = 200
"""Ratio of unpacked to packed bytes above which a gzip stream is refused."""
RATIO_FLOOR = 16 << 20
"""Unpacked size in bytes up to which any ratio is accepted."""

_CHUNK = 1 << 20
_EXCERPT_BYTES = 1 << 16


def is_bomb(unpacked: int, packed: int) -> bool:
    """Return whether a file unpacks to far more than a hierarchy needs."""
    return unpacked > UNPACKED_LIMIT or (unpacked > RATIO_FLOOR and unpacked > RATIO_LIMIT * max(packed, 1))


def is_record(line: str) -> bool:
    """Return whether a line is neither blank nor a comment, which starts with ``#``."""
    return bool(line) and line[0] != "#" and not line.isspace()


class Lines:
    """The lines of one file, checked and decoded.

    Parameters
    ----------
    path : Path
        A plain or gzip file, recognized by its first bytes.
    recorder : Recorder
        Records the defects in the file's bytes and text.
    longest : int
        Maximum length of a line in bytes; a longer line counts as unreadable.
    """

    def __init__(self, path: Path, recorder: Recorder, longest: int = LONGEST_LINE) -> None:
        self.name = str(path)
        self._path = path
        self._recorder = recorder
        self._longest = longest
        self._number = 1
        self._damaged = False
        self._crlf = False

    def blocks(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the lines of the file in blocks.

        Each block is a pair: the number of its first line, and its lines without their endings.

        An unreadable line is reported and replaced by an empty one, so that line numbers stay right. Memory
        is at most a few times that of the longest line, plus a chunk of 1 MiB.
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
                yield self._overlong(b"".join(parts)[:_EXCERPT_BYTES])
                parts, first = [], end + 1
            else:
                first = 0
            if first <= cut:
                yield self._decoded(b"".join([*parts, chunk[first:cut]]))
            parts, held = [chunk[cut + 1 :]], len(chunk) - cut - 1
        if held > self._longest:
            yield self._overlong(b"".join(parts)[:_EXCERPT_BYTES])
        elif held and not self._damaged:  # where the stream broke off, the last line is incomplete
            yield self._decoded(b"".join(parts))

    def _chunks(self) -> Iterator[bytes]:
        with self._path.open("rb") as raw:
            stream: io.BufferedIOBase = raw
            chunk = self._next_chunk(raw)
            packed = chunk.startswith(GZIP)
            if packed:
                raw.seek(0)
                stream = gzip.GzipFile(fileobj=raw)
                chunk = self._next_chunk(stream)
            total = 0
            while chunk:
                total += len(chunk)
                if packed and is_bomb(total, raw.tell()):
                    self._damage("gzip-bomb", f"{total:,} bytes unpacked from {raw.tell():,}")
                    return
                yield chunk
                chunk = self._next_chunk(stream)
            if not total and not self._damaged:
                self._recorder.add("empty-file", self.name, 0, "0 bytes")

    def _next_chunk(self, stream: io.BufferedIOBase) -> bytes:
        """Return the next chunk of bytes; if the file ends or is damaged, ``b""``. Damage is reported."""
        try:
            # read1 returns the data that were unpacked before a stream turns out to be cut off.
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
        if number == 1 and data.startswith(BOM):
            data = data[len(BOM) :]
            self._recorder.add("bom", self.name, 1, "U+FEFF at the start")
        ended = data.count(b"\r\n") + data.endswith(b"\r")
        if ended:
            if not self._crlf:  # reported once for a file, however many lines it has
                line = number + data[: data.find(b"\r")].count(b"\n")
                self._recorder.add("crlf", self.name, line, "lines end in CR LF from here on")
            self._crlf = True
            data = data.replace(b"\r\n", b"\n").removesuffix(b"\r")
        try:
            text = data.decode()
        except UnicodeDecodeError:
            lines = [self._decode_line(number + i, raw) for i, raw in enumerate(data.split(b"\n"))]
        else:
            if any(c in text for c in "\0\r\ufeff\ufffd"):
                lines = [self._decode_line(number + i, raw) for i, raw in enumerate(data.split(b"\n"))]
            else:
                lines = text.split("\n")
        self._number += len(lines)
        return number, lines

    def _decode_line(self, number: int, raw: bytes) -> str:
        """Return line `number`, decoded, and report its defects; if it cannot be read, return ``""``.

        This method is called for every line of a block in which at least one line has a defect.
        """
        try:
            line = raw.decode()
        except UnicodeDecodeError as error:
            shown = f"{raw[:_EXCERPT_BYTES].decode(errors='backslashreplace')} (byte {raw[error.start]:#04x})"
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
