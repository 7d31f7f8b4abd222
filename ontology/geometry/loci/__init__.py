"""The locus of observed labels; `locusmethods` computes it by the requested method.

The exact method (`exactlocus`) uses `hull` on trees with all labels allowed, `restrictedtree` on trees with
only some labels allowed, and `general` on all other spaces. `proofs` proves the verdicts of `general` in
whole numbers. `pairs` computes the union of the loci of all pairs of observed labels. `weightgrids` contains
the source paper's algorithms. The result is a `Locus` (defined in `members`) with a witness for each member
(`witnesses`).
"""
