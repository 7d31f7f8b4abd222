"""Fréchet means on trees on which only some labels are allowed."""
