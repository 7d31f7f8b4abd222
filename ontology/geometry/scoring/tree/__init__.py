"""Fréchet means on trees, without a matrix of distances."""
