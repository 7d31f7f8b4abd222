"""Fréchet means from rows of distances, most of which are never read."""
