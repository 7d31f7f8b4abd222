"""Which labels must be observed so that all are reached; `covermethods` picks the way to find a cover.

`checks` has the definitions, `required` the labels that every cover contains, `minimum` the smallest covers
known in closed form, `search` small covers of any space, `phylogenetic` the source paper's Algorithm 1.
"""
