"""The scorers that find Fréchet means; `ontology.geometry.frechet.make_scorer` picks the one that fits.

On trees: `treescorer` over a `skeleton` of the observed labels, and `restrictedscorer` where only some labels
may be an answer, by `treesearch` (numpy) or `compiledsearch` (numba) over the labels in `hanging`, and
`hullscorer` for exponents other than 2. On any matrix of distances: `densescorer`, and `graphscorer`, which
merges equal rows (`rowclasses`) and rules out groups of them (`rowtree`). On vectors: `euclideanscorer`.
All decide by `ontology.geometry.ties` and put their finalists in order by `ranking`.
"""
