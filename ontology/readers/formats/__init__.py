"""Readers of the formats, one module per format; each gives the lines, columns or objects their meaning."""
