"""Binding never guesses, and complains about everything at once."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.binding import bind, find_labels
from ontology.errors import BindingError, InputError
from ontology.keys import Keys

KEYS = ["n1", "n2", "n3", "n4"]
NAMES = ["crane", "crane", "tabby cat", "n3"]  # the last label is named like the key of another


@given(st.permutations(["a", "b", "c", "d", "e"]))
def test_bound_columns_come_in_the_order_of_the_keys(columns):
    keys = ["a", "b", "c", "d", "e"]
    order = bind(columns, keys)
    assert [columns[i] for i in order] == keys


def test_keys_and_names_may_be_mixed():
    assert bind(["tabby cat", "n2", "n1"], ["n1", "n2", "n3"], NAMES[:3]).tolist() == [2, 1, 0]


def test_a_name_equal_to_its_own_key_is_one_label():
    assert bind(["b", "a"], ["a", "b"], ["a", "b"]).tolist() == [1, 0]


def test_labels_are_found_in_a_larger_ontology():
    keys = Keys.from_strings(["root", "x", "y", "z"])
    assert find_labels(["z", "x"], keys).tolist() == [3, 1]


@pytest.mark.parametrize(("by", "column", "label"), [("key", "n3", 2), ("name", "n3", 3)])
def test_by_settles_a_text_that_is_a_key_and_another_name(by, column, label):
    assert find_labels([column], KEYS, NAMES, by=by).tolist() == [label]


def test_auto_refuses_a_text_that_is_a_key_and_another_name():
    with pytest.raises(BindingError, match=r"column 0 'n3' is ambiguous: 'n3' \(tabby cat\), 'n4' \(n3\)"):
        find_labels(["n3"], KEYS, NAMES)


def test_every_fault_is_listed_in_one_error():
    with pytest.raises(BindingError) as caught:
        bind(["crane", "Tabby_Cat", "n1", "n1", "zzzzzz"], KEYS, NAMES)
    text = str(caught.value)
    assert "5 columns cannot be bound to 4 labels" in text
    assert "column 0 'crane' is ambiguous: 'n1' (crane), 'n2' (crane); give the key" in text
    assert "column 1 'Tabby_Cat' is unknown; close to it: 'tabby cat'" in text
    assert "column 3 'n1' repeats column 2 'n1'" in text
    assert "column 4 'zzzzzz' is unknown; nothing is close to it" in text
    for key in ("n2", "n3", "n4"):
        assert f"no column feeds the observed label {key!r}" in text
    assert "feeds the observed label 'n1'" not in text
    assert "built for 4 observed labels; for the classes of another model build another: grove bundle" in text
    with pytest.raises(BindingError) as renamed:
        bind(["n1", "n2", "n3", "n5"], KEYS, NAMES)
    assert "build another" not in str(renamed.value)


def test_position_only_when_asked():
    with pytest.raises(BindingError):
        bind(["x", "y"], ["a", "b"])
    assert bind(["x", "y"], ["a", "b"], by="position").tolist() == [0, 1]
    with pytest.raises(BindingError, match="3 columns for 2 labels"):
        bind(["x", "y", "z"], ["a", "b"], by="position")


def test_numbers_are_not_turned_into_text():
    with pytest.raises(BindingError, match=r"column 0 is .*0.* of type int.*str\(c\)"):
        bind(np.arange(2), ["0", "1"])
    assert bind(np.array(["1", "0"]), ["0", "1"]).tolist() == [1, 0]


def test_a_single_text_is_no_list_of_columns():
    with pytest.raises(BindingError, match="one text"):
        bind("ab", ["a", "b"])


def test_unknown_rule_and_missing_names_are_refused():
    with pytest.raises(InputError, match="by: 'guess'"):
        bind(["a"], ["a"], by="guess")
    with pytest.raises(BindingError, match="no names"):
        bind(["a"], ["a"], by="name")


def test_shared_names_cost_linear_time():
    n = 50_000
    keys = [f"k{i}" for i in range(n)]
    assert find_labels(["k7"], keys, ["same"] * n).tolist() == [7]
