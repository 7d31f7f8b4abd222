"""An index over a table of texts, and one search for many keys, against dictionaries."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelgrove.adapter.columns import textindex
from labelgrove.adapter.columns.labelnames import LabelNames
from labelgrove.adapter.columns.textindex import TextIndex
from labelgrove.ontology.errors import UnknownLabelError
from labelgrove.ontology.keys import Keys, Texts

# bytes that sort apart from code points of UTF-16, zero bytes, and texts around the eight bytes of a word
TEXTS = st.text("ab\0é中\U00010000", max_size=20) | st.sampled_from(["a" * 8, "a" * 8 + "\0", "a" * 9])
MANY = [f"other {i}" for i in range(4_000)]  # of which 300 are so few that no dictionary is made


@given(st.lists(TEXTS, max_size=40), st.lists(TEXTS, max_size=40))
def test_an_index_finds_the_equal_entries_and_only_these(entries, wanted):
    index = TextIndex(Texts.from_strings(entries))
    for text in {*entries, *wanted}:
        assert index.find(text) == [i for i, entry in enumerate(entries) if entry == text]


def test_texts_with_equal_hashes_are_told_apart(monkeypatch):
    monkeypatch.setattr(textindex, "_FACTOR", textindex.np.uint64(0))
    index = TextIndex(Texts.from_strings(["oak", "elm", "oak"]))
    assert (index.find("oak"), index.find("elm"), index.find("ash")) == ([0, 2], [1], [])


def test_no_entry_equals_a_lone_surrogate():
    assert TextIndex(Texts.from_strings(["oak"])).find("\ud800") == []


@given(st.lists(TEXTS.filter(bool), min_size=1, max_size=40, unique=True), st.lists(TEXTS, max_size=40))
def test_many_keys_are_found_as_one_by_one(entries, wanted):
    keys = Keys.from_strings([*entries, *MANY])
    assert keys.indices([*entries, *MANY[:300]]).tolist() == [*range(len(entries) + 300)]
    absent = [text for text in wanted if text not in set(keys)]
    if absent:
        with pytest.raises(UnknownLabelError, match=f"^{len(absent)} of {300 + len(absent)} labels"):
            keys.indices([*MANY[:300], *absent])


def test_a_value_that_cannot_be_a_key_is_absent_among_many():
    keys = Keys.from_strings([f"key {i}" for i in range(5_000)])
    with pytest.raises(UnknownLabelError, match="2 of 502 labels"):
        keys.indices([*keys[:500], "\ud800", 7])


@pytest.mark.parametrize("by", ["auto", "key", "name"])
@given(data=st.data())
def test_tables_and_lists_mean_the_same(by, data):
    keys = data.draw(st.lists(TEXTS.filter(bool), min_size=1, max_size=20, unique=True))
    names = data.draw(st.lists(st.sampled_from([*keys, "x"]), min_size=len(keys), max_size=len(keys)))
    listed = LabelNames(keys, names, by)
    tables = LabelNames(Keys.from_strings(keys), Texts.from_strings(names), by)
    for text in [*keys, "x", "y"]:
        meant = [] if by == "name" else [i for i, key in enumerate(keys) if key == text]
        if by != "key":
            meant += [i for i, name in enumerate(names) if name == text and i not in meant]
        assert list(listed.meant(text)) == list(tables.meant(text)) == meant
