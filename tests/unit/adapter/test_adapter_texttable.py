"""Tables of reports as text."""

from labelgrove.adapter.texttable import Table


def test_columns_are_aligned_whatever_the_width_of_the_characters():
    """On a terminal, an ideograph takes two columns, and a combining accent takes none."""
    rows = (("oak", 1), ("櫟の木", 22), ("e\u0301lan", 333))
    assert Table("trees", ("label", "櫟"), rows).text() == [
        "label    櫟",
        "oak       1",
        "櫟の木   22",
        "e\u0301lan    333",
    ]
