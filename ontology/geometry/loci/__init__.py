"""What observed labels reach: `locus` picks among a hull, closed forms and the exact general algorithm.

`hull` serves trees with all labels allowed, `restricted` trees with some, `pairs` the union over pairs of
observed labels, `published` the source paper's weight grids, `general` everything: its candidates come from
`marginprogram`, and every verdict rests on whole-number proofs from `certificates` and `exactgame`,
for which `gameproposal`, `longfloats` and `linearsystem` find what is to be proved.
"""
