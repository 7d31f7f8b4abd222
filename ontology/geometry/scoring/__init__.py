"""The scorers that find Fréchet means; `ontology.geometry.frechet.make_scorer` picks the one that fits.

All are a `Scorer` (`frechetscorer`), decide by `ontology.geometry.ties` and put their finalists in order by
`ranking`. `tree` and `restricted` search what `observedtree` has prepared: trees whose labels may all be an
answer, and trees of which only some may. `dense` looks at every row of distances, `rows` merges equal ones
and rules out groups of them.
"""
