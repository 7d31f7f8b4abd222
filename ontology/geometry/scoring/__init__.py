"""The scorers that find Fréchet means; `ontology.geometry.frechet.make_scorer` picks the right one.

Each of them is a `Scorer` (module `frechetscorer`), decides by the tie rule of `ontology.geometry.ties` and
orders its finalists with the functions of `ranking`. The package `tree` is for trees on which every label is
allowed, and `restricted` for trees on which only some labels are allowed; `observedtree` prepares the
observed labels for both. The other scorers use rows of distances, one row for each allowed label: `dense`
reads every row; `rows` merges equal rows and rules out groups of rows.
"""
