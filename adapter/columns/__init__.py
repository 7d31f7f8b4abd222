"""Matching the columns of a model with labels."""
