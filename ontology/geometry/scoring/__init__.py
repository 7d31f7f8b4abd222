"""The scorers that find Fréchet means; `ontology.geometry.frechet.make_scorer` picks the right one.

Each of them is a `Scorer` (`frechetscorer`), decides by the rule of `ontology.geometry.ties` and orders its
finalists with `ranking`. `tree` searches trees with every label allowed, `restricted` trees with only some
labels allowed; `observedtree` prepares the observed labels for both. `dense` reads every row of distances;
`rows` merges equal rows and rules out groups of rows.
"""
