"""Which classes to observe next: `selection` holds the public functions.

A `request` is what was asked for, checked; `rounds` carries it out, in one go or some picks at a time.
`trees` finds the whole order on trees at once, `growing` and its two forms (`growing_hull`,
`growing_measured`) gain label by label, `purchases` spends a budget. `attachment` and `dominance` bound what
a label can gain, so that few have to be measured.
"""
