"""Locus covers: observed labels that reach all labels; `covermethods` picks the method of finding one.

`checks` has the definitions, `required` the labels that every cover contains, `minimum` the smallest covers
known in closed form, `search` small covers of any space, `phylogenetic` the source paper's Algorithm 1.
"""
