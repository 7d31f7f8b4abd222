"""One file for each format: what its lines, columns or objects mean."""
