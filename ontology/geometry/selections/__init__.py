"""Which classes to observe next: `selection` holds the public functions.

`trees` finds the whole order on trees at once, `growing` and its two forms (`growing_hull`,
`growing_measured`) gain label by label, `purchases` spends a budget. `attachment` and `dominance` bound what
a label can gain, so that few have to be measured.
"""
