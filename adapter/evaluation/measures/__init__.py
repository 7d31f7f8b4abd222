"""Measures of the distance from answers to the truth, and from confidence to accuracy."""
