"""One module for each claim of the source paper; each module exports ``EXPERIMENT``."""
