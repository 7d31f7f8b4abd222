"""Summaries of large graphs as small graphs of supernodes.

`summary` builds them, `distortion` bounds the error of their distances, `expand` goes from labels to
supernodes and back.
"""
