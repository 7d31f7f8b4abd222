"""Scorers that find Fréchet means by computing a value for every allowed label."""
