"""Parts of a table of text, taken without decoding it."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from labelgrove.ontology.keys import Keys, Texts

TEXT = st.text(alphabet="aé\U0001f600z", max_size=4)


@given(data=st.data(), listed=st.lists(TEXT, unique=True, min_size=1, max_size=12))
def test_a_subset_is_the_table_of_the_entries_taken(data, listed):
    chosen = data.draw(st.lists(st.sampled_from(range(len(listed))), unique=True))
    indices = np.array(chosen, dtype=np.int64)
    keys = Keys.from_strings(listed)
    found, expected = keys.subset(indices), Keys.from_strings(keys.take(indices))
    assert found == expected
    np.testing.assert_array_equal(found.order, expected.order)
    assert found.order.dtype == np.int32
    assert [found.find(text) for text in listed] == [expected.find(text) for text in listed]
    names = Texts.from_strings(listed)
    assert list(names.subset(np.array([*chosen, *chosen], dtype=np.int64))) == [listed[i] for i in chosen] * 2
