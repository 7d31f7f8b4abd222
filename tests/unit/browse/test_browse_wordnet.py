"""How good the order of answers is, judged on WordNet: each query with the label that should come first.

Keys and meanings are those of WordNet 3.0. The score is the mean reciprocal rank: 1 if every expected label
comes first, 0.5 if each comes second. With names alone, which is what an ingest has today, meanings are told
apart by the sizes of their branches. With all words and the counts of their senses they are told apart as
people use them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from labelgrove.datasets.synsets import synset_words
from labelgrove.ontology.browse.labelindex import LabelIndex
from labelgrove.ontology.browse.nametable import NameRow
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.readers import read

BY_NAME = {
    # whole names of which one meaning is by far the most usual
    "dog": "n02084071", "cat": "n02121620", "horse": "n02374451", "house": "n03544360", "car": "n02958343",
    "tree": "n13104059", "bird": "n01503061", "fish": "n02512053", "water": "n14845743", "music": "n07020895",
    "wolf": "n02114100", "apple": "n07739125", "mouse": "n02330245", "bat": "n02139199",
    "jaguar": "n02128925", "piano": "n03928116", "teacher": "n10694258", "doctor": "n10020890",
    "iron": "n14642417", "elephant": "n02503517", "computer": "n03082979", "virus": "n01328702",
    "protein": "n14728724", "chair": "n03001627", "animal": "n00015388",
    "river": "n09411430", "mountain": "n09359803",
    "king penguin": "n02056570", "sports car": "n04285008", "ice cream": "n07614500", "red wine": "n07892512",
    # of two meanings, both usual, the one that most people mean
    "london": "n08873622", "france": "n08929922", "paris": "n08932568", "person": "n00007846",
    "seal": "n02076196", "chihuahua": "n02085620", "hammerhead": "n01494475", "bridge": "n02898711",
    "gold": "n14638799", "heart": "n05388805", "hand": "n05564590", "table": "n04379243",
    # other spellings
    "DOG": "n02084071", "Siberian Husky": "n02110185", "são paulo": "n08857529", "crème brûlée": "n07619409",
    "café au lait": "n07919572", "Ångström": "n13658027", "n02084071": "n02084071",
    # beginnings
    "retriev": "n02099029", "photogr": "n03925226", "golden retr": "n02099601", "emperor peng": "n02056728",
    "quantum mech": "n06111961", "steam loco": "n04310018", "solar sys": "n09439433", "fire eng": "n03345487",
    "great white sh": "n01484850", "siberian husk": "n02110185", "blood press": "n11429968",
    "einst": "n10954498", "dalm": "n02110341", "elepha": "n02503517",
    # words in another order, and parts of words
    "retriever golden": "n02099601", "poodle toy": "n02113624", "guitar electric": "n03272010",
    "dog hunting": "n02087122", "husky siberian": "n02110185", "labrador retr": "n02099712",
    "brain stem": "n05501185", "ography": "n00903559",
}  # fmt: skip
"""Queries that keys and first words can answer, with the key of the label that should come first."""

BY_OTHER_WORDS = {
    "canis familiaris": "n02084071", "automobile": "n02958343", "puma": "n02125311", "airplane": "n02691156",
    "plane": "n02691156", "great britain": "n08860123", "uk": "n08860123", "hound dog": "n02087551",
    "bank": "n09213565", "human being": "n00007846", "physician": "n10020890", "mountain lion": "n02125311",
    "king of beasts": "n02129165", "auto": "n02958343", "phone": "n04401088", "panthera leo": "n02129165",
    "relativity theory": "n06106502", "lighthouse": "n02814860",
}  # fmt: skip
"""Queries that only further words or the counts of senses can answer."""


@pytest.fixture(scope="module")
def folder(wordnet_dir: Path) -> Path:
    return wordnet_dir


@pytest.fixture(scope="module")
def graph(folder: Path) -> LabelGraph:
    found = read(folder).graph
    assert found is not None
    return found


def rows_of_wordnet(folder: Path, graph: LabelGraph) -> Iterator[NameRow]:
    """Yield every word of every noun synset, with the number of times that it was counted in this sense."""
    counted = {}
    for line in (folder / "cntlist.rev").read_text(encoding="utf-8").splitlines():
        sense, number, n = line.split()
        lemma, _, rest = sense.partition("%")
        if rest.startswith("1:"):  # nouns
            counted[lemma, int(number)] = int(n)
    use = {}
    for line in (folder / "index.noun").read_text(encoding="utf-8").splitlines():
        if not line.startswith("  "):
            lemma, *cells = line.split()
            n_senses = int(cells[1])
            for number, offset in enumerate(cells[-n_senses:], 1):
                use[lemma, f"n{offset}"] = counted.get((lemma, number), 0)
    for key, found in synset_words(folder / "data.noun").items():
        for i, word in enumerate(found):
            yield NameRow(
                graph.keys.index(key),
                word,
                kind="exact" if i else "preferred",
                use=use.get((word.lower().replace(" ", "_"), key), 0),
            )


def score(index: LabelIndex, judged: Mapping[str, str]) -> tuple[float, list[str]]:
    """Return the mean reciprocal rank, and the queries whose expected label does not come first."""
    total, missed = 0.0, []
    for query, key in judged.items():
        found = [index.graph.keys[hit.label] for hit in index.search.find(query, limit=50).items]
        rank = found.index(key) + 1 if key in found else None
        total += 1 / rank if rank else 0.0
        if rank != 1:
            missed.append(f"{query}: {rank}")
    return total / len(judged), missed


def test_the_first_answer_is_the_right_one_by_names_alone(graph: LabelGraph) -> None:
    assert len(BY_NAME) >= 60
    index = LabelIndex.of(graph)
    reached, missed = score(index, BY_NAME)
    assert reached >= 0.97, missed
    assert not {"dog", "cat", "car", "bird", "golden retr", "retriever golden"} & {
        line.partition(":")[0] for line in missed
    }


def test_the_first_answer_is_the_right_one_with_all_words_and_counts(folder: Path, graph: LabelGraph) -> None:
    index = LabelIndex.of(graph, rows_of_wordnet(folder, graph))
    reached, missed = score(index, BY_NAME | BY_OTHER_WORDS)
    assert reached >= 0.94, missed
    assert not {"dog", "london", "france", "hand", "plane"} & {line.partition(":")[0] for line in missed}
    dog = index.search.find("canis familiaris").items[0]
    assert (graph.keys[dog.label], dog.text, dog.kind) == ("n02084071", "Canis familiaris", "exact")
