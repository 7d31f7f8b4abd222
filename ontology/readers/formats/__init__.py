"""Readers of the formats: one module per format, or a folder where a format needs several.

Each module interprets the lines, columns or objects of one format. `records` uses `tables`, and `jsontree`
uses `records`; `rdf` uses neither.
"""
