"""One module for each claim; each hands out ``EXPERIMENT``."""
