"""Sound files of every format, from which mutants are made.

A new format joins by its entry in ``SOUND`` of the corpus of readers, or by a file in the folder ``samples``
beside it. The start of real files is taken as well, where this machine has them.
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from pathlib import Path

from labelgrove.ontology.readers import find_wordnet
from tests.packagedata import SHA256, cached_file
from tests.unit.readers import reader_corpus
from tests.unit.readers.reader_corpus import LABELS, SOUND

__all__ = ["Source", "sources"]

_SAMPLES = Path(reader_corpus.__file__).with_name("samples")
_START = 1 << 15
"""Bytes of a real file that are taken: mutants of all of it would take minutes each."""


@dataclass(frozen=True)
class Source:
    """A sound file; `name` is the name of its mutants, and `labels` is a second file that is read with it."""

    title: str
    name: str
    content: bytes
    format: str | None = None
    labels: bytes | None = None


def sources() -> list[Source]:
    """Return the sound files, in the order of their titles."""
    found = [
        Source(f"corpus {name}", "source.txt", content, name, LABELS if name == "lshtc" else None)
        for name, content in SOUND.items()
    ]
    found += [
        Source(f"sample {path.name}", path.name, path.read_bytes())
        for path in _SAMPLES.iterdir()
        if path.is_file()
    ]
    found += [Source(f"real {path.name}", path.name, _start(path)) for path in _real_files()]
    return sorted(found, key=lambda source: source.title)


def _real_files() -> list[Path]:
    wordnet = find_wordnet()
    found = [] if wordnet is None else [wordnet / "data.noun", wordnet / "data.verb"]
    packages = [cached_file(*package, member) for package, held in SHA256.items() for member in held]
    return found + [path for path in packages if path.is_file()]


def _start(path: Path) -> bytes:
    """Return the first lines of a file, unpacked."""
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
        start = stream.read(_START)
    return start[: start.rfind(b"\n") + 1] or start
