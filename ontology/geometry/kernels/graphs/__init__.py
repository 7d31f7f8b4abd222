"""Compiled loops over the edges of a graph."""
