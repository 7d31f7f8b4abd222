"""Extract the tree of languages and short texts in many languages from CLDR of the Unicode Consortium.

Fetch two packages of CLDR, and give their unpacked folders; the command writes ``languages.csv.gz`` and
``texts.csv.gz`` next to this module::

    npm pack cldr-core cldr-annotations-full
    python -m labelgrove.datasets.pretrained.extract cldr-core/package cldr-annotations-full/package

The tree consists of the languages and families in ``languageGroups.json``; where CLDR names several families
for a language, the first is its parent. The texts are the names of emoji in each language, such as "pair of
running shoes", joined in random order to texts of 40 to 160 characters. ``LICENSE.Unicode`` is the license of
both files.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from labelgrove.datasets.pretrained.languages import FAMILIES, TEXTS
from labelgrove.ontology.store.wholefile import write_whole

__all__ = ["family_rows", "text_rows"]

_ADDED = {"sq": "sqj", "mt": "sem", "rw": "bnt", "uzs": "trk"}
"""Languages that identifiers know but CLDR puts into no family: Albanian, Maltese, Kinyarwanda, Uzbek."""

_TEXTS_PER_LANGUAGE = 40
_SHORTEST, _LONGEST = 40, 160
_FEWEST_LETTERS = 4  # a shorter name tells little about its language
_SEED = 7


def family_rows(core: Path) -> list[tuple[str, str]]:
    """Return a pair (language or family, its family) for each label but the root, sorted.

    Parameters
    ----------
    core : Path
        The folder of the package ``cldr-core``.
    """
    groups = _read(core / "supplemental" / "languageGroups.json")["supplemental"]["languageGroups"]
    parents: dict[str, str] = dict(_ADDED)
    for family, members in groups.items():
        for member in members if isinstance(members, list) else members.split():
            parents.setdefault(member, family)
    return sorted(parents.items())


def text_rows(annotations: Path, languages: Iterable[str]) -> list[tuple[str, str]]:
    """Return pairs (language, text), forty for each of the `languages` that has as many.

    Parameters
    ----------
    annotations : Path
        The folder of the package ``cldr-annotations-full``.
    languages : iterable of str
    """
    rows = []
    for language in sorted(languages):
        file = annotations / "annotations" / language / "annotations.json"
        if file.is_file() and language != "en":  # the names in English are those that others translate
            found = _read(file)["annotations"].get("annotations", {}).values()
            names = sorted({one["tts"][0] for one in found if "tts" in one})
            texts = _joined([name for name in names if sum(map(str.isalpha, name)) >= _FEWEST_LETTERS])
            rows += [(language, text) for text in texts if len(texts) == _TEXTS_PER_LANGUAGE]
    return rows


def _joined(names: list[str]) -> list[str]:
    """Return at most forty texts, each made of as many of the names as it takes to be long enough."""
    random.Random(_SEED).shuffle(names)
    texts, text = [], ""
    for name in names:
        text = f"{text}. {name}" if text else name
        if len(text) >= _SHORTEST:
            texts.append(text[:_LONGEST])
            text = ""
    return texts[:_TEXTS_PER_LANGUAGE]


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _packed(head: Sequence[str], rows: Iterable[Sequence[str]]) -> bytes:
    """Return the rows as a gzip file of comma-separated values; equal rows give equal bytes."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(head)
    table.writerows(rows)
    packed = io.BytesIO()
    with gzip.GzipFile("", "wb", fileobj=packed, mtime=0) as file:  # no file name, date or system
        file.write(text.getvalue().encode())
    return packed.getvalue()


if __name__ == "__main__":
    families = family_rows(Path(sys.argv[1]))
    keys = {key for row in families for key in row}
    write_whole(FAMILIES, [_packed(("child", "parent"), families)])
    write_whole(TEXTS, [_packed(("language", "text"), text_rows(Path(sys.argv[2]), keys))])
