"""Verdicts in whole numbers: a label can be best, is the only best one, or can never be."""
