"""The locus of observed labels, by the method that `locusmethods` picks.

The exact method (`exactlocus`) uses `hull` on trees with all labels allowed and `restrictedtree` on trees
with some labels allowed. Elsewhere it uses `general`, whose verdicts are proved in whole numbers by `proofs`.
`pairs` computes the union of the loci of all pairs of observed labels; `weightgrids` has the source paper's
algorithms. The result is a `Locus` (`members`) with its `witnesses`.
"""
