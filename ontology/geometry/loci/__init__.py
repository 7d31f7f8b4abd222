"""What observed labels reach; `locusmethods` picks the method.

The exact one (`exactlocus`) is a `hull` on trees with all labels allowed, `restrictedtree` on trees with
some, and elsewhere `general`, whose verdicts rest on `proofs` in whole numbers. `pairs` is the union over
pairs of observed labels, `weightgrids` are the source paper's algorithms. What is found is a `Locus`
(`members`) with its `witnesses`.
"""
