"""Compiled loops over rows of a model's outputs."""
