"""RDF: the meaning of each statement, all syntaxes alike, and rdflib as an oracle."""

from __future__ import annotations

import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from labelgrove.ontology.annotations import Description, Name
from labelgrove.ontology.errors import DefectsError, InputError
from labelgrove.ontology.readers import ReadResult, fingerprint, read
from labelgrove.ontology.readers.formats.rdf import triples
from labelgrove.ontology.readers.formats.rdf.labels import chosen_iri
from tests.rdforacle import SYNTAXES, expected, rdflib_graph, written
from tests.unit.readers.rdf_corpus import OWL, SKOS, TURTLE, XML

E = "http://e.org/"
KEEP = {"roots": "keep"}


def read_text(folder: Path, text: str, name: str = "source.ttl", **options: object) -> ReadResult:
    source = folder / name
    source.write_text(text)
    return read(source, **{"policies": KEEP, **options})  # type: ignore[arg-type]


def turtle(folder: Path, text: str, **options: object) -> ReadResult:
    return read_text(folder, TURTLE + "@prefix dct: <http://purl.org/dc/terms/> .\n" + text, **options)


def edges(result: ReadResult) -> set[tuple[str, str]]:
    assert result.graph is not None
    return {(child.removeprefix(E), parent.removeprefix(E)) for child, parent, _, _ in result.graph.edges()}


def describe(result: ReadResult, key: str) -> Description:
    assert result.graph is not None
    assert result.annotations is not None
    return result.annotations.describe(result.graph.keys.index(key))


def named_descriptions(result: ReadResult) -> list[tuple[str, Description]]:
    """Return the descriptions, each with the name of the label in the graph if no language is known of it."""
    assert result.graph is not None
    assert result.annotations is not None
    held = dict(result.annotations.descriptions(result.graph))
    for key, name in zip(result.graph.keys, result.graph.names, strict=True):
        if not any(one.text == name and one.kind == "preferred" for one in held[key].names):
            held[key] = replace(held[key], names=(*held[key].names, Name(name, "preferred")))
    return list(held.items())


def names(result: ReadResult, key: str) -> set[tuple[str, str, str]]:
    return {(name.text, name.kind, name.language) for name in describe(result, key).names}


# ---- oracle ----------------------------------------------------------------------------------------------

VOCABULARY = """
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix e: <http://e.org/> .
e:a a skos:Concept ; skos:prefLabel "animal"@en, "Tier"@de ; skos:notation "1" ; skos:narrower e:c .
e:d a skos:Concept ; skos:prefLabel "dog"@en, "Hund"@de ; skos:altLabel "domestic dog"@en, "Köter"@de ;
  skos:hiddenLabel "dgo" ; skos:broader e:a ; skos:definition "It \\"barks\\"."@en ; skos:example "Rex" .
e:c a skos:Concept ; skos:prefLabel "cat"@en-GB ; skos:broader e:a, e:p ; owl:deprecated true ;
  <http://purl.org/dc/terms/isReplacedBy> e:d .
e:p a skos:Concept ; skos:prefLabel "pet" .
"""
ONTOLOGY = """
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix obo: <http://www.geneontology.org/formats/oboInOwl#> .
@prefix e: <http://e.org/> .
e:a a owl:Class ; rdfs:label "animal" ; rdfs:subClassOf owl:Thing .
e:d a owl:Class ; rdfs:label "dog"@en ; obo:hasExactSynonym "hound" ; obo:hasNarrowSynonym "pug"@en ;
  obo:hasBroadSynonym "pet" ; obo:hasRelatedSynonym "wolf" ; rdfs:comment "It barks." ;
  rdfs:subClassOf e:a, [ a owl:Restriction ; owl:onProperty e:part ; owl:someValuesFrom e:b ] .
e:b a owl:Class ; rdfs:label "body" ; rdfs:subClassOf e:a .
e:x a owl:Class ; owl:deprecated true ; rdfs:label "old dog" .
"""


@pytest.mark.parametrize("text", [VOCABULARY, ONTOLOGY], ids=["skos", "owl"])
def test_all_syntaxes_give_the_same_graph_and_annotations_and_agree_with_rdflib(text, tmp_path):
    graph = rdflib_graph(data=text)
    found = set()
    for syntax, ending in SYNTAXES.items():
        source = tmp_path / f"source.{ending}"
        source.write_text(written(graph, syntax))
        result = read(source, policies=KEEP)
        assert result.report.format == "rdf"
        assert result.graph is not None
        assert result.annotations is not None
        arrays, _ = result.annotations.to_arrays("")
        arrays.pop("line")
        found.add((result.graph.digest, *((name, array.tobytes()) for name, array in sorted(arrays.items()))))
        assert expected(graph) == {
            key: (set(description.names), description.deprecated, set(description.replaced_by))
            for key, description in named_descriptions(result)
        }
    assert len(found) == 1


def test_the_order_of_statements_does_not_matter(tmp_path):
    lines = written(rdflib_graph(data=VOCABULARY + ONTOLOGY), "nt").splitlines(keepends=True)
    found = set()
    for seed in range(20):
        random.Random(seed).shuffle(lines)
        for name in ("source.nt", "source.ttl"):
            result = read_text(tmp_path, "".join(lines), name, vocabulary="classes" if seed % 2 else "skos")
            arrays, _ = result.annotations.to_arrays("")
            arrays.pop("line")
            found.add((result.graph.digest, *(array.tobytes() for array in arrays.values())))
    assert len(found) == 2


# ---- meaning ---------------------------------------------------------------------------------------------


def test_a_report_names_the_places_in_the_order_of_the_file(tmp_path):
    concepts = "".join(f'e:c{i} a s:Concept ; s:prefLabel "a {i}", "b {i}" .\n' for i in range(50))
    text = f"@prefix s: <http://www.w3.org/2004/02/skos/core#> .\n@prefix e: <http://e.org/> .\n{concepts}"
    result = read_text(tmp_path, text, "source.ttl")
    (found,) = (defect for defect in result.report.defects if defect.code == "conflicting-texts")
    assert [line for _, line in found.places] == sorted(line for _, line in found.places)


def test_narrower_is_the_inverse_of_broader_and_both_give_one_edge(tmp_path):
    result = turtle(tmp_path, SKOS + "e:a skos:narrower e:d, e:c .\ne:c a skos:Concept .")
    assert edges(result) == {("d", "a"), ("c", "a")}
    assert "duplicate-edge" not in {d.code for d in result.report.defects}


def test_transitive_statements_count_only_without_direct_ones(tmp_path):
    text = "e:x a skos:Concept ; skos:broaderTransitive e:y .\ne:y skos:narrowerTransitive e:z .\n"
    assert edges(turtle(tmp_path, text)) == {("x", "y"), ("z", "y")}
    assert edges(turtle(tmp_path, SKOS + text)) == {("d", "a")}


def test_ends_of_broader_are_concepts_if_nothing_is_declared(tmp_path):
    assert edges(turtle(tmp_path, "e:x skos:broader e:y .")) == {("x", "y")}
    assert edges(turtle(tmp_path, OWL + "e:x skos:broader e:y .")) == {("d", "a")}


def test_schemes_and_top_concepts(tmp_path):
    text = SKOS + "e:s skos:hasTopConcept e:a .\ne:d skos:inScheme e:s .\ne:x skos:topConceptOf e:t ."
    for scheme in ("http://e.org/s", "e:s", "s"):
        assert list(turtle(tmp_path, text, scheme=scheme).graph.keys) == [E + "a", E + "d"]
    assert turtle(tmp_path, text).graph.n_labels == 3
    with pytest.raises(InputError, match=r"scheme: .*has no 'u'.*http://e.org/s, http://e.org/t"):
        turtle(tmp_path, text, scheme="u")
    with pytest.raises(InputError, match=r"is read as classes, which have no schemes"):
        turtle(tmp_path, OWL, scheme="s")


def test_the_vocabulary_with_more_edges_is_read_unless_the_caller_chooses(tmp_path):
    both = SKOS + 'e:C a owl:Class ; rdfs:label "class" .\n'
    assert edges(turtle(tmp_path, both)) == {("d", "a")}
    assert list(turtle(tmp_path, both, vocabulary="classes").graph.keys) == [E + "C"]
    tie = both + "e:D rdfs:subClassOf e:C .\n"
    assert edges(turtle(tmp_path, tie)) == {("d", "a")}
    assert edges(turtle(tmp_path, tie + "e:F rdfs:subClassOf e:C .\n")) == {("D", "C"), ("F", "C")}


def test_classes_of_the_languages_and_instances_are_not_labels(tmp_path):
    text = OWL + "e:a rdfs:subClassOf owl:Thing, rdfs:Resource .\ne:rex a e:d .\ne:p a owl:ObjectProperty .\n"
    assert list(turtle(tmp_path, text).graph.keys) == [E + "a", E + "d"]


def test_a_class_that_is_also_an_individual_stays_a_label_and_its_type_is_not_a_parent(tmp_path):
    text = OWL + 'e:x a owl:Class, owl:NamedIndividual, e:a ; rdfs:label "x" .'
    result = turtle(tmp_path, text)
    assert E + "x" in result.graph.keys
    assert edges(result) == {("d", "a")}


def test_restrictions_give_edges_for_the_properties_that_the_caller_names(tmp_path):
    text = OWL + (
        'e:part_of rdfs:label "is part of" .\ne:b a owl:Class ; rdfs:label "body" ; rdfs:subClassOf e:a .\n'
        "e:d rdfs:subClassOf [ owl:onProperty e:part_of ; owl:someValuesFrom e:b ] .\n"
    )
    assert edges(turtle(tmp_path, text)) == {("d", "a"), ("b", "a")}
    for name in ("part_of", "e:part_of", "http://e.org/part_of", "is part of", "is_part_of"):
        assert edges(turtle(tmp_path, text, relation=name)) == {("d", "b")}
    both = turtle(tmp_path, text, relation="part_of, subClassOf")
    assert edges(both) == {("d", "b"), ("d", "a"), ("b", "a")}
    ranks = {(child, parent): rank for child, parent, _, rank in both.graph.edges()}
    assert (ranks[E + "d", E + "b"], ranks[E + "d", E + "a"]) == (0, 1)
    with pytest.raises(InputError, match=r"relation: .* has no 'parts_of'; close to it: 'part_of'"):
        turtle(tmp_path, text, relation="parts_of")


def test_equivalent_classes_become_one_label(tmp_path):
    text = OWL + (
        'e:dog a owl:Class ; owl:equivalentClass e:d ; rdfs:label "hound" ; rdfs:subClassOf e:a, e:d .\n'
        "e:pug a owl:Class ; rdfs:subClassOf e:dog .\ne:d owl:equivalentClass <http://f.org/d> .\n"
    )
    result = turtle(tmp_path, text)
    assert edges(result) == {("d", "a"), ("pug", "d")}
    assert describe(result, E + "d").alternative_id == (E + "dog",)
    assert ("hound", "exact", "") in names(result, E + "d")
    kept = turtle(tmp_path, text, policies={**KEEP, "equivalent-class": "warn"})
    assert edges(kept) == {("d", "a"), ("dog", "a"), ("dog", "d"), ("pug", "dog")}


def test_the_label_of_equivalent_classes_is_one_in_use_with_a_name(tmp_path):
    text = (
        'e:a a owl:Class ; rdfs:label "x" ; owl:deprecated true ; owl:equivalentClass e:b, e:c .\n'
        'e:b a owl:Class .\ne:c a owl:Class ; rdfs:label "c" .\ne:x rdfs:subClassOf e:b .\n'
    )
    assert edges(turtle(tmp_path, text)) == {("x", "c")}


def test_the_language_of_names(tmp_path):
    text = (
        'e:a a skos:Concept ; skos:prefLabel "animal"@en, "Tier"@de, "animal"@fr .\n'
        'e:d a skos:Concept ; skos:broader e:a ; skos:prefLabel "Hund"@de, "chien"@fr .\n'
        'e:c a skos:Concept ; skos:broader e:a ; skos:prefLabel "cat"@en-GB, "Katze"@de .\n'
    )

    def shown(**options):
        graph = turtle(tmp_path, text, **options).graph
        return list(graph.names)

    assert shown() == ["animal", "cat", "Hund"]
    assert shown(language="DE") == ["Tier", "Katze", "Hund"]
    assert shown(language="fr") == ["animal", "Katze", "chien"]
    without_english = text.replace("@en-GB", "@nl").replace("@en", "@nl")
    graph = turtle(tmp_path, without_english).graph
    assert list(graph.names) == ["Tier", "Katze", "Hund"]


def test_names_of_several_predicates(tmp_path):
    text = SKOS + 'e:d rdfs:label "dog", "hound" ; skos:altLabel "Rex" ; skos:hiddenLabel "dgo" .'
    assert names(turtle(tmp_path, text), E + "d") == {
        ("dog", "preferred", "en"), ("hound", "exact", ""), ("Rex", "exact", ""), ("dgo", "related", "")
    }  # fmt: skip


def test_the_most_specific_definition_is_used(tmp_path):
    text = OWL + 'e:d rdfs:comment "a comment" .\n'
    assert describe(turtle(tmp_path, text), E + "d").definition == "a comment"
    text += 'e:d <http://purl.obolibrary.org/obo/IAO_0000115> "a term" .\n'
    assert describe(turtle(tmp_path, text), E + "d").definition == "a term"
    text += 'e:d skos:definition "ein Hund"@de, "a dog"@en .\n'
    assert describe(turtle(tmp_path, text, language="en"), E + "d").definition == "a dog"
    assert describe(turtle(tmp_path, text, language="de"), E + "d").definition == "ein Hund"


@pytest.mark.parametrize(
    "predicate",
    [
        "dct:isReplacedBy",
        "<http://purl.obolibrary.org/obo/IAO_0100001>",
        "<http://schema.org/supersededBy>",
        "<https://schema.org/supersededBy>",
        "<https://brickschema.org/schema/Brick#isReplacedBy>",
    ],
)
def test_replacements(predicate, tmp_path):
    result = turtle(tmp_path, OWL + f"e:x a owl:Class ; owl:deprecated true ; {predicate} e:d .")
    assert list(result.annotations.retired) == [E + "x"]
    assert result.annotations.describe(2).replaced_by == (E + "d",)


def test_ids_of_obo_become_keys(tmp_path):
    text = (
        'e:HP_1 a owl:Class ; rdfs:label "all" .\n'
        'e:HP_2 a owl:Class ; rdfs:label "a" ; rdfs:subClassOf e:HP_1 ; obo:hasAlternativeId "HP:3", "X" ;\n'
        '  obo:consider "HP:1" ; obo:hasDbXref "SNOMED:1" .\n'
    )
    found = describe(turtle(tmp_path, text), E + "HP_2")
    assert found.alternative_id == ("X", E + "HP_3")
    assert found.consider == (E + "HP_1",)
    assert found.reference == ("SNOMED:1",)


@pytest.mark.parametrize(
    ("key", "keys"),
    [
        ("iri", [E + "a", E + "d"]),
        ("curie", ["e:a", "e:d"]),
        ("local", ["a", "d"]),
        ("notation", ["1", "2"]),
    ],
)
def test_keys(key, keys, tmp_path):
    text = SKOS + 'e:a skos:notation "1" .\ne:d skos:notation "2" ; dct:isReplacedBy e:a .'
    result = turtle(tmp_path, text, key=key)
    assert list(result.graph.keys) == keys
    assert describe(result, keys[1]).replaced_by == (keys[0],)


def test_an_option_that_is_not_allowed_is_refused(tmp_path):
    for options in ({"key": "name"}, {"vocabulary": "owl"}):
        with pytest.raises(InputError, match="is not allowed; choose from"):
            turtle(tmp_path, SKOS, **options)


def test_every_option_is_part_of_the_fingerprint(tmp_path):
    source = tmp_path / "source.ttl"
    source.write_text(TURTLE + SKOS)
    asked = [{}, {"key": "local"}, {"language": "de"}, {"scheme": "s"}, {"vocabulary": "skos"}]
    assert len({fingerprint(source, **options) for options in asked}) == len(asked)


def test_a_name_that_means_several_iris_is_refused():
    with pytest.raises(InputError, match=r"'s' means several in f: http://a/s, http://b/s; give one IRI"):
        chosen_iri("scheme", "s", {"http://a/s", "http://b/s"}, {}, "f")


# ---- safety ----------------------------------------------------------------------------------------------


def test_plain_entities_and_another_prefix_for_rdf_are_read(tmp_path):
    text = '<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE r [<!ENTITY e "http://e.org/">]>\n' + XML
    text = text.replace("rdf:", "r:").replace("xmlns:rdf=", "xmlns:r=")
    result = read_text(tmp_path, text + '<owl:Class r:about="&e;x"/></r:RDF>', "source.owl")
    assert list(result.graph.keys) == [E + "a", E + "d", E + "x"]


def test_a_file_that_expands_far_is_not_read_on(tmp_path, monkeypatch):
    monkeypatch.setattr(triples, "EXPANDED_FLOOR", 1 << 20)
    text = f"@prefix f: <http://e.org/{'x' * 3900}> .\n" + "".join(f"f:{i} f:p f:b .\n" for i in range(1000))
    result = read_text(tmp_path, text, strict=False)
    (defect,) = [d for d in result.report.defects if d.code == "rdf-expansion"]
    assert 1 < defect.places[0][1] < 1000
    monkeypatch.setattr(triples, "MOST_TRIPLES", 1)
    result = read_text(tmp_path, TURTLE + SKOS, strict=False)
    assert {d.code for d in result.report.errors} == {"rdf-expansion"}


@pytest.mark.parametrize("name", ["source.nq", "source.ttl"])
def test_the_whole_file_is_checked_after_errors_up_to_a_limit(name, tmp_path, monkeypatch):
    good = "<http://e.org/d> <http://www.w3.org/2004/02/skos/core#broader> <http://e.org/a> .\n"
    text = good * 100 + ("<x:y> bad <x:z> .\n" + good) * 8
    if name.endswith("ttl"):
        text = "@prefix e: <http://e.org/> .\n" + text
    result = read_text(tmp_path, text, name, strict=False)
    (defect,) = [d for d in result.report.errors if d.code == "rdf-statement"]
    first = 101 + name.endswith("ttl")
    assert [line for _, line in defect.places] == list(range(first, first + 16, 2))
    monkeypatch.setattr(triples, "MOST_ERRORS", 3)
    result = read_text(tmp_path, text, name, strict=False)
    assert {d.code: d.count for d in result.report.errors} == {"rdf-statement": 3, "rdf-document": 1}


def test_without_its_package_the_error_names_the_extra(tmp_path):
    source = tmp_path / "source.ttl"
    source.write_text(TURTLE + SKOS)
    code = (
        "import sys; sys.modules['pyoxigraph'] = None\n"
        "from labelgrove.ontology import read\n"
        "from labelgrove.ontology.errors import MissingExtraError\n"
        f"try: read({str(source)!r})\n"
        "except MissingExtraError as error: print(error)\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "reading RDF needs the package 'pyoxigraph' of the extra 'rdf'; install it with: " in ran.stdout


@pytest.mark.parametrize(
    "context", ['[{}, "http://e.org/c"]', '{"@version": 1.1, "@import": "http://e.org/c"}']
)
def test_no_context_is_loaded_wherever_it_is_named(context, tmp_path):
    text = f'{{"@context": {context}, "@graph": []}}'
    with pytest.raises(DefectsError, match="remote-context"):
        read_text(tmp_path, text, "source.jsonld", format="rdf")


def test_children_of_an_obsolete_class_go_below_the_class_that_replaces_it(tmp_path):
    text = """@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix dct: <http://purl.org/dc/terms/> .
<x:a> a owl:Class . <x:b> a owl:Class ; rdfs:subClassOf <x:a> .
<x:old> a owl:Class ; owl:deprecated true ; dct:isReplacedBy <x:b> .
<x:c> rdfs:subClassOf <x:old> .
"""
    result = read_text(tmp_path, text, "source.ttl", policies={"obsolete-parent": "fix"})
    assert edges(result) == {("x:b", "x:a"), ("x:c", "x:b")}
