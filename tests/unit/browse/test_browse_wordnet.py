"""How good the order of answers is, judged on the nouns of WordNet 3.0.

``judged_queries.tsv`` contains queries, each with the key of the label that should come first; of several
keys separated by blanks, any may. A query that is answered by *did you mean* is misspelled: the first answers
of the search for a name that is offered are judged.
"""

import csv
from pathlib import Path
from typing import NamedTuple

import pytest

from labelgrove.ontology.browse.labelindex import LabelIndex
from labelgrove.ontology.browse.names import nametable
from labelgrove.ontology.browse.names.search import MATCHES, Search
from labelgrove.ontology.browse.names.suggestions import did_you_mean
from labelgrove.ontology.readers import read

FIRST, AMONG_FIVE = 0.97, 1.0
"""Least share of queries whose expected label comes first, and among the first five (docs/labels.md)."""


class Judged(NamedTuple):
    """A query and the keys of which one should come first."""

    query: str
    expected: frozenset[str]


def judged(answered_by: str) -> list[Judged]:
    with Path(__file__).with_name("judged_queries.tsv").open(encoding="utf-8", newline="") as file:
        return [
            Judged(row["query"], frozenset(row["expected"].split()))
            for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
            if row["answered by"] == answered_by
        ]


QUERIES, MISSPELLED = judged("search"), judged("did you mean")


pytestmark = pytest.mark.xdist_group("search WordNet")  # one process reads and indexes it, once


@pytest.fixture(scope="module")
def wordnet(wordnet_dir):
    found = read(wordnet_dir)
    assert found.graph is not None
    return found


@pytest.fixture(scope="module")
def index(wordnet):
    return LabelIndex.of(wordnet.graph, wordnet.annotations)


def missed(index: LabelIndex, most: int) -> list[str]:
    """Return the queries without an expected label among the first `most` answers."""
    keys = index.graph.keys
    return [
        one.query
        for one in QUERIES
        if not one.expected & {keys[hit.label] for hit in index.search.find(one.query, limit=most).items}
    ]


def test_the_right_answer_comes_first(index):
    assert len(QUERIES) >= 150
    not_first = missed(index, 1)
    assert len(not_first) <= (1 - FIRST) * len(QUERIES), not_first
    assert len(missed(index, 5)) <= (1 - AMONG_FIVE) * len(QUERIES)
    assert not {"dog", "canis familiaris", "domestic dog", "cafe", "retriever golden"} & {*not_first}


def test_the_name_that_matched_is_told(index):
    dog = index.search.find("canis FAMILIARIS").items[0]
    assert (index.graph.keys[dog.label], dog.text, dog.kind) == ("n02084071", "Canis familiaris", "exact")
    assert dog.language == "en"


def test_misspelled_queries_are_told_what_they_may_mean(index):
    assert len(MISSPELLED) >= 12
    first = 0
    for query, expected in MISSPELLED:
        assert not index.search.find(query).total, query
        offered = did_you_mean(index.search, index.names, query)
        meant = [index.graph.keys[index.search.find(name).items[0].label] for name in offered]
        assert expected & {*meant}, query
        first += meant[0] in expected
    assert first >= 0.9 * len(MISSPELLED)


@pytest.mark.parametrize("rule", nametable.IMPORTANCE)
def test_without_a_rule_of_importance_answers_are_worse(rule, index, wordnet, monkeypatch):
    kept = tuple(one for one in nametable.IMPORTANCE if one != rule)
    monkeypatch.setattr(nametable, "IMPORTANCE", kept)
    without = LabelIndex.of(wordnet.graph, wordnet.annotations)
    assert {*missed(without, 1)} - {*missed(index, 1)}


@pytest.mark.parametrize("match", range(2, len(MATCHES)))  # no name in WordNet is a key
def test_without_an_order_between_two_ways_to_match_answers_are_worse(match, index, monkeypatch):
    noted = Search._note

    def as_the_way_before(self, best, way, rows):
        noted(self, best, way - (way >= match), rows)

    before = missed(index, 1)
    monkeypatch.setattr(Search, "_note", as_the_way_before)
    assert {*missed(index, 1)} - {*before}


def test_without_matches_inside_words_answers_are_worse(index, monkeypatch):
    before = missed(index, 1)
    monkeypatch.setattr("labelgrove.ontology.browse.names.search.MATCHES", MATCHES[:-1])
    assert {"noceros", "tosynth"} <= {*missed(index, 1)} - {*before}


def test_without_folding_answers_are_worse(index, monkeypatch):
    before = missed(index, 1)
    monkeypatch.setattr("labelgrove.ontology.browse.names.search.fold", str.lower)
    assert {"são paulo", "Ångström", "façade"} <= {*missed(index, 1)} - {*before}
