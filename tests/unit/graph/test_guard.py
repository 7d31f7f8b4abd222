"""The guard: every rule is needed, every rule is alone, and what is harmless passes."""

from __future__ import annotations

import pytest

from labelgrove.ontology.errors import InputError, QueryRefusedError
from labelgrove.ontology.graph.userqueries.guard import MAX_CHARACTERS, RULES, broken_rules, check_statement
from tests.unit.graph.hostile import HARMLESS, HOSTILE, Hostile


def test_there_is_one_hostile_statement_for_every_rule() -> None:
    assert [case.rule for case in HOSTILE if case.rule not in RULES] == []
    assert sorted(case.rule for case in HOSTILE) == sorted(RULES)
    assert len({case.statement for case in HOSTILE}) == len(HOSTILE) >= 60


@pytest.mark.parametrize("case", HOSTILE, ids=str)
def test_a_hostile_statement_breaks_its_own_rule(case: Hostile) -> None:
    assert set(broken_rules(case.statement)) == {case.rule, *case.also}
    with pytest.raises(QueryRefusedError) as caught:
        check_statement(case.statement)
    assert caught.value.rule in {case.rule, *case.also}
    assert RULES[caught.value.rule].reason in str(caught.value)


@pytest.mark.parametrize("case", HOSTILE, ids=str)
def test_without_its_rule_a_hostile_statement_is_no_longer_refused_for_it(case: Hostile) -> None:
    without = {name: rule for name, rule in RULES.items() if name != case.rule}
    assert broken_rules(case.statement, without) == [n for n in RULES if n in case.also]


def test_most_rules_stand_alone() -> None:
    """For these, taking the rule away lets the statement through."""
    # the rest are whole statements of administration, which never return anything
    shaped = {"no-return", "keyword-delete", "keyword-set"}
    assert sum(not set(case.also) - shaped for case in HOSTILE) >= 60


@pytest.mark.parametrize("statement", HARMLESS)
def test_what_only_looks_hostile_passes(statement: str) -> None:
    assert broken_rules(statement) == []


@pytest.mark.parametrize(
    ("statement", "rule"),
    [
        ("MATCH (n) RETURN n.\nSET", None),  # a property named SET: nothing is written
        ("MATCH (n) RETURN 1.SET n.x = 1", "keyword-set"),  # a number ends at its dot
        ("MATCH (n) RETURN [1][0..SET]", "keyword-set"),
        ("MATCH (n)/**/SET/**/n.x=1 RETURN n", "keyword-set"),
        ("MATCH (n)//\rSET n.x=1 RETURN n", "keyword-set"),  # a carriage return ends a comment
        ("MATCH (n) WHERE n.a='\\\\' SET n.x='1' RETURN n", "keyword-set"),
        ("MATCH (n) WHERE n.a='\\' SET n.x=\\'1' RETURN n", None),  # all of it one string
        ('MATCH (n) WHERE n.a="\'" SET n.b="\'" RETURN n', "keyword-set"),
        ("MATCH (n) RETURN `a``b` SET n.x=1", "keyword-set"),
        ("MATCH (n) \u017fET n.x = 1 RETURN n", "keyword-set"),  # a long s is an S in capitals
        ("MATCH (n) RETURN 1 ROLLBAC\u212a", "disguised-keyword"),  # so is the Kelvin sign a k
        ("MATCH (n) SeT n.x = 1 RETURN n", "keyword-set"),
        ("MATCH (n)\u00a0SET\u2003n.x = 1 RETURN n", "keyword-set"),  # blanks beyond ASCII
        ("RETURN apoc\n.\nload.`json`('http://x')", "functions-apoc"),
        ("RETURN `apoc`.`load`.json('http://x')", "functions-apoc"),
        ("RETURN APOC.load.json('http://x')", "functions-apoc"),
        ("RETURN `load_extension`('x')", "function-load_extension"),
        ("RETURN '\\u0027 SET'", "unicode-escape"),
        ("MATCH (n:Label) RETURN n;;", "second-statement"),
        ("MATCH (\uff33\uff25\uff34) RETURN 1", "disguised-keyword"),
        ("MATCH (n) RETURN \u202eTEER n", "invisible-character"),
    ],
)
def test_tricks(statement: str, rule: str | None) -> None:
    assert (rule in broken_rules(statement)) if rule else (broken_rules(statement) == [])


def test_length_is_exact() -> None:
    padding = MAX_CHARACTERS - len("RETURN 1")
    assert broken_rules("RETURN 1" + " " * padding) == []
    assert broken_rules("RETURN 1" + " " * (padding + 1)) == ["too-long"]


@pytest.mark.parametrize("statement", [None, b"RETURN 1", 3])
def test_only_text_is_a_statement(statement: object) -> None:
    with pytest.raises(InputError, match="give a statement as text"):
        broken_rules(statement)  # type: ignore[arg-type]
