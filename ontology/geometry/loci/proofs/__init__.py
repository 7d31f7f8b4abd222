"""Verdicts in whole numbers: a label can be best, can be the only best label, or can never be best."""
