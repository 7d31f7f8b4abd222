"""A huge graph as a small one of supernodes.

`summary` makes it, `distortion` bounds what it loses, `expand` goes from labels to supernodes and back.
"""
