"""Summaries of large graphs as small graphs of supernodes.

The module `summary` builds summaries, `distortion` bounds the error of their distances, and `expand` goes
from labels to supernodes and back.
"""
