"""Compiled loops over the vertices of a tree in preorder."""
