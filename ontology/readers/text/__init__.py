"""Turn bytes into checked lines, cells and values, for every format."""
