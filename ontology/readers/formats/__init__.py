"""Readers of the formats, one module per format.

Each module gives the lines, columns or objects of its format their meaning.
"""
