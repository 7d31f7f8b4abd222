"""Metric spaces: which labels are points, which may be an answer, and the distances between them."""
