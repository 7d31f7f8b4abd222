"""Finding a bundle, its nearest copy, and whether the copy is still good."""
