"""The observed labels of a tree, prepared once for the scorers that search it."""
