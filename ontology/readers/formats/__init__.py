"""Read each format, one file for each: the meaning of its lines, columns or objects."""
