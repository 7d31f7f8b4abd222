"""Readers of the formats, one module per format.

Each module interprets the lines, columns or objects of one format.
"""
