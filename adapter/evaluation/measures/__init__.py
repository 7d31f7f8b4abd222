"""Measures of the distance from answers to the truth, and of how far confidence is from accuracy."""
