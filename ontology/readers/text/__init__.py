"""From bytes to checked lines, cells and values, whatever the format."""
