"""OBO: what is kept of a term, how parents are settled, and that order and size do no harm."""

from __future__ import annotations

import random
import time
from collections import Counter
from pathlib import Path

import pytest

from labelgrove.ontology.annotations import Name
from labelgrove.ontology.errors import InputError
from labelgrove.ontology.readers import ReadResult, read
from labelgrove.ontology.readers.formats.obotext import stripped

EXTRACT = Path(__file__).with_name("samples") / "psi-ms-extract.obo"
HEAD = "format-version: 1.4\ndefault-namespace: zoo\n\n"
ROOT = "[Term]\nid: X:1\nname: animal\n\n"


@pytest.fixture
def of(tmp_path):
    def reading(text: str, **options: object) -> ReadResult:
        source = tmp_path / "source.obo"
        source.write_text(text, encoding="utf-8")
        return read(source, **options)

    return reading


def described(result: ReadResult, key: str):
    return dict(result.annotations.descriptions(result.graph))[key]


def edges(result: ReadResult) -> set[tuple[str, str, int]]:
    return {(child, parent, rank) for child, parent, _, rank in result.graph.edges()}


def places(result: ReadResult, code: str) -> list[tuple[int, str]]:
    return [(line, text) for d in result.report.defects if d.code == code for _, line, text in d.examples]


TERM = r"""[Term]
id: X:2
name: \"good\" dog\, of \{note\} {source="a ! b"} ! the animal
namespace: zoo
alt_id: X:20
alt_id: X:21 {since="2020"} ! merged
def: "It says \"wow\"\nand\tbarks." [PMID:1, http://e.org/a\,b "on ] it"] {source="me"}
comment: A comment.
subset: small
synonym: "domestic dog" EXACT []
synonym: "puppy" NARROW layperson [PMID:2]
synonym: "canine" BROAD [] {source="x"}
synonym: "hound" RELATED [] ! older
synonym: "mutt" []
exact_synonym: "Canis familiaris" []
broad_synonym: "mammal" []
xref: UMLS:1
xref: value-type:xsd\:string "The type."
xref_analog: ICD:2
property_value: dc:creator "me" xsd:string
is_a: X:1 {source="PMID:1"} ! animal
intersection_of: X:9
created_by: me
creation_date: 2020-01-01

"""


def test_every_part_of_a_term_is_kept(of):
    result = of(HEAD + ROOT + TERM)
    assert not result.report.defects
    assert result.graph.names[result.graph.keys.index("X:2")] == '"good" dog, of {note}'
    found = described(result, "X:2")
    assert found.names == (
        Name("Canis familiaris"),
        Name("domestic dog"),
        Name("puppy", "narrow"),
        Name("canine", "broad"),
        Name("mammal", "broad"),
        Name("hound", "related"),
        Name("mutt", "related"),
    )
    assert found.definition == 'It says "wow"\nand\tbarks.'
    assert found.alternative_id == ("X:20", "X:21")
    assert found.reference == ("ICD:2", "UMLS:1", "value-type:xsd:string")
    assert found.line == 9
    assert edges(result) == {("X:2", "X:1", 0)}


def test_a_value_may_go_on_in_the_next_lines(of):
    text = 'name: wild \\\ndog\ndef: "It\\\n barks." []\nis_a: X:\\\n1\ncomment: ends in a backslash \\\\\n'
    result = of(HEAD + ROOT + "[Term]\nid: X:2\n" + text)
    assert not result.report.defects
    assert result.graph.names[result.graph.keys.index("X:2")] == "wild dog"
    assert result.definitions == {"X:2": "It barks."}
    assert edges(result) == {("X:2", "X:1", 0)}


def test_a_real_extract_is_read():
    policies = {"roots": "keep"}
    alone = read(EXTRACT, policies=policies)
    assert (alone.graph.n_labels, alone.graph.n_edges, len(alone.graph.roots)) == (80, 50, 33)
    both = read(EXTRACT, policies=policies, relation="is_a,part_of")
    assert (both.graph.n_labels, both.graph.n_edges, len(both.graph.roots)) == (80, 84, 4)
    assert Counter(rank for _, _, rank in edges(both)) == {0: 50, 1: 34}
    kinds = Counter(name.kind for _, one in both.annotations.descriptions(both.graph) for name in one.names)
    assert kinds == {"exact": 23, "narrow": 8, "related": 6, "preferred": 6}
    assert len(both.annotations.retired) == 6
    assert described(both, "MS:1001061").replaced_by == ("MS:1000336",)


def test_the_order_of_stanzas_and_of_clauses_does_not_matter(of):
    header, *stanzas = EXTRACT.read_text(encoding="utf-8").strip().split("\n\n")
    rng = random.Random(0)
    policies = {"roots": "keep"}
    expected = read(EXTRACT, policies=policies, relation="is_a,part_of")

    def shuffled(stanza: str) -> str:
        name, *clauses = stanza.split("\n")
        return "\n".join([name, *rng.sample(clauses, len(clauses))])

    for _ in range(3):
        mixed = [shuffled(stanza) for stanza in rng.sample(stanzas, len(stanzas))]
        result = of("\n\n".join([header, *mixed]), policies=policies, relation="is_a,part_of")
        assert result.graph.digest == expected.graph.digest
        ours, theirs = (
            {key: (one.names, one.definition, one.reference, one.replaced_by, one.deprecated)
             for key, one in r.annotations.descriptions(r.graph)}
            for r in (result, expected)
        )  # fmt: skip
        assert ours == theirs
        assert {d.code: d.count for d in result.report.defects} == {
            d.code: d.count for d in expected.report.defects
        }


class TestRelations:
    TEXT = HEAD + ROOT + (
        "[Term]\nid: X:2\nname: dog\nis_a: X:1\n\n"
        "[Term]\nid: X:3\nname: tail\nrelationship: part_of X:2 ! dog\nrelationship: is_a X:1\n"
        "relationship: adorns X:1\n"
    )  # fmt: skip

    def test_only_is_a_makes_the_hierarchy_unless_asked(self, of):
        result = of(self.TEXT)
        assert edges(result) == {("X:2", "X:1", 0), ("X:3", "X:1", 0)}
        assert places(result, "other-relation") == [
            (16, "part_of in 1 clause"),
            (18, "adorns in 1 clause"),
        ]

    def test_relations_rank_in_the_order_in_which_they_are_asked_for(self, of):
        result = of(self.TEXT, relation="part_of, is_a", policies={"transitive-edge": "warn"})
        assert edges(result) == {("X:3", "X:2", 0), ("X:2", "X:1", 1), ("X:3", "X:1", 1)}

    def test_a_relation_that_the_file_lacks_is_refused_with_what_is_close(self, of):
        with pytest.raises(InputError, match="no relationship 'partof'; close to it: 'part_of'"):
            of(self.TEXT, relation="is_a,partof")

    @pytest.mark.parametrize("relation", ["", "is_a,", "is_a,is_a"])
    def test_a_list_of_relations_names_each_once(self, of, relation):
        with pytest.raises(InputError, match=r"relation: .* is not a list of different relations"):
            of(self.TEXT, relation=relation)


class TestNamespaces:
    TEXT = HEAD + ROOT + (
        "[Term]\nid: X:2\nname: dog\nis_a: X:1\nis_a: Y:1\n\n"
        "[Term]\nid: Y:1\nname: process\nnamespace: work\n"
    )  # fmt: skip

    def test_one_namespace_is_kept_and_edges_that_leave_it_are_reported(self, of):
        result = of(self.TEXT, namespace="zoo")
        assert edges(result) == {("X:2", "X:1", 0)}
        assert places(result, "other-namespace") == [(12, "X:2 under Y:1")]

    def test_without_the_option_all_terms_are_labels(self, of):
        assert of(self.TEXT, policies={"roots": "keep"}).graph.n_labels == 3

    def test_a_namespace_that_the_file_lacks_is_refused(self, of):
        with pytest.raises(InputError, match="no term in 'zo'; the namespaces of its terms are: work, zoo"):
            of(self.TEXT, namespace="zo")

    def test_other_formats_do_not_take_the_option(self, tmp_path):
        source = tmp_path / "edges.csv"
        source.write_text("parent,child\na,b\n")
        with pytest.raises(InputError, match="namespace: the format 'edges' does not have this option"):
            read(source, namespace="zoo")


def term(key: str, *clauses: str) -> str:
    return "\n".join(["[Term]", f"id: {key}", f"name: of {key}", *clauses, "", ""])


class TestFormerIds:
    def test_a_parent_given_by_its_former_id_is_the_label_that_has_it(self, of):
        result = of(HEAD + ROOT + term("X:2", "alt_id: X:20", "is_a: X:1") + term("X:3", "is_a: X:20"))
        assert edges(result) == {("X:2", "X:1", 0), ("X:3", "X:2", 0)}
        assert places(result, "former-id-parent") == [(17, "X:3 under X:20, now X:2")]
        assert "X:20" not in result.graph.keys

    def test_an_obsolete_parent_is_an_error_and_fix_follows_its_replacements(self, of):
        text = HEAD + ROOT + term("X:2", "is_a: X:7")
        text += term("X:7", "is_obsolete: true", "replaced_by: X:8")
        text += term("X:8", "is_obsolete: true", "replaced_by: X:10") + term(
            "X:9", "alt_id: X:10", "is_a: X:1"
        )
        refused = of(text, strict=False)
        assert places(refused, "obsolete-parent") == [(11, "X:2 under X:7; X:9 replaces it")]
        assert refused.graph is None
        result = of(text, policies={"obsolete-parent": "fix"})
        assert edges(result) == {("X:2", "X:9", 0), ("X:9", "X:1", 0)}
        assert set(result.annotations.retired) == {"X:7", "X:8"}
        kept = of(text, policies={"obsolete-parent": "warn", "roots": "keep"})
        assert ("X:2", "X:7", 0) in edges(kept)
        assert described(kept, "X:7").deprecated

    def test_an_obsolete_parent_that_nothing_replaces_stays(self, of):
        text = HEAD + ROOT + term("X:2", "is_a: X:7") + term("X:7", "is_obsolete: true", "consider: X:1")
        result = of(text, policies={"obsolete-parent": "fix", "roots": "keep"})
        assert ("X:2", "X:7", 0) in edges(result)

    def test_an_obsolete_label_with_a_place_of_its_own_may_have_children(self, of):
        text = HEAD + ROOT + term("X:2", "is_a: X:7") + term("X:7", "is_obsolete: true", "is_a: X:1")
        result = of(text)
        assert not result.report.defects
        assert described(result, "X:7").deprecated

    def test_a_former_id_that_is_the_id_of_an_obsolete_term_is_not_ambiguous(self, of):
        text = HEAD + ROOT + term("X:2", "alt_id: X:7", "is_a: X:1") + term("X:7", "is_obsolete: true")
        result = of(text + term("X:3", "is_a: X:7"), policies={"obsolete-parent": "fix"})
        assert {d.code for d in result.report.defects} == {"obsolete-label", "obsolete-parent"}
        assert ("X:3", "X:2", 0) in edges(result)


def test_a_misspelt_parent_is_reported_with_the_label_that_is_meant(of):
    text = HEAD + ROOT + term("X:2", "is_a: Zo") + term("Zoo", "is_a: X:1") + term("X:4", "is_a: Zooo")
    result = of(text, policies={"roots": "keep"})
    assert places(result, "parent-without-record") == [
        (11, "Zo"),
        (21, "Zooo; close to it: 'Zoo'"),
    ]


def test_unknown_tags_are_named_once_each_with_what_is_close(of):
    result = of(HEAD + ROOT + term("X:2", "is-a: X:1", "is-a: X:1", "is_a: X:1"))
    assert places(result, "unknown-tag") == [(11, "is-a; close to it: 'is_a'")]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("X:2 ! dog", "X:2"),
        (r"X\!2 ! dog", r"X\!2"),
        ('X:2 {a="b", c="d}"} ! dog', "X:2"),
        ("X:2 {}", "X:2"),
        ("X:2 {a=b}", "X:2"),
        ('X:2{a="b\\"}"}', "X:2"),
        ("", ""),
        ("! only a comment", ""),
    ],
)
def test_comments_and_modifiers_are_taken_off(value, text):
    assert stripped(value) == (text, "")


HOSTILE = {
    "braces": "name: " + "{" * 500_000,
    "modifiers not closed": "name: " + '{a="b", ' * 100_000,
    "modifiers without a value": "name: {" + "a" * 500_000,
    "quotes": 'def: "' + '\\"' * 250_000,
    "strings": 'def: "a" ' + '"b" ' * 100_000,
    "cross-references": 'def: "a" [' + '"b" ' * 100_000,
    "brackets": 'synonym: "a" ' + "[" * 500_000,
    "marks": "name: " + "!" * 500_000,
    "blanks": "is_a: X:1" + " " * 500_000 + "x",
    "backslashes": "is_a: " + "\\" * 500_001,
    "continued lines": "comment: " + "a\\\n" * 400_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_values_take_no_time(name, of):
    start = time.process_time()
    result = of(HEAD + ROOT + "[Term]\nid: X:2\n" + HOSTILE[name] + "\nis_a: X:1\n", strict=False)
    assert time.process_time() - start < 3
    assert result.report.defects


def test_a_value_that_goes_on_for_too_long_is_reported_once_and_left_out(of):
    text = (
        HEAD
        + ROOT
        + term("X:2", "is_a: X:1", "comment: " + "\\\n".join(["x" * (1 << 19)] * 9), "alt_id: X:3")
    )
    result = of(text, policies={"line-too-long": "fix"})
    assert [line for line, _ in places(result, "line-too-long")] == [12]
    assert described(result, "X:2").alternative_id == ("X:3",)


def test_time_grows_with_the_number_of_terms_only(of):
    start = time.process_time()
    n = 20_000
    text = "".join(term(f"X:{i}", f"is_a: X:{i // 2}", f"alt_id: Y:{i}", f"is_a: Z:{i}") for i in range(1, n))
    result = of(HEAD + text.replace("is_a: X:0\n", ""), strict=False)
    assert len(places(result, "parent-without-record")) == 20
    assert time.process_time() - start < 10
