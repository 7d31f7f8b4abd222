"""Reading takes time in proportion to the size of a file, also of a file that was made to be slow.

Each source below took minutes where a rule of its reader was applied to the whole file once for each record.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from labelgrove.ontology.readers import read
from labelgrove.ontology.readers.chains import chain_ends, kept_ancestors
from tests.services import patient

N = 20_000
PATIENT_S = patient(10)


def _obsolete_chain() -> str:
    terms = [
        f"[Term]\nid: OLD:{i}\nname: old {i}\nis_obsolete: true\nreplaced_by: OLD:{i + 1}\n\n"
        f"[Term]\nid: C:{i}\nname: child {i}\nis_a: OLD:{i}\n\n"
        for i in range(N)
    ]
    return f"format-version: 1.2\n\n{''.join(terms)}[Term]\nid: OLD:{N}\nname: new\nis_a: OLD:0\n"


def _synonyms_of_synonyms() -> str:
    rows = "".join(f"A{i},name {i},,A{i + 1}\n" for i in range(N))
    return (
        f"taxonID,scientificName,parentNameUsageID,acceptedNameUsageID\nroot,all,,\nA{N},name,root,\n{rows}"
    )


def _deep_records() -> str:
    rows = "".join(
        f"G{i},genus {i},{f'G{i + 1}' if i < N - 1 else 'root'},genus\nS{i},species {i},G{i},species\n"
        for i in range(N)
    )
    return f"id,name,parent,taxonRank\nroot,all,,species\n{rows}"


def _deep_taxa() -> str:
    rows = "".join(
        f"{i + 2}\t|\t{i + 3 if i < N - 1 else 1}\t|\tgenus\t|\n{i + 10**6}\t|\t{i + 2}\t|\tspecies\t|\n"
        for i in range(N)
    )
    return f"1\t|\t1\t|\tno rank\t|\n{rows}"


def _equivalent_classes() -> str:
    classes = "".join(
        f'e:a r:label "name {i}" ; o:equivalentClass e:b{i} .\ne:b{i} a o:Class .\n' for i in range(N)
    )
    return (
        "@prefix o: <http://www.w3.org/2002/07/owl#> .\n"
        "@prefix r: <http://www.w3.org/2000/01/rdf-schema#> .\n"
        f"@prefix e: <http://e.org/> .\ne:a a o:Class .\n{classes}"
    )


def _prefixes_of_json() -> str:
    context = ",".join(f'"p{i}":"http://e{i}.org/"' for i in range(N))
    nodes = ",\n".join(f'{{"@id":"p{i}:x","s:broader":{{"@id":"s:top"}}}}' for i in range(N))
    return f'{{"@context":{{"s":"http://www.w3.org/2004/02/skos/core#",{context}}},\n"@graph":[{nodes}]}}'


def _prefixes_of_turtle() -> str:
    prefixes = "".join(f"@prefix p{i}: <http://e{i}.org/> .\n" for i in range(N))
    concepts = "".join(f"p{i}:x s:broader p0:top .\n" for i in range(N))
    return f"@prefix s: <http://www.w3.org/2004/02/skos/core#> .\n{prefixes}{concepts}"


def _columns_of_levels(first: str) -> str:
    return f"{first}{',l1' * 2 * N}\nroot{',a' * 2 * N}\n"


def _members_of_one_record_each() -> str:
    return json.dumps([{"key": f"k{i}", "parent": "root", f"color {i}": "red"} for i in range(N)])


def _unknown_tags() -> str:
    tags = "".join(f"tag{i}: x\n" for i in range(15 * N))
    return f"format-version: 1.2\n\n[Term]\nid: A\nname: a\n{tags}"


SLOW = {
    "tags.obo": (_unknown_tags, {}),
    "obsolete.obo": (_obsolete_chain, {}),
    "synonyms.csv": (_synonyms_of_synonyms, {}),
    "levels.csv": (_deep_records, {"levels": ["species"]}),
    "nodes.dmp": (_deep_taxa, {"levels": ["species"]}),
    "named.csv": (lambda: _columns_of_levels("name"), {}),
    "paths.csv": (lambda: _columns_of_levels("l1"), {}),
    "members.json": (_members_of_one_record_each, {}),
    "equivalent.ttl": (_equivalent_classes, {}),
    "prefixes.jsonld": (_prefixes_of_json, {}),
    "prefixes.ttl": (_prefixes_of_turtle, {"key": "curie"}),
}


@pytest.mark.parametrize("name", SLOW)
def test_time_does_not_grow_with_the_square_of_a_file(name, tmp_path):
    write, options = SLOW[name]
    (tmp_path / name).write_text(write())
    begin = time.monotonic()
    read(tmp_path / name, strict=False, **options)
    assert time.monotonic() - begin < PATIENT_S


def test_ids_that_were_merged_one_into_the_other(tmp_path: Path):
    (tmp_path / "nodes.dmp").write_text("1\t|\t1\t|\tno rank\t|\n2\t|\t1\t|\tno rank\t|\n")
    merged = "".join(f"{i + 3}\t|\t{i + 4 if i < N - 1 else 2}\t|\n" for i in range(N))
    (tmp_path / "merged.dmp").write_text(merged)
    begin = time.monotonic()
    result = read(tmp_path / "nodes.dmp", strict=False)
    assert time.monotonic() - begin < PATIENT_S
    held = result.annotations.describe(result.graph.keys.index("2"))
    assert len(held.alternative_id) == N


def test_chains_end_where_following_them_step_by_step_ends():
    after = {"a": "b", "b": "c", "d": "b", "x": "y", "y": "z", "z": "y", "w": "x", "s": "s"}

    def followed(key: str) -> str | None:
        passed = set()
        while key in after:
            if key in passed:
                return None
            passed.add(key)
            key = after[key]
        return key

    assert chain_ends(after) == {key: followed(key) for key in after}


def test_kept_ancestors_are_found_over_loops_and_several_parents():
    left_out = {
        "a": ["b", "c"],
        "b": ["d"],
        "c": ["d", "k"],
        "d": ["a", "l"],
        "x": ["y"],
        "y": ["x"],
        "t": [],
    }
    above = kept_ancestors(left_out)
    assert [above(key) for key in ("a", "b", "x", "t", "k")] == [["k", "l"], ["k", "l"], [], [], ["k"]]
