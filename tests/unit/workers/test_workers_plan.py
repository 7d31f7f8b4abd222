"""Keys: the same request is the same job, any difference that can change a byte is another one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelgrove.ontology.errors import InputError
from labelgrove.workers.kinds import JobKind, Product, Step
from labelgrove.workers.kinds.bundle import BUNDLE
from labelgrove.workers.ledger.specs import canonical_json
from labelgrove.workers.requests.plan import plan_job
from tests.integration.workers_support import as_given, plan_parts

A, B, C, D = (letter * 64 for letter in "abcd")
REQUEST = {"ontology": A, "snapshot": B, "observed": C}

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
)


@given(JSON_VALUES)
def test_canonical_json_is_a_fixed_point(value):
    import json

    text = canonical_json(value)
    assert json.loads(text) == value
    assert canonical_json(json.loads(text)) == text


@pytest.mark.parametrize(
    ("value", "where"),
    [
        ({"a": [1, 0.5]}, r"value\.a\[1\]: 0\.5 .*decimal number as a string"),
        ({"a": {1: "x"}}, r"value\.a: key 1 "),
        ([{1, 2}], r"value\[0\]"),
        ("\ud800", "lone surrogate"),
        ({"\ud800": 1}, r"value: key: .*lone surrogate"),
        (float("nan"), "nan"),
    ],
)
def test_what_has_no_one_spelling_is_refused_and_located(value, where):
    with pytest.raises(InputError, match=where):
        canonical_json(value)


def test_the_key_of_a_bundle_is_fixed():
    # A change here means that stored jobs are not found again: raise the kind's version instead.
    plan = plan_job(BUNDLE, REQUEST)
    assert plan.id == "cf6895685ef89ce1f85f6b9f1fc4f2244ba400caeae81b89ce18ecf416b54a7b"
    assert [unit.key for unit in plan.units] == [
        "46008af33104e17744bafd64266c2af0891887bc93ba6d289e305c1614b5b66a"
    ]


def test_defaults_and_order_do_not_change_the_key():
    spelled_out = {"labels": "all", "metric": "auto", "observed": C, "snapshot": B, "ontology": A}
    assert plan_job(BUNDLE, spelled_out) == plan_job(BUNDLE, REQUEST)


@pytest.mark.parametrize("change", [{"ontology": D}, {"observed": D}, {"metric": "tree"}, {"labels": D}])
def test_every_parameter_enters_the_key(change):
    other, one = plan_job(BUNDLE, {**REQUEST, **change}), plan_job(BUNDLE, REQUEST)
    assert other.id != one.id
    assert other.units[0].key != one.units[0].key


def test_the_version_of_a_kind_enters_every_key():
    newer = JobKind("bundle", BUNDLE.version + 1, BUNDLE.complete, BUNDLE.plan, BUNDLE.execute)
    assert plan_job(newer, REQUEST).id != plan_job(BUNDLE, REQUEST).id
    assert plan_job(newer, REQUEST).units[0].key != plan_job(BUNDLE, REQUEST).units[0].key


def test_equal_units_are_shared_and_the_last_one_covers_its_inputs():
    one, other = plan_parts([1, 2]), plan_parts([2, 3])
    keys, other_keys = ([unit.key for unit in plan.units] for plan in (one, other))
    assert len(set(keys) & set(other_keys)) == 1
    assert keys[-1] != other_keys[-1]
    assert [unit.stage for unit in one.units] == [0, 0, 1]


@pytest.mark.parametrize("steps", [[], [Step({"a": 1}), Step({"a": 2})]])
def test_a_plan_ends_in_one_unit(steps):
    kind = JobKind("odd", 1, as_given, lambda parameters: steps, lambda work: Product({}, {}))
    with pytest.raises(InputError, match=f"ends in {len(steps)} units"):
        plan_job(kind, {})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"observed": "oak"}, "observed is 'oak'"),
        ({"snapshot": B.upper()}, "snapshot is"),
        ({"metric": "euclidean"}, "metric is 'euclidean'; choose"),
        ({"labels": "some"}, "labels is 'some'"),
        ({"beta": 2}, "bundle has no parameter beta; it needs ontology, observed"),
        ({"ontology": None}, "ontology is None"),
    ],
)
def test_bundle_refuses_what_it_does_not_understand(change, message):
    with pytest.raises(InputError, match=message):
        plan_job(BUNDLE, {**REQUEST, **change})
