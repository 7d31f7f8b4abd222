"""Extract the animals from the nouns of WordNet, for machines on which WordNet is not installed.

This command writes ``animals.noun.gz`` next to this module::

    python -m labelgrove.quickstart.extract /usr/share/wordnet

The written file has the format of the noun file of WordNet,
license included. It contains only the records of *animal* and all synsets below it, and only the pointers
between these records.
"""

from __future__ import annotations

import gzip
import io
import sys
from pathlib import Path

from labelgrove.ontology.readers import read
from labelgrove.ontology.readers.formats.wordnet import data_file
from labelgrove.ontology.store.wholefile import write_whole
from labelgrove.quickstart.wordnet import EXTRACT, subtree

__all__ = ["animals_of"]

_HIERARCHY = ("@", "@i", "~", "~i")


def animals_of(wordnet: Path) -> bytes:
    """Return the extract as the bytes of a gzip file; equal files ``data.noun`` give equal bytes.

    Parameters
    ----------
    wordnet : Path
        The folder of WordNet, or its file ``data.noun``.

    Raises
    ------
    NotFoundError
        If the nouns do not include *animal*.
    """
    nouns = data_file(wordnet, "noun")
    offsets = {key[1:] for key in subtree(read(nouns, format="wordnet").graph).keys}
    lines = nouns.read_text(encoding="utf-8").splitlines()
    kept = [line if line.startswith("  ") else _record(line, offsets) for line in lines]
    packed = io.BytesIO()
    with gzip.GzipFile("", "wb", fileobj=packed, mtime=0) as file:  # no file name, date or system
        file.write("".join(f"{line.rstrip()}\n" for line in kept if line).encode())
    return packed.getvalue()


def _record(line: str, offsets: set[str]) -> str:
    """Return a record without pointers that lead out of the extract or are not about the hierarchy.

    `offsets` contains the offset of each record of the extract. If this record is not in the extract, return
    an empty text.
    """
    if line[:8] not in offsets:
        return ""
    record, bar, gloss = line.partition("| ")
    cells = record.split()
    words = 4 + 2 * int(cells[3], 16)
    pointers = [cells[at : at + 4] for at in range(words + 1, words + 1 + 4 * int(cells[words]), 4)]
    within = [p for p in pointers if p[0] in _HIERARCHY and p[1] in offsets]
    return " ".join([*cells[:words], f"{len(within):03}", *(cell for p in within for cell in p), bar + gloss])


if __name__ == "__main__":
    write_whole(EXTRACT, [animals_of(Path(sys.argv[1]))])
