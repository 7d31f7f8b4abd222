"""What a report advises where a hierarchy looks like several: the reason first, and a mend that is one."""

from __future__ import annotations

import pytest

from labelgrove.ontology.errors import DefectsError
from labelgrove.ontology.readers import ReadResult, read

TREE = [("2", "1"), ("3", "1"), ("4", "2"), ("5", "2"), ("6", "3")]
NAMES = {"1": "food", "2": "fruit", "3": "herb", "4": "apple", "5": "pear", "6": "mint"}
RIGHT = sorted(TREE)


def made(folder, text: str, **options: object) -> ReadResult:
    source = folder / "food.csv"
    source.write_text(text)
    return read(source, strict=False, **options)  # type: ignore[arg-type]


def records(parents: dict[str, str]) -> str:
    lines = [f"{key},{name},{parents.get(key, '')}" for key, name in NAMES.items()]
    return "\n".join(["id,name,parent", *lines, ""])


def edges_of(result: ReadResult) -> list[tuple[str, str]]:
    assert result.graph is not None, result.report.render()
    return sorted((child, parent) for child, parent, _, _ in result.graph.edges())


def codes(result: ReadResult) -> list[str]:
    return [defect.code for defect in result.report.defects]


def test_decimals_of_the_ids_are_the_defect_not_the_roots_they_make(tmp_path):
    text = records({child: f"{parent}.0" for child, parent in TREE})
    result = made(tmp_path, text)
    assert codes(result) == ["decimal-parent"]
    (defect,) = result.report.errors
    assert defect.examples[0][1:] == (3, "2 under 1.0; the id is 1")
    assert "read the ids as text" in defect.remedy
    assert edges_of(made(tmp_path, text, policies={"decimal-parent": "fix"})) == RIGHT


def test_decimals_of_the_children_in_a_list_of_edges_too(tmp_path):
    result = made(tmp_path, "child,parent\n2,1\n3,1\n4,2.00\n5,2.00\n6,3.0\n")
    assert codes(result) == ["decimal-parent"]
    assert result.report.errors[0].count == 3


@pytest.mark.parametrize(
    "text",
    [
        "child,parent\n1.0,1\n1.0.1,1.0\n",  # sections and versions are labels of their own
        "key,parent\n1,\n1.0,1\n2,1.0\n",
        "child,parent\n2,1.5\n1,1.5\n",
        "child,parent\n100,10\n10,1\n",
    ],
)
def test_a_decimal_that_is_a_label_is_none_of_an_id(text, tmp_path):
    assert codes(made(tmp_path, text)) == []


def test_decimals_are_kept_where_that_is_asked_for(tmp_path):
    text = "key,parent\n1,\n2,1.0\n"
    result = made(tmp_path, text, policies={"decimal-parent": "warn", "roots": "keep"})
    assert edges_of(result) == [("2", "1.0")]


def test_parents_given_by_name_are_named_before_the_roots(tmp_path):
    result = made(tmp_path, records({child: NAMES[parent] for child, parent in TREE}), format="edges")
    assert codes(result) == ["parent-without-record", "roots"]
    cause, roots = result.report.defects
    assert cause.examples[0][2] == "food is the name of the label 1"
    assert cause.remedy.startswith("this is probably the cause of the several roots: ")
    assert roots.remedy.startswith(
        "see parent-without-record first, the most likely cause; otherwise choose "
    )


def test_children_before_their_parents_are_named_before_the_roots(tmp_path):
    text = "".join(f"{child},{parent}\n" for child, parent in TREE)
    result = made(tmp_path, text)
    assert codes(result) == ["direction-swapped", "roots"]
    cause, _ = result.report.defects
    assert "--direction child-parent" in cause.remedy
    rendered = result.report.render()
    assert "food.csv: 3 roots, 1 leaf" in rendered
    assert "food.csv:0" not in rendered
    assert result.report.to_dict()["defects"][0]["places"] == [str(tmp_path / "food.csv")]
    assert edges_of(made(tmp_path, text, direction="child-parent")) == RIGHT
    with pytest.raises(DefectsError, match="see direction-swapped first"):
        read(tmp_path / "food.csv")


def test_a_report_says_what_was_not_read_and_what_hangs_on_a_root(tmp_path):
    apart, joined = made(tmp_path, "child,parent\na,b\nx,y\n"), made(tmp_path, "child,parent\na,b\na,c\n")
    assert "(edges): not read: " in apart.report.render().splitlines()[0]
    assert "'b' is a root; its part has 2 of 4 labels (2 parts)" in apart.report.render()
    assert "'b' is a root; all 3 labels are connected to it" in joined.report.render()
    kept = made(tmp_path, "child,parent\na,b\n").report.render()
    assert "(edges): 2 labels, 1 edge; 0 errors" in kept


def test_roots_of_which_no_reason_is_known_come_with_their_policies_alone(tmp_path):
    result = made(tmp_path, "a,b\nx,y\n")
    assert codes(result) == ["roots"]
    assert result.report.errors[0].remedy.startswith("choose --policy roots=virtual")


@pytest.mark.parametrize("policy", ["virtual", "largest", "keep"])
def test_a_policy_of_the_roots_that_was_chosen_is_not_advised(policy, tmp_path):
    (defect,) = made(tmp_path, "a,b\na,c\nx,y\n", policies={"roots": policy}).report.defects
    assert "choose" not in defect.remedy
    assert "--policy" not in defect.remedy


@pytest.mark.parametrize("text", ["nan", "NaN", "None", "null", "NA"])
def test_a_missing_value_is_no_parent(text, tmp_path):
    result = made(tmp_path, records(dict(TREE) | {"1": text}))
    assert codes(result) == ["placeholder-parent"]
    assert "leave the parent of a root empty" in result.report.errors[0].remedy


def test_a_label_with_a_record_may_be_called_like_a_missing_value(tmp_path):
    assert codes(made(tmp_path, "key,parent\nAfrica,\nNA,Africa\nWindhoek,NA\n")) == []


def test_a_table_of_paths_without_a_header_is_told_the_format_of_paths(tmp_path):
    result = made(tmp_path, "food,fruit,apple\nfood,fruit,pear\nfood,herb,mint\n")
    (defect,) = result.report.errors
    said = defect.examples[0][2]
    assert said.endswith("for paths, --format paths --separator ','"), "cut"


UNKNOWN = "looks like a header of unknown words (known headers: id,name,parent and child,parent[,weight]): "


@pytest.mark.parametrize(
    "text",
    [
        "label_id,label,parent_label\n1,plant,\n2,tree,1\n3,oak,2\n4,elm,2\n",
        "label_id label parent_label\n2 tree 1\n3 oak 2\n",
        "label_id;label;cost\noak;tree;1,5\nelm;tree;x\nash;tree;1\n",
    ],
)
def test_a_first_line_of_words_that_are_no_edge_is_said_to_look_like_a_header(text, tmp_path):
    (defect,) = [d for d in made(tmp_path, text).report.errors if d.code == "weight-not-a-number"]
    first, *others = [said for _, _, said in defect.examples]
    assert first == UNKNOWN + text.partition("\n")[0]
    assert not any("header" in said for said in others)


def test_a_first_edge_with_a_fault_in_its_weight_does_not_look_like_a_header(tmp_path):
    for text in (
        "oak tree heavy\nelm tree 1\n",
        "oak tree x\nelm oak 1\n",
        "1 2 x\n3 2 1\n",
        '"a,b\noak,tree,x\nelm,oak,1\nash,oak,1\nfir,oak,y\nyew,oak,2\n',
    ):
        (defect,) = [d for d in made(tmp_path, text).report.errors if d.code == "weight-not-a-number"]
        assert "header" not in defect.examples[0][2]


def test_a_column_without_a_name_is_named_by_its_place(tmp_path):
    (defect,) = made(tmp_path, "key,,parent\nfood,a,\nfruit,b,food\n").report.defects
    assert defect.examples[0][2] == "column 2, without a name: its cells are left out"


def test_one_of_a_kind_is_counted_as_one(tmp_path):
    first, *_ = made(tmp_path, "key,parent,x\nfood,,\nfruit,food,\n").report.render().splitlines()
    assert first.endswith(": 2 labels, 1 edge; 0 errors, 1 warning, 0 repairs")
