"""Selection of the labels to observe next; the public functions are in `selection`.

`request` checks the arguments; `rounds` carries out the request, in one go or a few picks at a time. `trees`
finds the order of all picks on trees at once. `growing` describes a locus to which observed labels are added
one by one; `growinghull` and `growingmeasured` implement it. `purchases` spends a budget. `attachmentbounds`
and `dominancebounds` bound the gain of a label, so that few gains have to be measured.
"""
