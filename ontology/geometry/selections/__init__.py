"""Which classes to observe next: `selection` holds the public functions.

A `request` is what was asked for, checked; `rounds` carries it out, in one go or some picks at a time.
`trees` finds the whole order on trees at once, `growing` and its two forms (`growinghull`,
`growingmeasured`) gain label by label, `purchases` spends a budget. `attachmentbounds` and `dominancebounds`
say what a label can gain at most, so that few have to be measured.
"""
