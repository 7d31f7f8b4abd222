"""Locus covers: sets of observed labels that reach every allowed label, and ways to find them.

`covermethods` finds a cover by a chosen method. `checks` defines covers and checks them. `required` finds the
labels that every cover contains. `minimum` finds a smallest cover; it searches only where no rule gives the
cover. `search` finds small covers of any space, and `phylogenetic` is the source paper's Algorithm 1.
"""
