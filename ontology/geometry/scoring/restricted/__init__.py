"""Fréchet means on trees some of whose labels are allowed."""
