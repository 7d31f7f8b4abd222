"""Read the WordNet database files ``data.noun`` and ``data.verb``.

Each record is a synset; its hypernyms become its parents. A record has the form
``offset lex_filenum ss_type w_cnt word lex_id... p_cnt symbol offset pos scope... | gloss``.
Here ``w_cnt`` and ``lex_id`` are hexadecimal and ``p_cnt`` is decimal; records of verbs also have frames.
Lines that start with two blanks are the license. A key is ``n`` or ``v`` followed by the offset; the name is
the first word, and the other words are synonyms. The gloss is split into the definition and the examples,
which are in quotes. If a file ``cntlist.rev`` is beside the source, it tells how often a word has a meaning
in a corpus. Parents are ranked in the order of the record, all hypernyms (``@``) before all instance
hypernyms (``@i``).
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from labelgrove.ontology.errors import InputError
from labelgrove.ontology.readers.collect import Collector, Options, parse_rank
from labelgrove.ontology.readers.text.lines import Lines

__all__ = ["WORD_COUNTS", "data_file", "find_data", "find_wordnet", "looks_like_wordnet", "read_wordnet"]

WORD_COUNTS = "cntlist.rev"
"""Name of the file with lines ``lemma%part:lex_filenum:lex_id:head_word:head_id sense_number count``."""

_VARIABLES = (("WNSEARCHDIR", ""), ("WNHOME", ""), ("WNHOME", "/dict"))
_FOLDERS = (
    "/usr/share/wordnet",
    "/usr/local/share/wordnet",
    "/usr/share/wordnet/dict",
    "/usr/local/WordNet-3.0/dict",
    "/usr/local/WordNet-3.1/dict",
    "/opt/homebrew/opt/wordnet/dict",
)
_OFFSET = re.compile(r"[0-9]{8}")
_LEXICAL_ID = re.compile(r"[0-9a-fA-F]{1,2}")
_RECORD = re.compile(r"[0-9]{8} [0-9]{2} [nvasr] [0-9a-f]{2} ")
_SYMBOL = re.compile(r"[@~]i?|[#%][msp]|[;-][cru]?|[!=+*>^$&<\\]")
_PARTS = {"n": "noun", "v": "verb"}
_PART_NUMBERS = {"n": 1, "v": 2}
_EXAMPLES = re.compile(r'; (?=")')
_UP, _DOWN = ("@", "@i"), ("~", "~i")


def find_wordnet(env: Mapping[str, str] | None = None) -> Path | None:
    """Return the folder of the installed WordNet, or None.

    It is the first folder with a file ``data.noun`` among ``$WNSEARCHDIR``, ``$WNHOME``, ``$WNHOME/dict`` and
    the usual folders of packages. On Debian, ``apt-get install wordnet-base`` installs WordNet.
    """
    env = os.environ if env is None else env
    folders = [env[name] + tail for name, tail in _VARIABLES if env.get(name)]
    for folder in [*folders, *_FOLDERS]:
        if (Path(folder) / "data.noun").is_file():
            return Path(folder)
    return None


def find_data(folder: Path, part: str) -> Path | None:
    """Return the file ``data.PART`` of a WordNet folder; None if there is none."""
    found = (place / f"data.{part}" for place in (folder, folder / "dict"))
    return next((path for path in found if path.is_file()), None)


def data_file(path: Path, part: str) -> Path:
    """Return the file ``data.PART`` in the folder `path`; if `path` is not a folder, return `path`.

    A folder without this file raises `InputError`.
    """
    if not path.is_dir():
        return path
    found = find_data(path, part)
    if found is None:
        raise InputError(f"{path}: the folder does not contain data.{part}; give a file, or a WordNet folder")
    return found


def looks_like_wordnet(lines: list[str]) -> bool:
    """Return whether the first line that does not start with two blanks (the license) is a record."""
    records = [line for line in lines if line and not line.startswith("  ")]
    return bool(records) and _RECORD.match(records[0]) is not None


def read_wordnet(path: Path, into: Collector, _options: Options) -> None:
    """Read ``data.noun`` or ``data.verb`` into a collector; 82,115 noun synsets take about two seconds."""
    suffix = Path(path.name.removesuffix(".gz")).suffix[1:]
    if suffix in ("adj", "adv"):
        into.defect("no-hierarchy", 0, path.name)
        return
    reader = _Reader(into, {"noun": "n", "verb": "v"}.get(suffix), _uses(path.with_name(WORD_COUNTS), into))
    for number, lines in Lines(path, into.recorder).blocks():
        for at, line in enumerate(lines, number):
            reader.take(line, at)
    reader.link()


class _Reader:
    """Collect synsets line by line, then add the edges between them."""

    def __init__(self, into: Collector, letter: str | None, uses: Mapping[str, int]) -> None:
        self._into = into
        self._letter = letter
        self._uses = uses
        self._position = 0
        self._shift = 0
        self._up: list[tuple[str, str, int, int]] = []
        self._down: dict[tuple[str, str], int] = {}

    def take(self, line: str, at: int) -> None:
        position = self._position
        self._position += len(line if line.isascii() else line.encode()) + 1
        if not line or line.startswith("  ") or line.isspace():
            return
        into = self._into
        record, bar, gloss = line.partition("| ")
        cells = record.split()
        if len(cells) < 6:
            into.defect("columns", at, line)
            return
        offset, lexicographer, letter, count = cells[:4]
        if self._letter is None and letter in _PARTS:
            self._letter = letter
        if not _OFFSET.fullmatch(offset):
            into.defect("synset-offset", at, line)
            return
        if letter != self._letter:
            into.defect("no-hierarchy" if letter in ("a", "s", "r") else "part-of-speech", at, line)
            return
        if int(offset) - position != self._shift:
            self._shift = int(offset) - position
            into.defect("offset-moved", at, f"{offset} is at byte {position}")
        if not (len(lexicographer) == 2 and lexicographer.isdecimal() and int(lexicographer) <= 44):
            into.defect("lexicographer-file", at, line)
        n_words = int(count, 16) if re.fullmatch(r"[0-9a-fA-F]{2}", count) else 0
        after = 4 + 2 * n_words
        # Words and pointers are distinguished only by count: after the words comes the pointer count.
        if not n_words or after >= len(cells) or not re.fullmatch(r"[0-9]{3}", cells[after]):
            into.defect("word-count", at, line)
            return
        if not all(_LEXICAL_ID.fullmatch(cell) for cell in cells[5:after:2]):
            into.defect("lexical-id", at, line)
        key = letter + offset
        if key in into.labels:
            into.defect("duplicate-id", at, line)
        into.describe(key, at)
        into.name(key, cells[4].replace("_", " "), at)
        for place in range(4, after, 2):
            word, lexical_id = cells[place : place + 2]
            use = self._uses.get(_sense(word, letter, lexicographer, lexical_id), 0)
            kind = "preferred" if place == 4 else "exact"
            into.annotations.name(key, word.replace("_", " "), kind, "en", use)
        if bar and not gloss.isspace() and gloss:
            self._gloss(key, gloss.strip(), at)
        else:
            into.defect("missing-gloss", at, line)
        self._pointers(key, cells[after:], at, line)

    def _gloss(self, key: str, gloss: str, at: int) -> None:
        definition, *examples = _EXAMPLES.split(gloss)
        self._into.define(key, definition, at)
        for example in examples:
            self._into.annotations.note(key, "example", example)

    def _pointers(self, key: str, cells: list[str], at: int, line: str) -> None:
        into = self._into
        stated = int(cells[0])
        whole = min(stated, (len(cells) - 1) // 4)
        rest = cells[1 + 4 * whole :]
        if whole < stated or (rest and self._letter != "v"):
            into.defect("pointer-count", at, line)
        elif self._letter == "v" and not _frames_match(rest):
            into.defect("frame-count", at, line)
        up: dict[str, list[str]] = {symbol: [] for symbol in _UP}
        for i in range(1, 1 + 4 * whole, 4):
            symbol, offset, letter, scope = cells[i : i + 4]
            if not _SYMBOL.fullmatch(symbol):
                into.defect("pointer-symbol", at, f"{symbol} in {line}")
            if symbol in _DOWN and _OFFSET.fullmatch(offset):
                self._down.setdefault((letter + offset, key), at)
            if symbol not in _UP:
                continue
            if not _OFFSET.fullmatch(offset):
                into.defect("pointer-offset", at, line)
            elif letter != self._letter:
                into.defect("cross-part-of-speech", at, line)
            else:
                if scope != "0000":
                    into.defect("pointer-scope", at, line)
                up[symbol].append(letter + offset)
        self._up += [(key, parent, rank, at) for rank, parent in enumerate([*up["@"], *up["@i"]])]

    def link(self) -> None:
        """Add an edge for each pointer from a synset to one of its hypernyms, if the file contains both.

        Report two kinds of defects: a hypernym that is not in the file, and a pair of synsets of which only
        one points to the other.
        """
        into = self._into
        seen = set()
        for child, parent, rank, at in self._up:
            seen.add((child, parent))
            if parent not in into.labels:
                into.defect("dangling-parent", at, f"{child} under {parent}")
                continue
            if (child, parent) not in self._down:
                into.defect("one-sided-pointer", at, f"{parent} does not list {child}")
            into.edge(child, parent, at, rank)
        for (child, parent), at in self._down.items():
            if (child, parent) not in seen:
                into.defect(
                    "one-sided-pointer", at, f"{child} is listed by {parent} but does not point to it"
                )


def _sense(word: str, letter: str, lexicographer: str, lexical_id: str) -> str:
    """Return the key of a sense, as `WORD_COUNTS` names it; empty if the record is damaged."""
    if not (lexicographer.isdecimal() and _LEXICAL_ID.fullmatch(lexical_id)):
        return ""
    return f"{word.lower()}%{_PART_NUMBERS[letter]}:{lexicographer}:{int(lexical_id, 16):02d}::"


def _uses(path: Path, into: Collector) -> dict[str, int]:
    """Return how often each sense occurs, from a file `WORD_COUNTS`; nothing if there is none."""
    if not path.is_file():
        return {}
    uses = {}
    for number, lines in Lines(path, into.recorder).blocks():
        for at, line in enumerate(lines, number):
            cells = line.split(" ")
            count = parse_rank(cells[2]) if len(cells) == 3 else None
            if count is not None:
                uses[cells[0]] = count
            elif line:
                into.recorder.add("word-uses", str(path), at, line)
    return uses


def _frames_match(cells: list[str]) -> bool:
    """Return whether the cells after a verb's pointers are a number n and then n triples ``+ frame word``."""
    n_frames = parse_rank(cells[0]) if cells else None
    return n_frames is not None and len(cells) == 1 + 3 * n_frames
