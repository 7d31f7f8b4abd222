"""Which labels must be observed so that all are reached: `cover` holds the public functions.

`checks` has the definitions, `required` the labels that every cover contains, `search` small covers of any
space, `phylogenetic` the source paper's Algorithm 1.
"""
