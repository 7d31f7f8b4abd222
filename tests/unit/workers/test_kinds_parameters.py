"""Parameters of each kind: complete, in one spelling, and refused where they are not understood."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from labelgrove.ontology.errors import InputError
from labelgrove.workers.kinds import find_kind
from labelgrove.workers.kinds.parameters import decimal_text
from labelgrove.workers.requests.plan import plan_job

A, B, C, D = (letter * 64 for letter in "abcd")
SPACE = {"ontology": A, "snapshot": B}
REQUESTS = {
    "cover": SPACE,
    "distances": {**SPACE, "columns": C, "n_columns": 9},
    "locus": {**SPACE, "observed": C, "n_observed": 3},
    "selection": SPACE,
    "summary": {**SPACE, "target": 10},
}
KEYS = {
    "cover": "24431064aecb848add4a594215bc08ff86a2438242c7bf3de0a57b6e344a5b4f",
    "distances": "5105d47b27d22ea736544b9ad7c43d3bc32db0b762b3f1b0088ae7e6d6f24696",
    "locus": "282af8bae02d5828f4eeba7c0a356b3db74c8f5588067dca06f44ed7397f52cd",
    "selection": "47cbb03ddd8576101c82327199c65932d5867638fad6669b020cffe17f8ee09c",
    "summary": "e3ca2343ca3f1fdae11f66e7e79fb0a695c855b79dfd18e3a5d27729722ea7dc",
}


def planned(kind, **change):
    return plan_job(find_kind(kind), {**REQUESTS[kind], **change})


@pytest.mark.parametrize("kind", sorted(KEYS))
def test_the_key_of_each_kind_is_fixed(kind):
    # A change here means that stored jobs are not found again: raise the kind's version instead.
    assert planned(kind).id == KEYS[kind]


@pytest.mark.parametrize("kind", sorted(KEYS))
def test_complete_parameters_are_a_fixed_point(kind):
    complete = find_kind(kind).complete(REQUESTS[kind], None)
    assert find_kind(kind).complete(complete, None) == complete
    assert planned(kind, **complete) == planned(kind)


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        *[(kind, {name: D}) for kind in sorted(KEYS) for name in ("ontology", "snapshot")],
        *[(kind, {"labels": "leaves"}) for kind in sorted(KEYS) if kind != "summary"],
        *[(kind, {"metric": "graph"}) for kind in sorted(KEYS) if kind != "summary"],
        ("cover", {"identifying": True}),
        ("cover", {"method": "small"}),
        ("distances", {"columns": "all"}),
        ("distances", {"n_columns": 10}),
        ("distances", {"dtype": "float32"}),
        ("distances", {"block": 4}),
        ("locus", {"observed": D}),
        ("locus", {"method": "pairs"}),
        ("locus", {"parts": 2}),
        ("locus", {"block": 7}),
        *[("selection", {name: D}) for name in ("observed", "costs", "required", "forbidden", "candidates")],
        ("selection", {"n": 1}),
        ("selection", {"seed": 1}),
        ("selection", {"method": "outside"}),
        ("selection", {"budget": "1"}),
        ("selection", {"parts": 2}),
        ("summary", {"target": 11}),
        ("summary", {"seed": 1}),
        ("summary", {"cap": "7"}),
        ("summary", {"method": "subtree"}),
    ],
)
def test_every_parameter_enters_the_key_of_the_job_and_of_its_units(kind, change):
    other, one = planned(kind, **change), planned(kind)
    assert other.id != one.id
    assert other.units[-1].key != one.units[-1].key


@pytest.mark.parametrize(
    ("kind", "change", "units"),
    [
        ("cover", {}, 1),
        ("selection", {}, 1),
        ("summary", {}, 1),
        ("distances", {}, 1),
        ("distances", {"n_columns": 512}, 1),
        ("distances", {"n_columns": 513}, 3),
        ("distances", {"block": 2}, 6),
        ("locus", {}, 1),
        ("locus", {"parts": 5}, 6),
        ("locus", {"parts": 2, "method": "pairs"}, 3),
    ],
)
def test_a_plan_is_parts_and_then_one_unit_that_joins_them(kind, change, units):
    stages = [unit.stage for unit in planned(kind, **change).units]
    assert stages == ([0] if units == 1 else [0] * (units - 1) + [1])
    assert len({unit.key for unit in planned(kind, **change).units}) == units


def test_a_selection_in_parts_is_a_chain_of_units():
    units = planned("selection", parts=4).units
    assert [unit.stage for unit in units] == [0, 1, 2, 3]
    for before, unit in pairwise(units):
        assert before.key in unit.spec_json


@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [
        ("cover", {"target": 3}, "cover has no parameter target; it needs ontology; optional: identifying"),
        ("cover", {"identifying": 1}, "identifying is 1; give true or false"),
        (
            "cover",
            {"identifying": True, "method": "small"},
            "identifying is True; needs the method minimum",
        ),
        ("cover", {"method": "greedy"}, "method is 'greedy'; choose minimum, phylogenetic or small"),
        ("cover", {"method": None}, "method is None"),
        ("cover", {"labels": ["a"]}, r"labels is \['a'\]; choose all, leaves or the digest"),
        ("distances", {"columns": "some"}, "columns is 'some'; choose all or the digest"),
        ("distances", {"n_columns": 0}, "n_columns is 0; give a whole number, at least 1"),
        ("distances", {"block": True}, "block is True"),
        ("distances", {"dtype": "uint8"}, "dtype is 'uint8'; choose exact or float32"),
        ("locus", {"observed": None}, "observed is None; give a sha256"),
        ("locus", {"n_observed": "3"}, "n_observed is '3'"),
        ("locus", {"parts": 10_001}, "parts is 10001; give a whole number, from 1 to 10000"),
        ("locus", {"parts": 3, "method": "pairs"}, "parts is 3; pairs of 3 observed labels make at most 2"),
        (
            "selection",
            {"parts": 2, "method": "uniform"},
            "parts is 2; a selection with the method uniform has 1 part",
        ),
        ("selection", {"parts": 3, "n": 2}, "parts is 3; 2 picks make at most 2 parts"),
        ("selection", {"parts": 1001}, "parts is 1001; give a whole number, from 1 to 1000"),
        ("selection", {"observed": "oak"}, "observed is 'oak'; give a sha256 .*, or null"),
        ("selection", {"n": 0}, "n is 0"),
        ("selection", {"seed": -1}, "seed is -1"),
        ("selection", {"budget": 2.5}, "budget is 2.5; give a decimal number of 0 or more as a string"),
        ("selection", {"metric": "euclidean"}, "metric is 'euclidean'"),
        ("summary", {"labels": "all"}, "summary has no parameter labels; it needs ontology, target; opt"),
        ("summary", {"target": 2.0}, "target is 2.0"),
        ("summary", {"cap": "-1"}, "cap is '-1'"),
        ("summary", {"cap": "9", "method": "node"}, "cap is '9'; only the method capped takes a cap"),
        ("summary", {"seed": 1, "method": "subtree"}, "seed is 1; the method subtree draws nothing"),
    ],
)
def test_what_is_not_understood_is_refused(kind, change, message):
    with pytest.raises(InputError, match=message):
        planned(kind, **change)


@pytest.mark.parametrize(
    ("spellings", "text"),
    [
        (["10", "10.0", "1e1", "010", 10], "10"),
        (["0.5", ".50", "5E-1"], "0.5"),
        (["0", "-0", "0.000", 0], "0"),
        (["0.1"], "0.1"),
    ],
)
def test_a_decimal_has_one_spelling(spellings, text):
    assert {decimal_text(spelling) for spelling in spellings} == {text}
    assert {planned("selection", budget=spelling).id for spelling in spellings} == {
        planned("selection", budget=text).id
    }


@pytest.mark.parametrize("value", ["", "ten", "nan", "inf", "-1", "1e99", "1e-99", True, 0.5, None, [1]])
def test_what_is_no_decimal_is_refused(value):
    with pytest.raises(ValueError):
        decimal_text(value)


# ---- what the manual says is what is checked -------------------------------------------------------------

EVERY = REQUESTS | {
    "bundle": {**SPACE, "observed": C},
    "evaluation": {**SPACE, "observed": C, "model": "m", "outputs": C, "truth": D, "n_samples": 9},
    "ingest": SPACE,
}
WHOLE = re.compile(r"a whole number(?:, (\d+) or more| from (\d+) to (\d+))\b")
CHOICE = re.compile(r"((?:\w+, )*\w+ or \w+)(?::|$)")


def described(pattern):
    """Yield every kind, parameter and match of `pattern` at the beginning of what the manual says of it."""
    for kind in sorted(EVERY):
        for parameter in find_kind(kind).parameters:
            if found := pattern.match(parameter.values):
                yield kind, parameter.name, found


def is_refused(kind, name, value):
    try:
        find_kind(kind).complete({**EVERY[kind], name: value}, None)
    except InputError as error:
        return (
            re.match(rf"{kind}: {name} is {re.escape(repr(value))}; (choose|give) ", str(error)) is not None
        )
    return False


def test_whole_numbers_have_the_range_that_the_manual_states():
    cases = list(described(WHOLE))
    assert len(cases) >= 13
    for kind, name, found in cases:
        least, most = int(found[1] or found[2]), found[3] and int(found[3])
        assert not is_refused(kind, name, least), (kind, name)
        for value in (least - 1, f"{least}", least + 0.5, True, *([most + 1] if most else [])):
            assert is_refused(kind, name, value), (kind, name, value)
        assert not (most and is_refused(kind, name, most)), (kind, name)


def test_choices_are_those_that_the_manual_lists():
    cases = list(described(CHOICE))
    assert len(cases) >= 10
    for kind, name, found in cases:
        words = re.split(r", | or ", found[1])
        flag = words == ["true", "false"]
        for value in [True, False] if flag else words:
            assert not is_refused(kind, name, value), (kind, name, value)
        assert is_refused(kind, name, 0 if flag else "x"), (kind, name)
