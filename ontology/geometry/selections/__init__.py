"""Selection of the labels to observe next; the public functions are in the module `selection`.

`request` checks the arguments; `rounds` carries out the request, all at once or a few picks at a time. On
trees, `trees` finds the order of all picks at once. `growing` describes a locus to which observed labels are
added one by one; `growinghull` and `growingmeasured` implement it. `purchases` spends a budget.
`attachmentbounds` (trees) and `entrants` (other spaces) compute upper bounds on the gain of a label, so that
few gains have to be measured; `entrants` measures them too.
"""
