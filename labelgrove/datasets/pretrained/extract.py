"""Extract the tree of languages and short texts in many languages from CLDR of the Unicode Consortium.

Fetch three packages of CLDR and the registry of language tags, unpack each in a folder of its name, and give
the four folders; the command writes ``languages.csv.gz`` and ``texts.csv.gz`` next to this module::

    npm pack cldr-core cldr-annotations-full cldr-localenames-full language-subtag-registry
    python -m labelgrove.datasets.pretrained.extract cldr-core/package cldr-annotations-full/package \
        cldr-localenames-full/package language-subtag-registry/package

The tree consists of the languages and families in ``languageGroups.json``; where CLDR names several families
for a language, the first is its parent. Names are those of CLDR in English. CLDR names only a tenth of the
labels; the others have the first name in the language subtag registry of IANA, which has no restrictions
(CC0). The texts are the names of emoji in each language, such as "pair of
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
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from labelgrove.datasets.pretrained.languages import FAMILIES, TEXTS
from labelgrove.ontology.store.wholefile import write_whole

__all__ = ["english_names", "family_rows", "label_rows", "text_rows"]

_ADDED = {"sq": "sqj", "mt": "sem", "rw": "bnt", "uzs": "trk"}
"""Languages that identifiers know but CLDR puts into no family: Albanian, Maltese, Kinyarwanda, Uzbek."""

_ROOT = "mul"
_ROOT_NAME = "all languages"  # "Multiple languages" elsewhere, but here it is the family of them all

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


def english_names(localenames: Path, registry: Path) -> dict[str, str]:
    """Return the English name of each language and family that has one.

    Parameters
    ----------
    localenames : Path
        The folder of the package ``cldr-localenames-full``.
    registry : Path
        The folder of the package ``language-subtag-registry``.
    """
    shown: dict[str, dict[str, str]] = _read(localenames / "main" / "en" / "languages.json")["main"]["en"][
        "localeDisplayNames"
    ]
    tags = _read(registry / "data" / "json" / "registry.json")
    registered: dict[str, str] = {
        tag["Subtag"]: tag["Description"][0] for tag in tags if tag["Type"] == "language"
    }
    return registered | shown["languages"] | {_ROOT: _ROOT_NAME}


def label_rows(families: Sequence[tuple[str, str]], names: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """Return key, parent and name of each label, the root first; the root has an empty parent."""
    parents = dict(families)
    roots = sorted({family for _, family in families} - parents.keys())
    labels = [*((root, "") for root in roots), *families]
    return [(key, parent, names.get(key, "")) for key, parent in labels]


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
    names = english_names(Path(sys.argv[3]), Path(sys.argv[4]))
    write_whole(FAMILIES, [_packed(("key", "parent", "name"), label_rows(families, names))])
    write_whole(TEXTS, [_packed(("language", "text"), text_rows(Path(sys.argv[2]), keys))])
