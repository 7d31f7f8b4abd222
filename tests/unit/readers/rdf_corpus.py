"""Malformed and hostile RDF: each case breaks one rule, in the syntax where it matters."""

from __future__ import annotations

from typing import Any

from tests.unit.readers.cases import Case

__all__ = ["RDF_CASES", "RDF_SOUND"]

TURTLE = """@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix obo: <http://www.geneontology.org/formats/oboInOwl#> .
@prefix dct: <http://purl.org/dc/terms/> . @prefix e: <http://e.org/> .
"""
"""Five lines: what a case adds begins in line 6."""

RDF_SOUND = (
    b"@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n@prefix e: <http://e.org/animals#> .# a b\n"
    b'e:animal a skos:Concept ; skos:prefLabel "animal"@en .\n'
    b'e:dog a skos:Concept ; skos:prefLabel "dog"@en ; skos:broader e:animal .\n'
    b'e:cat a skos:Concept ; skos:prefLabel "cat"@en ; skos:broader e:animal .\n'
)

SKOS = (
    'e:a a skos:Concept ; skos:prefLabel "animal"@en .\n'
    'e:d a skos:Concept ; skos:prefLabel "dog"@en ; skos:broader e:a .\n'
)
"""Two lines: the next one is line 8."""

OWL = 'e:a a owl:Class ; rdfs:label "animal" .\ne:d a owl:Class ; rdfs:label "dog" ; rdfs:subClassOf e:a .\n'

QUADS = "".join(
    f"<http://e.org/d{i}> <http://www.w3.org/2004/02/skos/core#broader> <http://e.org/a> .\n"
    for i in range(10)
)
"""Ten lines: a case adds line 11, and at most one more."""

XML = (
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"\n'
    ' xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#" xmlns:owl="http://www.w3.org/2002/07/owl#">\n'
    '<owl:Class rdf:about="http://e.org/a"/>\n'
    '<owl:Class rdf:about="http://e.org/d"><rdfs:subClassOf rdf:resource="http://e.org/a"/></owl:Class>\n'
)
"""Four lines, not closed."""

JSON = (
    '{"@context": {"skos": "http://www.w3.org/2004/02/skos/core#", "e": "http://e.org/"}, "@graph": [\n'
    '{"@id": "e:a", "@type": "skos:Concept", "skos:prefLabel": "animal"},\n'
    '{"@id": "e:d", "@type": "skos:Concept", "skos:broader": {"@id": "e:a"}}'
)
"""Three lines, not closed."""


def _case(code: str, line: int, note: str, text: str | bytes, name: str, **options: Any) -> Case:
    content = text if isinstance(text, bytes) else text.encode()
    return Case("rdf", code, line, content, options, name=name, note=note)


def _turtle(code: str, line: int, note: str, text: str, **options: Any) -> Case:
    """A defect in what follows the prefixes; `line` is counted from there."""
    return _case(code, 5 + line, note, TURTLE + text, "source.ttl", **options)


def _skos(code: str, note: str, text: str, line: int = 1, **options: Any) -> Case:
    return _turtle(code, 2 + line, note, SKOS + text + "\n", **options)


def _owl(code: str, note: str, text: str, line: int = 1, **options: Any) -> Case:
    return _turtle(code, 2 + line, note, OWL + text + "\n", **options)


def _quads(code: str, note: str, text: str, line: int = 1, **options: Any) -> Case:
    return _case(code, 10 + line, note, QUADS + text + "\n", "source.nq", **options)


def _xml(
    code: str, line: int, note: str, text: str = "", before: str = "", end: str = "</rdf:RDF>\n"
) -> Case:
    """A defect in what stands before the root, or after four lines of it."""
    return _case(code, line, note, before + XML + text + end, "source.rdf")


def _json(code: str, line: int, note: str, text: str = "", end: str = "\n]}\n", start: str = JSON) -> Case:
    return _case(code, line, note, start + text + end, "source.jsonld")


def _grammar() -> list[Case]:
    triple = "<http://e.org/x> <http://www.w3.org/2004/02/skos/core#broader>"
    return [
        _skos("rdf-statement", "missing dot", "e:x skos:broader e:a\ne:y skos:broader e:a .", 2),
        _skos("rdf-statement", "unknown prefix", "e:x f:broader e:a ."),
        _skos("rdf-statement", "text as subject", '"x" skos:broader e:a .'),
        _skos("rdf-statement", "text as predicate", 'e:x "broader" e:a .'),
        _skos("rdf-statement", "no object", "e:x skos:broader ."),
        _skos("rdf-statement", "blank predicate", "e:x _:b e:a ."),
        _skos("rdf-statement", "bare word", "e:x skos:broader animal ."),
        _skos("rdf-statement", "open list", "e:x skos:broader ( e:a ."),
        _skos("rdf-statement", "open node", "e:x skos:broader [ e:p e:a ."),
        _skos("rdf-statement", "stray bracket", "e:x skos:broader e:a ] ."),
        _skos("rdf-statement", "bad escape", r'e:x skos:prefLabel "a\qb" .'),
        _skos("rdf-statement", "half a surrogate pair", r'e:x skos:prefLabel "\ud800" .'),
        _skos("rdf-statement", "missing quote", 'e:x skos:prefLabel "x .\ne:y skos:prefLabel "y" .'),
        _skos("rdf-statement", "datatype without IRI", 'e:x skos:prefLabel "a"^^x .'),
        _skos("rdf-statement", "prefix without IRI", "@prefix f: e:x .\ne:x skos:broader e:a ."),
        _skos("rdf-statement", "language tag", 'e:x skos:prefLabel "a"@1 .'),
        _skos(
            "rdf-statement",
            "graph in a graph",
            "e:g { e:h { e:x skos:broader e:a } }\ne:y skos:broader e:a .",
        ),
        _skos("rdf-statement", "byte order mark escaped", "\\uFEFF e:x skos:broader e:a ."),
        _skos("rdf-document", "open long text", 'e:x skos:prefLabel """a .\ne:y skos:broader e:a .'),
        _skos("rdf-document", "cut off in an IRI", "e:x skos:broader <http://e.org/"),
        _turtle("rdf-document", 3, "cut off before the dot", SKOS + "e:x skos:broader e:a"),
        _quads("rdf-statement", "line without dot", triple + " <http://e.org/a>"),
        _quads(
            "rdf-statement", "two objects and a graph", triple + " <http://e.org/a> <http://e.org/g> <x:y> ."
        ),
        _quads("rdf-statement", "open text", '<x:y> <x:z> "a .'),
        _quads("rdf-statement", "text over two lines", '<x:y> <x:z> "a\nb" .'),
        _quads("rdf-statement", "prefixed name", "e:x <x:z> <x:y> ."),
        _quads("rdf-statement", "predicate is a text", '<x:y> "z" <x:y> .'),
        _xml("rdf-document", 4, "XML cut off", end=""),
        _xml("rdf-document", 6, "tag not closed", "<owl:Class>\n"),
        _xml("rdf-document", 5, "unknown entity", '<owl:Class rdf:about="&e;x"/>'),
        _xml("rdf-document", 5, "attribute twice", '<owl:Class rdf:about="x:y" rdf:about="x:z"/>'),
        _xml("rdf-document", 5, "second root", "", end="</rdf:RDF><x/>\n"),
        _xml("rdf-document", 1, "other encoding", before='<?xml version="1.0" encoding="ISO-8859-1"?>'),
        _xml("rdf-document", 5, "forbidden attribute", '<owl:Class rdf:aboutEach="x"/>'),
        _xml("rdf-document", 5, "bad ID", '<owl:Class rdf:ID="1 2"/>'),
        _xml("rdf-document", 5, "undeclared prefix", "<f:Class/>"),
        _json("rdf-document", 4, "trailing comma", ",\n,"),
        _json("rdf-document", 3, "cut off", end=""),
        _json("rdf-document", 4, "NaN", ',\n{"@id": "e:x", "skos:prefLabel": NaN}'),
        _json("rdf-document", 4, "open text", ',\n{"@id": "e:x}'),
        _json("rdf-document", 5, "number as id", ',\n{"@id": 1}'),
        _json(
            "rdf-document", 5, "bad value", ',\n{"@id": "e:x", "skos:prefLabel": {"@value": "a", "@id": "b"}}'
        ),
    ]


def _hostile() -> list[Case]:
    head = '<?xml version="1.0"?>\n'
    quoted = "<<( <x:a> <x:b> " * 1001 + "<x:c>" + " )>>" * 1001
    return [
        _skos("rdf-nesting", "quoted triples", f"e:x e:p {quoted} ."),
        _quads("rdf-nesting", "quoted triples in lines", f"<x:y> <x:z> {quoted} ."),
        _xml("rdf-nesting", 5, "elements", "<rdfs:a><rdfs:b>" * 200 + "</rdfs:b></rdfs:a>" * 200),
        _json("rdf-nesting", 4, "objects", ',\n{"@id": "e:x", "skos:broader": ' + '{"skos:broader":' * 300),
        _json("rdf-nesting", 4, "arrays", ',\n{"@id": "e:x", "skos:broader": ' + "[" * 300),
        _json("rdf-expansion", 4, "namespace", ',\n{"@context": {"f": "http://' + "x" * 5000 + '"}}'),
        _xml("xml-external", 2, "system document type", before=head + '<!DOCTYPE rdf:RDF SYSTEM "x.dtd">\n'),
        _xml("xml-external", 2, "public document type", before=head + '<!DOCTYPE rdf:RDF PUBLIC "a" "b">\n'),
        _xml("xml-external", 2, "entity in a file", before=head + '<!DOCTYPE r [<!ENTITY e SYSTEM "x">]>\n'),
        _xml("xml-entity", 2, "nested",
             before=head + '<!DOCTYPE r [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]>\n'),
        _xml("xml-entity", 2, "with an element", before=head + '<!DOCTYPE r [<!ENTITY a "<x/>">]>\n'),
        _xml("xml-entity", 2, "parameter", before=head + '<!DOCTYPE r [<!ENTITY % a "x">]>\n'),
        _xml("xml-entity", 2, "long", before=head + f'<!DOCTYPE r [<!ENTITY a "{"x" * 5000}">]>\n'),
        _json("remote-context", 1, "address", start='{"@context": "http://e.org/c.jsonld", "@graph": ['),
        _skos("key-too-long", "IRI", f"<http://e.org/{'x' * 5000}> skos:broader e:a ."),
        _skos("key-too-long", "object", f"e:x skos:broader <http://e.org/{'x' * 5000}> ."),
        _skos("key-too-long", "what is not read", f"e:d rdfs:seeAlso <http://e.org/{'x' * 5000}> ."),
        _skos("nul", "in an IRI", r"<http://e.org/\u0000> skos:broader e:a .", line=1),
        _skos("control-character", "in an IRI", r"<http://e.org/\u0007> skos:broader e:a ."),
        _skos("invisible-character", "in an IRI", "<http://e.org/a\u200b> skos:broader e:a ."),
        _skos("look-alike-keys", "case", "e:D skos:broader e:a ."),
    ]  # fmt: skip


def _meanings() -> list[Case]:
    return [
        _skos("relative-iri", "subject", "<x> skos:broader e:a ."),
        _skos("relative-iri", "object of a predicate that is not read", "e:d rdfs:seeAlso <ASHRAE> ."),
        _xml("relative-iri", 5, "rdf:ID", '<owl:Class rdf:ID="x"/>\n'),
        _json("relative-iri", 4, "id", ',\n{"@id": "x", "skos:broader": {"@id": "e:a"}}'),
        _skos("empty-key", "declared", "<> a skos:Concept ."),
        _skos("empty-key", "parent", "e:x skos:broader <> ."),
        _skos("iri-character", "blank", "<http://e.org/x y> skos:broader e:a ."),
        _skos("iri-character", "quote", 'e:x skos:broader <http://e.org/a"> .'),
        _quads("iri-character", "brace", "<http://e.org/{x}> <x:z> <http://e.org/a> ."),
        _xml("iri-character", 5, "blank in XML", '<owl:Class rdf:about="http://e.org/x y"/>\n'),
        _skos("blank-label", "declared", '[] a skos:Concept ; skos:prefLabel "x" .'),
        _skos("blank-label", "broader", "e:x skos:broader [] ."),
        _skos("blank-label", "narrower", "[] skos:narrower e:d ."),
        _owl("anonymous-class", "restriction",
             "e:d rdfs:subClassOf [ a owl:Restriction ; owl:onProperty e:p ; owl:someValuesFrom e:a ] ."),
        _owl("anonymous-class", "intersection", "e:d rdfs:subClassOf [ owl:intersectionOf ( e:a e:a ) ] ."),
        _owl("anonymous-class", "other property than the relation",
             "e:d rdfs:subClassOf [ owl:onProperty e:q ; owl:someValuesFrom e:a ] .\n"
             "e:d rdfs:subClassOf [ owl:onProperty e:p ; owl:someValuesFrom e:a ] .", relation="is_a,p"),
        _skos("literal-parent", "broader", 'e:x skos:broader "animal" .'),
        _skos("literal-parent", "narrower", 'e:a skos:narrower "dog" .'),
        _owl("literal-parent", "subClassOf", 'e:x rdfs:subClassOf "animal" .'),
        _skos("text-expected", "name", "e:d skos:prefLabel e:Dog ."),
        _skos("text-expected", "synonym", "e:d skos:altLabel e:Dog ."),
        _skos("text-expected", "definition", "e:d skos:definition e:Dog ."),
        _owl("text-expected", "comment", "e:d rdfs:comment [] ."),
        _owl("several-vocabularies", "concept", "e:x a skos:Concept ."),
        _skos("several-vocabularies", "class", "e:x a owl:Class ."),
        _owl("several-vocabularies", "subclass of Concept",
             "e:Topic rdfs:subClassOf skos:Concept .\ne:x a e:Topic .", 2),
        _skos("several-schemes", "inScheme", "e:d skos:inScheme e:s .\ne:a skos:inScheme e:t .", 2),
        _skos("several-schemes", "topConceptOf", "e:d skos:inScheme e:s .\ne:a skos:topConceptOf e:t .", 2),
        _skos("several-schemes", "hasTopConcept", "e:d skos:inScheme e:s .\ne:t skos:hasTopConcept e:a .", 2),
        _skos("other-scheme", "no scheme", "e:a skos:inScheme e:s .\ne:x a skos:Concept .", 2, scheme="e:s"),
        _skos("other-scheme", "another scheme", "e:a skos:inScheme e:s .\ne:x skos:inScheme e:t .", 2,
              scheme="s"),
        _skos("top-concept-below", "topConceptOf", "e:d skos:topConceptOf e:s ."),
        _skos("top-concept-below", "hasTopConcept", "e:s skos:hasTopConcept e:d ."),
        _owl("equivalent-class", "pair", "e:x a owl:Class ; owl:equivalentClass e:d ."),
        _owl("not-imported", "import", "e:o a owl:Ontology ; owl:imports <http://e.org/other> ."),
        _owl("not-a-boolean", "word", 'e:d owl:deprecated "yes" .'),
        _owl("not-a-boolean", "IRI", "e:d owl:deprecated e:true ."),
        _owl("obsolete-label", "owl:deprecated", "e:x a owl:Class ; owl:deprecated true ."),
        _owl("obsolete-label", "owl:DeprecatedClass", "e:x a owl:DeprecatedClass ."),
        _owl("obsolete-parent", "replaced", "e:x a owl:Class ; owl:deprecated true ; dct:isReplacedBy e:a .\n"
             "e:y rdfs:subClassOf e:x .", 2),
        _owl("obsolete-parent", "not replaced", "e:x a owl:DeprecatedClass .\ne:y rdfs:subClassOf e:x .", 2),
        _owl("former-id-parent", "hasAlternativeId", "e:d obo:hasAlternativeId e:x .\n"
             "e:y rdfs:subClassOf e:x .", 2),
        _owl("ambiguous-former-id", "a label", "e:a obo:hasAlternativeId e:d .", -1),
        _owl("ambiguous-former-id", "two labels", "e:a obo:hasAlternativeId e:x .\n"
             "e:d obo:hasAlternativeId e:x .", 0),
        _owl("unknown-replacement", "isReplacedBy", "e:x a owl:DeprecatedClass ; dct:isReplacedBy e:y ."),
        _owl("unknown-replacement", "consider", "e:x a owl:DeprecatedClass ; obo:consider e:y ."),
        _owl("replacement-loop", "two", "e:x a owl:DeprecatedClass ; dct:isReplacedBy e:y .\n"
             "e:y a owl:DeprecatedClass ; dct:isReplacedBy e:x ."),
        _owl("shared-key", "local name", "<http://f.org/d> a owl:Class .", key="local"),
        _turtle("shared-key", 2, "notation",
                'e:a a skos:Concept ; skos:notation "1" .\n'
                'e:d a skos:Concept ; skos:broader e:a ; skos:notation "1" .\n', key="notation"),
        _case("shared-key", 3, "CURIE", "@prefix e: <http://e.org/> .\n"
              "@prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
              "e:a a owl:Class .\n<e:a> a owl:Class .\n", "source.ttl", key="curie"),
        _skos("no-short-key", "notation", 'e:x a skos:Concept .', key="notation"),
        _owl("no-short-key", "CURIE", "<http://f.org/x> a owl:Class .", key="curie"),
        _owl("no-short-key", "local name", "<x:> a owl:Class .", key="local"),
        _skos("other-language", "absent", 'e:d skos:prefLabel "Hund"@de .', line=-1, language="de"),
        _skos("conflicting-texts", "names of one language", 'e:d skos:prefLabel "hound"@en .'),
        _skos("conflicting-texts", "names of another language",
              'e:d skos:prefLabel "Hund"@de, "Köter"@de .'),
        _skos("conflicting-texts", "definitions", 'e:d skos:definition "it barks" .\n'
              'e:d skos:definition "a pet" .', 2),
        _owl("conflicting-texts", "comments", 'e:d rdfs:comment "it barks" .\ne:d rdfs:comment "a pet" .', 2),
        _skos("missing-name", "no label", "e:x a skos:Concept ; skos:broader e:a ."),
        _skos("duplicate-name", "two concepts", 'e:x skos:broader e:a ; skos:prefLabel "dog"@en .'),
        _skos("parent-without-record", "broader", "e:x skos:broader e:y ."),
        _owl("parent-without-record", "subClassOf", "e:x rdfs:subClassOf e:y ."),
        _skos("self-loop", "broader", "e:x skos:broader e:x ."),
        _owl("self-loop", "subClassOf", "e:x rdfs:subClassOf e:x ."),
        _skos("cycle", "broader and narrower", "e:x skos:broader e:y .\ne:x skos:narrower e:y ."),
        _skos("roots", "two", "e:x a skos:Concept .", policies={"roots": "error"}),
        _skos("transitive-edge", "shortcut", "e:x skos:broader e:d .\ne:x skos:broader e:a .", 2),
        _skos("root-taken", "virtual root", "<root> a skos:Concept .", line=1),
    ]  # fmt: skip


RDF_CASES = [*_grammar(), *_hostile(), *_meanings()]
