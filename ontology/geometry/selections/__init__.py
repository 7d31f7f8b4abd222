"""Selection of the labels to observe next: `selection` holds the public functions.

`request` checks the arguments; `rounds` carries out the request, in one go or a few picks at a time. `trees`
finds the whole order on trees at once. `growing` and its two forms (`growinghull`, `growingmeasured`) add
label by label, and `purchases` spends a budget. `attachmentbounds` and `dominancebounds` bound the gain of a
label, so that few gains have to be measured.
"""
