"""Labels that replace retired keys: chains, cycles, several replacements, and limits on hostile sources."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelgrove.ontology.annotations import Annotations, Description
from labelgrove.ontology.browse.labelindex import LabelIndex
from labelgrove.ontology.browse.names.replaced import MOST_REPLACEMENTS, MOST_STEPS, replaced_by
from labelgrove.ontology.errors import InputError
from labelgrove.ontology.labelgraph import LabelGraph

LABELS = [f"k{i}" for i in range(4)]
GRAPH = LabelGraph.from_edges([], labels=LABELS)


def replacements(graph: LabelGraph, described: dict[str, Description]) -> dict[str, set[str]]:
    annotations = Annotations.of(graph, described)
    found: dict[str, set[str]] = {}
    for retired, label in zip(*replaced_by(graph, annotations), strict=True):
        found.setdefault(annotations.retired[int(retired)], set()).add(graph.keys[int(label)])
    return found


KEYS = st.sampled_from([*LABELS, *(f"r{i}" for i in range(5)), "former", "unknown"])


@given(st.dictionaries(st.sampled_from([f"r{i}" for i in range(5)]), st.lists(KEYS, max_size=3)))
def test_replacements_are_the_labels_that_can_be_reached(targets):
    described = {key: Description(replaced_by=tuple(set(found))) for key, found in targets.items()}
    described["k2"] = Description(alternative_id=("former",), replaced_by=("k0",))

    def reached(key: str, seen: frozenset[str]) -> set[str]:
        if key in LABELS or key == "former":
            return {"k2" if key == "former" else key}
        below = targets.get(key, []) if key not in seen else []
        return set().union(*(reached(target, seen | {key}) for target in below))

    wanted = {key: found for key in targets if (found := reached(key, frozenset()))}
    assert replacements(GRAPH, described) == wanted


@pytest.mark.parametrize("length", [MOST_STEPS, MOST_STEPS + 1, MOST_STEPS + 2])
def test_chains_are_followed_over_a_limited_number_of_retired_keys(length):
    described = {f"r{i:02}": Description(replaced_by=(f"r{i - 1:02}",)) for i in range(1, length)}
    described["r00"] = Description(replaced_by=("k0",))
    found = replacements(GRAPH, described)
    assert len(found) == min(length, MOST_STEPS + 1)
    assert set().union(*found.values()) == {"k0"}


def test_a_key_with_very_many_replacements_has_the_first_of_them_in_a_moment():
    graph = LabelGraph.from_edges([], labels=[f"k{i:04}" for i in range(2_000)])
    everything = Description(replaced_by=tuple(graph.keys))
    others = tuple(f"r{i:03}" for i in range(300))
    described = {key: Description(replaced_by=others) for key in others} | {"r000": everything}
    begin = time.process_time()
    found = replacements(graph, described)
    assert time.process_time() - begin < 10
    assert {tuple(sorted(keys)) for keys in found.values()} == {tuple(graph.keys[:MOST_REPLACEMENTS])}
    assert len(found) == len(others)


def test_names_of_a_retired_key_find_every_label_that_replaces_it():
    described = {
        "r1": Description(replaced_by=("k0", "k3"), alternative_id=("r0",), line=3),
        "k1": Description(deprecated=True, replaced_by=("k2",)),  # a label still: it is found itself
    }
    search = LabelIndex.of(GRAPH, Annotations.of(GRAPH, described)).search
    for text in ("r1", "r0"):
        assert [GRAPH.keys[hit.label] for hit in search.find(text).items] == ["k0", "k3"]
        assert {hit.kind for hit in search.find(text).items} == {"former"}
    assert [GRAPH.keys[hit.label] for hit in search.find("k1").items] == ["k1"]


def test_languages_without_an_unknown_one_are_refused():
    arrays, _ = Annotations.of(GRAPH, {}).to_arrays("")
    for blob, offsets in ((b"", [0]), (b"de", [0, 2])):
        broken = {
            "languages.blob": np.frombuffer(blob, dtype=np.uint8),
            "languages.offsets": np.array(offsets),
        }
        with pytest.raises(InputError, match="languages: the first one must be the empty text"):
            Annotations(arrays | broken, len(GRAPH))
