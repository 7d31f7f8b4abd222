"""The files that a model server loads, and their checks."""
