"""The installed WordNet, against the facts known about it."""

from __future__ import annotations

import gzip
import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from labelgrove.ontology.readers import ReadResult, read

pytestmark = pytest.mark.xdist_group("read WordNet")  # one process reads it, once


@pytest.fixture(scope="session")
def folder(wordnet_dir: Path) -> Path:
    return wordnet_dir


@pytest.fixture(scope="session")
def nouns(folder: Path) -> ReadResult:
    return read(folder)


def test_counts(nouns):
    graph = nouns.graph
    assert (graph.n_labels, graph.n_edges) == (82_115, 75_850 + 8_577)
    assert graph.roots == ("n00001740",)
    assert graph.names[0] == "entity"
    assert len(nouns.definitions) == 82_115
    assert int((np.bincount(graph.edge_child) > 1).sum()) == 2_213


def test_defects(nouns):
    counts = {d.code: d.count for d in nouns.report.defects}
    assert counts.pop("duplicate-name") > 10_000
    assert counts == {"transitive-edge": 61}


def test_the_primary_tree(nouns):
    graph = nouns.graph
    parent = graph.primary_parent
    children = np.bincount(parent[parent >= 0], minlength=graph.n_labels)
    assert int((children == 0).sum()) == 65_216
    assert int(graph.depth.max()) <= 19
    assert diameter(parent) == 34


def diameter(parent: np.ndarray) -> int:
    """Longest path of the tree, by two sweeps."""
    neighbors: list[list[int]] = [[] for _ in parent]
    for i, p in enumerate(parent.tolist()):
        if p >= 0:
            neighbors[i].append(p)
            neighbors[p].append(i)

    def farthest(start: int) -> tuple[int, int]:
        distance = {start: 0}
        queue = [start]
        for v in queue:
            for u in neighbors[v]:
                if u not in distance:
                    distance[u] = distance[v] + 1
                    queue.append(u)
        return queue[-1], distance[queue[-1]]

    return farthest(farthest(0)[0])[1]


def test_hypernyms_rank_before_instances(nouns):
    graph = nouns.graph
    several = Counter(graph.edge_child.tolist())
    assert max(graph.edge_rank) == max(several.values()) - 1


def test_the_digest_is_that_of_the_content(folder, nouns, tmp_path):
    lines = (folder / "data.noun").read_bytes().splitlines()
    random.Random(0).shuffle(lines)
    source = tmp_path / "data.noun.gz"
    source.write_bytes(gzip.compress(b"\xef\xbb\xbf" + b"\r\n".join(lines), compresslevel=1))
    again = read(source)
    assert again.graph.digest == nouns.graph.digest
    assert again.definitions == nouns.definitions


def test_verbs_have_many_roots(folder):
    result = read(folder, part="verb", strict=False)
    assert result.graph is None
    assert {d.code: d.count for d in result.report.errors} == {"roots": 559}
    graph = read(folder, part="verb", policies={"roots": "virtual"}).graph
    assert (graph.n_labels, graph.roots) == (13_768, ("root",))


def test_every_word_is_a_name_and_carries_its_uses(folder, nouns):
    held, graph = nouns.annotations, nouns.graph
    records = [
        line.split() for line in (folder / "data.noun").read_text().splitlines() if not line.startswith("  ")
    ]
    words = {f"n{r[0]}": {w.replace("_", " ") for w in r[4 : 4 + 2 * int(r[3], 16) : 2]} for r in records}
    found: dict[str, set[str]] = {key: set() for key in graph.keys}
    for subject, text in zip(held.name_subject.tolist(), held.name_texts, strict=True):
        found[graph.keys[subject]].add(text)
    assert found == words
    lines = (line.split() for line in (folder / "cntlist.rev").read_text().splitlines())
    counts = {sense: int(count) for sense, _, count in lines}
    senses = [
        f"{word.lower()}%1:{r[1]}:{int(lexical_id, 16):02d}::"
        for r in records
        for word, lexical_id in zip(r[4:-1:2], r[5:][: 2 * int(r[3], 16) : 2], strict=False)
    ]
    assert int(held.name_use.sum()) == sum(counts.get(sense, 0) for sense in senses) > 90_000


def test_the_gloss_is_a_definition_and_examples(folder, nouns):
    held, graph = nouns.annotations, nouns.graph
    lines = (folder / "data.noun").read_text().splitlines()
    glosses = {f"n{line[:8]}": line.partition("| ")[2].strip() for line in lines if line[0] != " "}
    for key, description in held.descriptions(graph):
        parts = sorted([description.definition, *description.example])
        assert sorted(glosses[key].split('; "')) == sorted(
            [part.removeprefix('"') if part in description.example else part for part in parts]
        )
    dog = held.describe(graph.keys.index("n02084071"))
    assert dog.example == ('"the dog barked all night"',)
    assert dog.line == 10_845
