"""Compiled loops over rows of distances."""
