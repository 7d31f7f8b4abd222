"""Fréchet means from plain sums over all labels."""
